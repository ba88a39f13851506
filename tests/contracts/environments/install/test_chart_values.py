"""What the values of the chart become: flags that the program takes, and sizes of clusters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contracts.environments.install.charts import (
    AFFINITY,
    NAME,
    NAMESPACE,
    TOLERATION,
    Rendered,
    nested,
    options,
    render,
    settings,
    words,
)
from tests.operator_parts import environments_options


@pytest.fixture(scope="module")
def usual() -> Rendered:
    return render()


def test_the_program_takes_the_arguments_of_the_chart(usual: Rendered) -> None:
    made = options(usual)

    conversion, found = environments_options(made).conversion, environments_options(made).settings
    assert conversion is not None
    assert made.home == conversion.service_namespace == NAMESPACE
    assert ("Service", conversion.service_name) in usual
    assert (found.cloud_provider, found.region) == ("local", "kind")
    assert found.create_balancers
    assert found.create_console
    assert found.security_context
    assert found.disable_license_key_checks
    assert found.segment_api_key is None, "nothing is reported unless it is switched on"
    assert not found.segment_client_side
    assert found.image_pull_policy == "if-not-present"
    labels = usual["Deployment", NAME]["spec"]["template"]["metadata"]["labels"]
    assert found.operator_labels == labels


FLAGS_BY_VALUE: list[tuple[str, object, set[str], set[str]]] = [
    ("operator.args.startupLogFilter", "warn", {"--startup-log-filter=warn"}, set()),
    ("operator.args.enableInternalStatementLogging", False, set(), {"--enable-internal-statement-logging"}),
    ("operator.args.disableStatementLogging", False, set(), {"--disable-statement-logging"}),
    ("operator.args.enableLicenseKeyChecks", True, set(), {"--disable-license-key-checks"}),
    (
        "operator.args.webhookCertReloadInterval",
        "5m",
        {"--webhook-cert-reload-interval=5m"},
        {"--webhook-cert-reload-interval=1h"},
    ),
    ("operator.extraArgs", ["--log-format=json"], {"--log-format=json"}, set()),
    (
        "operator.additionalMaterializeCRDColumns",
        [{"name": "Org", "type": "string", "jsonPath": ".metadata.annotations['a\\.b/c']"}],
        {'--additional-crd-columns=[{"jsonPath":".metadata.annotations[\'a\\\\.b/c\']","name":"Org","type":"string"}]'},
        set(),
    ),
    ("operator.cloudProvider.type", "gcp", {"--cloud-provider=gcp"}, {"--cloud-provider=local"}),
    ("operator.cloudProvider.region", "eu: #1", {"--region=eu: #1"}, {"--region=kind"}),
    ("operator.cloudProvider.providers.aws.accountID", "1", set(), set()),
    (
        "operator.secretsController",
        "aws-secrets-manager",
        {"--secrets-controller=aws-secrets-manager"},
        {"--secrets-controller=kubernetes"},
    ),
    (
        "operator.image",
        {"tag": "v26.1.0", "pullPolicy": "Always"},
        {"--console-image-tag-default=v26.1.0", "--image-pull-policy=always"},
        {"--console-image-tag-default=latest", "--image-pull-policy=if-not-present"},
    ),
    ("console.imageTagDefault", "v1", {"--console-image-tag-default=v1"}, {"--console-image-tag-default=latest"}),
    ("console.imageTagMapOverride", {"v1": "v2"}, {"--console-image-tag-map=v1=v2"}, set()),
    ("balancerd.enabled", False, set(), {"--create-balancers"}),
    ("console.enabled", False, set(), {"--create-console"}),
    *(
        (f"{program}.{key}", value, {f"--{program}-{flag}={written}"}, set())
        for program in ("environmentd", "clusterd", "balancerd", "console")
        for key, value, flag, written in (
            ("nodeSelector", {"disk": "ssd"}, "node-selector", "disk=ssd"),
            ("affinity", AFFINITY, "affinity", '{"nodeAffinity":{"a":"b"}}'),
            ("tolerations", [TOLERATION], "toleration", '{"key":"a","operator":"Exists"}'),
        )
    ),
    (
        "balancerd.defaultResources",
        None,
        set(),
        {'--balancerd-default-resources={"limits":{"memory":"256Mi"},"requests":{"cpu":"500m","memory":"256Mi"}}'},
    ),
    (
        "operator.clusters.defaultSizes",
        {"catalogServer": "50cc", "default": None},
        {"--bootstrap-builtin-catalog-server-cluster-replica-size=50cc"},
        {
            "--bootstrap-builtin-catalog-server-cluster-replica-size=25cc",
            "--bootstrap-default-cluster-replica-size=25cc",
        },
    ),
    (
        "operator.clusters.defaultReplicationFactor",
        {"system": 2, "probe": None},
        {"--bootstrap-builtin-system-cluster-replication-factor=2"},
        {
            "--bootstrap-builtin-system-cluster-replication-factor=0",
            "--bootstrap-builtin-probe-cluster-replication-factor=0",
        },
    ),
    ("schedulerName", "own", {"--scheduler-name=own"}, set()),
    ("observability.enabled", False, set(), {"--enable-prometheus-scrape-annotations"}),
    ("observability.podMetrics.enabled", True, {"--collect-pod-metrics"}, set()),
    (
        "observability.prometheus.scrapeAnnotations.enabled",
        False,
        set(),
        {"--enable-prometheus-scrape-annotations"},
    ),
    (
        "telemetry",
        {"enabled": True, "segmentApiKey": "k"},
        {"--segment-api-key=k", "--segment-client-side"},
        set(),
    ),
    ("telemetry", {"segmentApiKey": "k"}, set(), set()),
    ("networkPolicies.enabled", True, set(), set()),
    ("networkPolicies.internal.enabled", True, set(), set()),
    (
        "networkPolicies",
        {"enabled": True, "internal": {"enabled": True}},
        {"--network-policies-internal-enabled"},
        set(),
    ),
    *(
        (
            "networkPolicies",
            {"enabled": True, way: {"enabled": True, "cidrs": ["10.0.0.0/8", "fd00::/8"]}},
            {
                f"--network-policies-{way}-enabled",
                f"--network-policies-{way}-cidrs=10.0.0.0/8",
                f"--network-policies-{way}-cidrs=fd00::/8",
            },
            set[str](),
        )
        for way in ("ingress", "egress")
    ),
    (
        "tls.defaultCertificateSpecs",
        {"internal": {"issuerRef": {"name": "ca"}}},
        {'--default-certificate-specs={"internal":{"issuerRef":{"name":"ca"}}}'},
        set(),
    ),
]


@pytest.mark.parametrize(("path", "value", "added", "removed"), FLAGS_BY_VALUE)
def test_a_value_changes_exactly_its_flags(
    usual: Rendered, path: str, value: object, added: set[str], removed: set[str]
) -> None:
    rendered = render(nested(path, value))

    before, after = set(words(usual)), set(words(rendered))
    assert (after - before, before - after) == (added, removed)
    options(rendered)


def test_aws_has_its_account_and_roles() -> None:
    aws = {"accountID": "012345678901", "iam": {"roles": {"environment": "arn:e", "connection": "arn:c"}}}

    made = settings(render({"operator": {"cloudProvider": {"type": "aws", "providers": {"aws": aws}}}}))

    assert made.aws_account_id == "012345678901"
    assert (made.environmentd_iam_role_arn, made.environmentd_connection_role_arn) == ("arn:e", "arn:c")


def test_values_of_the_chart_that_it_replaces_are_taken() -> None:
    """As it writes them: empty lists as empty maps, and keys that mean nothing here."""
    nowhere: dict[str, Any] = {"nodeSelector": {}, "affinity": {}, "tolerations": {}}
    former = {
        "operator": {
            **nowhere,
            "image": {"repository": "registry.example/orchestratord", "tag": "v26.12.0", "pullPolicy": "IfNotPresent"},
            "args": {
                "startupLogFilter": "INFO,mz_orchestratord=TRACE",
                "enableInternalStatementLogging": True,
                "enableLicenseKeyChecks": False,
                "installV1CRD": False,
            },
            "additionalMaterializeCRDColumns": {},
            "cloudProvider": {"type": "local", "region": "kind", "providers": {"gcp": {"enabled": False}}},
            "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
        },
        **dict.fromkeys(("environmentd", "clusterd", "balancerd", "console"), nowhere),
        "schedulerName": None,
        "telemetry": {"enabled": True, "segmentApiKey": "k", "segmentClientSide": True},
    }

    rendered = render(former)

    assert options(rendered).log_level == "debug"
    assert settings(rendered).console_image_tag_default == "v26.12.0"
    assert settings(rendered).segment_api_key == "k"


class TestSizes:
    @staticmethod
    def sizes(values: dict[str, Any] | None = None) -> dict[str, Any]:
        found = settings(render(values)).cluster_replica_sizes
        assert found is not None
        decoded: dict[str, Any] = json.loads(found)
        return decoded

    def test_by_default_all_use_swap_and_none_has_a_disk(self) -> None:
        sizes = self.sizes()

        assert len(sizes) == 13
        assert sizes["25cc"] == {
            "workers": 1,
            "scale": 1,
            "cpu_exclusive": False,
            "cpu_limit": 0.5,
            "credits_per_hour": "0.25",
            "memory_limit": "3881MiB",
            "disk_limit": "0",
            "swap_enabled": True,
            "selectors": {"materialize.cloud/swap": "true"},
            "is_cc": True,
        }
        assert all(size["is_cc"] for size in sizes.values())

    def test_without_swap_sizes_have_disks_where_there_is_a_storage_class(self) -> None:
        off = {"operator": {"clusters": {"swap_enabled": False}}}

        without = self.sizes(off)["25cc"]
        with_class = self.sizes(off | {"storage": {"storageClass": {"name": "fast"}}})["25cc"]

        assert (without["disk_limit"], without["selectors"], without["swap_enabled"]) == ("0", {}, False)
        assert with_class["disk_limit"] == "7762MiB"
        assert with_class["selectors"] == {"materialize.cloud/scratch-fs": "true"}

    def test_what_a_size_says_itself_holds(self) -> None:
        given = {"own": {"swap_enabled": False, "selectors": {"materialize.cloud/scratch-fs": "x", "a": "b"}}}

        sizes = self.sizes(
            {
                "operator": {"clusters": {"sizes": {**given, "25cc": None}}},
                "storage": {"storageClass": {"name": "fast"}},
            }
        )

        assert sizes["own"]["swap_enabled"] is False
        assert sizes["own"]["selectors"] == {"materialize.cloud/scratch-fs": "x", "a": "b"}
        assert sizes["own"]["disk_limit"] == "0", "swap is on for the others"
        assert "25cc" not in sizes

    def test_selectors_for_swap_are_a_value(self) -> None:
        sizes = self.sizes({"clusterd": {"swapNodeSelector": {"materialize.cloud/swap": None, "pool": "s"}}})

        assert sizes["25cc"]["selectors"] == {"pool": "s"}
