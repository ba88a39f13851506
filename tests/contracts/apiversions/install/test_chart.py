"""The chart `fairlead` as Helm renders it, beside the manifests."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from fairlead import __version__
from fairlead.cli.commands.operator import options_of
from fairlead.cli.main import parser_of
from fairlead.contracts.apiversions.install.options import objects
from fairlead.contracts.apiversions.install.values import CHART, Values
from fairlead.contracts.apiversions.install.workload import words
from fairlead.engine.charts import Object
from tests.contracts.zones.install import helm

NAMESPACE = "fairlead-system"
EVERYTHING: dict[str, Any] = {
    "networkPolicy": {"enabled": True},
    "monitoring": {"enabled": True},
    "alerts": {"enabled": True},
    "dashboard": {"enabled": True},
}
OWN: dict[str, Any] = {
    "kind": "StatefulSet",
    "replicaCount": 1,
    "rbac": {"attachedKinds": [{"apiGroups": ["example.test"], "resources": ["widgets"]}]},
    "operator": {
        "rules": {"widgets": "kind: ConversionRules\ncrd: widgets.example.test\nhub: v2\n"},
        "takeOverConversion": True,
        "allowDowngrade": True,
        "migrateStorage": "off",
        "extraArgs": ["--log-level=debug"],
    },
}
CERT_MANAGER: dict[str, Any] = {"operator": {"certificate": {"source": "cert-manager"}}}
BROUGHT: dict[str, Any] = {"operator": {"certificate": {"source": "secret", "secretName": "pair", "mounted": True}}}
CASES = {"defaults": {}, "everything": EVERYTHING, "own": OWN, "cert-manager": CERT_MANAGER, "brought": BROUGHT}


def render(values: dict[str, Any] | None = None, release: str = "fairlead") -> dict[tuple[str, str], Object]:
    return helm.render(values, release=release, namespace=NAMESPACE, chart=CHART)


def pod(values: dict[str, Any] | None = None) -> Object:
    kind = (values or {}).get("kind", "Deployment")
    return dict(render(values)[(kind, "fairlead")]["spec"]["template"]["spec"])


def args(values: dict[str, Any] | None = None) -> list[str]:
    (found,) = pod(values)["containers"]
    return list(found["args"])


@pytest.mark.parametrize(
    ("values", "chart_values"),
    [
        pytest.param(Values(namespace=NAMESPACE), {}, id="as it is"),
        pytest.param(Values(namespace=NAMESPACE, monitoring=True, network_policy=True), EVERYTHING, id="everything"),
    ],
)
def test_chart_and_manifests_say_the_same(values: Values, chart_values: dict[str, Any]) -> None:
    rendered = {key: one for key, one in render(chart_values).items() if key[0] != "Job"}
    printed = {(one["kind"], one["metadata"]["name"]): one for one in objects(values)}

    assert rendered.keys() == printed.keys()
    for key, one in rendered.items():
        assert shared(one) == shared(printed[key]), key
    assert args(chart_values) == words(values)


def shared(one: Object) -> Object:
    """As it is, but for who installed it."""
    made = copy.deepcopy(one)
    for own in ("helm.sh/chart", "app.kubernetes.io/managed-by"):
        made["metadata"]["labels"].pop(own, None)
    if made["kind"] == "Service":
        made["spec"].pop("type", None)
    return made


@pytest.mark.parametrize("case", CASES)
def test_the_operator_takes_what_the_chart_gives_it(case: str) -> None:
    given = args(CASES[case])

    made = options_of(parser_of("operator").parse_args(given[1:]))

    (part,) = made.parts
    assert given[0] == "operator"
    assert part.contract.name == "apiversions"
    assert part.settings.server_name == f"fairlead-webhook.{NAMESPACE}.svc"
    assert made.webhooks is not None
    assert (made.webhooks.port, made.server_port) == (9443, 8081)


def test_values_reach_the_operator() -> None:
    made = options_of(parser_of("operator").parse_args(args(OWN)[1:]))
    settings = made.parts[0].settings

    assert made.log_level == "debug"
    assert settings.takes_over
    assert settings.upgrades.allow_downgrade
    assert not settings.migration.at_start


@pytest.mark.parametrize("case", CASES)
def test_lint_finds_nothing(case: str) -> None:
    said = helm.run("lint", str(CHART), "--strict", "--values", "-", stdin=yaml.safe_dump(CASES[case]))

    assert said.returncode == 0, said.stdout
    assert "[WARNING]" not in said.stdout
    assert "[ERROR]" not in said.stdout


def test_the_chart_has_the_version_of_the_program() -> None:
    described = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert described["appVersion"] == described["version"] == __version__


def test_two_replicas_lose_no_more_than_one_at_a_time() -> None:
    assert render()[("PodDisruptionBudget", "fairlead")]["spec"]["maxUnavailable"] == 1
    assert ("PodDisruptionBudget", "fairlead") not in render({"replicaCount": 1})
    assert pod()["terminationGracePeriodSeconds"] == 30


def test_rule_sets_in_values_become_config_maps_that_the_operator_reads() -> None:
    made = render(OWN)[("ConfigMap", "fairlead-rules-widgets")]

    assert made["metadata"]["labels"]["fairlead.dev/conversion-rules"] == "true"
    assert made["data"] == {"rules.yaml": OWN["operator"]["rules"]["widgets"]}


def test_kinds_that_are_attached_may_be_read() -> None:
    made = render(OWN)[("ClusterRole", "fairlead:attached-kinds-of-values")]

    assert made["rules"] == [{"apiGroups": ["example.test"], "resources": ["widgets"], "verbs": ["get", "list"]}]
    (selector,) = render()[("ClusterRole", "fairlead:attached-kinds")]["aggregationRule"]["clusterRoleSelectors"]
    assert selector["matchLabels"].items() <= made["metadata"]["labels"].items()


def test_with_cert_manager_a_new_certificate_changes_no_definition() -> None:
    """An authority that lasts signs certificates that do not."""
    made = render(CERT_MANAGER)
    authority, served = (made[("Certificate", f"fairlead-{name}")]["spec"] for name in ("ca", "webhook"))

    assert authority["isCA"]
    assert made[("Issuer", "fairlead-ca")]["spec"]["ca"]["secretName"] == authority["secretName"]
    assert served["issuerRef"]["name"] == "fairlead-ca"
    assert f"--webhook-secret={served['secretName']}" in args(CERT_MANAGER)
    assert f"fairlead-webhook.{NAMESPACE}.svc" in served["dnsNames"]


def test_a_certificate_of_ones_own_is_mounted_where_that_is_wanted() -> None:
    (volume,) = pod(BROUGHT)["volumes"]

    assert volume["secret"]["secretName"] == "pair"
    assert "--webhook-cert-dir=/etc/fairlead/webhook" in args(BROUGHT)


def test_a_certificate_of_ones_own_must_be_named() -> None:
    said = helm.complaint({"operator": {"certificate": {"source": "secret"}}}, CHART)

    assert "operator.certificate.secretName is missing" in said


def test_jobs_before_upgrade_and_removal_are_no_endpoints_of_the_webhook() -> None:
    made = render()
    selector = made[("Service", "fairlead-webhook")]["spec"]["selector"]
    jobs = {name: one for (kind, name), one in made.items() if kind == "Job"}

    assert {one["metadata"]["annotations"]["helm.sh/hook"] for one in jobs.values()} == {"pre-upgrade", "pre-delete"}
    for one in jobs.values():
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert not selector.items() <= labels.items()
    assert not any(kind == "Job" for kind, _ in render({"hooks": {"preflight": False, "removal": False}}))
