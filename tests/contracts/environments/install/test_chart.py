"""The objects of the chart (section 2.12, B3), what it refuses, and the same objects without Helm."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from fairlead import __version__
from fairlead.contracts.environments.install.objects import objects
from fairlead.contracts.environments.install.values import Values
from fairlead.contracts.environments.kinds import INSTALLED_FOR
from fairlead.engine.charts import Object
from tests.contracts.environments.install.charts import (
    AFFINITY,
    CERT_MANAGER,
    CHART,
    NAME,
    NAMESPACE,
    TOLERATION,
    Rendered,
    container,
    pod,
    render,
    settings,
)
from tests.contracts.zones.install import helm
from tests.contracts.zones.install.test_chart import without_manager


@pytest.fixture(scope="module")
def usual() -> Rendered:
    return render()


class TestObjects:
    def test_usual_ones(self, usual: Rendered) -> None:
        assert usual.keys() == {
            ("ServiceAccount", "orchestratord"),
            *((kind, NAME) for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
            *((kind, NAME) for kind in ("Service", "Deployment", "PodDisruptionBudget")),
            *CERT_MANAGER,
        }

    def test_the_service_leads_to_the_webhook(self, usual: Rendered) -> None:
        spec = usual["Service", NAME]["spec"]

        assert spec["ports"] == [{"name": "webhook", "port": 8001, "protocol": "TCP", "targetPort": 8001}]
        labels = usual["Deployment", NAME]["spec"]["template"]["metadata"]["labels"]
        assert spec["selector"] == labels
        assert labels == {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME}
        assert {port["name"]: port["containerPort"] for port in container(usual)["ports"]} == {
            "webhook": 8001,
            "metrics": 3100,
        }

    def test_probes_ask_the_webhook_server(self, usual: Rendered) -> None:
        for probe, path, failures in (("readinessProbe", "/healthz", 1), ("livenessProbe", "/livez", 3)):
            asked = {"path": path, "port": "webhook", "scheme": "HTTPS"}

            assert container(usual)[probe] == {"httpGet": asked, "periodSeconds": 10, "failureThreshold": failures}

    def test_the_certificate_is_mounted_for_the_program_alone(self, usual: Rendered) -> None:
        volume = pod(usual)["volumes"][0]

        assert volume["secret"] == {"secretName": f"{NAME}-cert", "defaultMode": 0o400, "optional": False}
        mount = {"name": volume["name"], "mountPath": "/etc/tls", "readOnly": True}
        assert mount in container(usual)["volumeMounts"]
        assert pod(usual)["securityContext"]["fsGroup"] > 0, "or the program could not read the key"

    def test_an_authority_of_its_own_signs_the_certificate(self, usual: Rendered) -> None:
        authority = usual["Certificate", f"{NAME}-ca"]["spec"]
        served = usual["Certificate", f"{NAME}-cert"]["spec"]

        assert usual["Issuer", f"{NAME}-self-signed"]["spec"] == {"selfSigned": {}}
        assert authority["isCA"] is True
        assert (authority["duration"], authority["renewBefore"]) == ("87600h", "8760h")
        assert authority["issuerRef"]["name"] == f"{NAME}-self-signed"
        assert authority["privateKey"]["algorithm"] == served["privateKey"]["algorithm"] == "ECDSA"
        assert usual["Issuer", f"{NAME}-ca"]["spec"] == {"ca": {"secretName": authority["secretName"]}}
        assert served["issuerRef"]["name"] == f"{NAME}-ca"
        assert served["secretName"] == f"{NAME}-cert"
        assert served["dnsNames"] == [f"{NAME}.{NAMESPACE}.svc"]
        assert served["privateKey"]["rotationPolicy"] == "Always"

    def test_the_life_of_the_authority_is_a_value(self) -> None:
        rendered = render({"operator": {"certificate": {"caDuration": "1000h", "caRenewBefore": "10h"}}})

        spec = rendered["Certificate", f"{NAME}-ca"]["spec"]
        assert (spec["duration"], spec["renewBefore"]) == ("1000h", "10h")

    def test_two_replicas_keep_apart_and_one_of_them_stays(self, usual: Rendered) -> None:
        spec = usual["Deployment", NAME]["spec"]

        assert spec["replicas"] == 2
        assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
        (preferred,) = pod(usual)["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        assert preferred["podAffinityTerm"]["labelSelector"]["matchLabels"] == spec["selector"]["matchLabels"]
        budget = usual["PodDisruptionBudget", NAME]["spec"]
        assert (budget["maxUnavailable"], budget["selector"]) == (1, spec["selector"])
        assert pod(usual)["terminationGracePeriodSeconds"] == 30

    def test_one_replica_has_no_budget(self) -> None:
        rendered = render({"operator": {"replicas": 1}})

        assert rendered["Deployment", NAME]["spec"]["replicas"] == 1
        assert ("PodDisruptionBudget", NAME) not in rendered

    def test_the_pod_is_where_and_what_the_values_say(self) -> None:
        volume = {"name": "keys", "secret": {"secretName": "keys"}}
        rendered = render(
            {
                "operator": {
                    "nodeSelector": {"a": "b"},
                    "affinity": AFFINITY,
                    "tolerations": [TOLERATION],
                    "resources": {"limits": {"memory": "1Gi"}},
                    "image": {"repository": "registry.example/fairlead", "tag": "7"},
                    "extraEnv": [{"name": "A", "value": "b"}],
                    "extraVolumes": [volume],
                    "extraVolumeMounts": [{"name": "keys", "mountPath": "/keys"}],
                }
            }
        )

        found, one = pod(rendered), container(rendered)
        assert (found["nodeSelector"], found["affinity"], found["tolerations"]) == ({"a": "b"}, AFFINITY, [TOLERATION])
        assert one["resources"]["limits"]["memory"] == "1Gi"
        assert one["image"] == "registry.example/fairlead:7"
        assert one["env"] == [{"name": "A", "value": "b"}]
        assert volume in found["volumes"]
        assert {"name": "keys", "mountPath": "/keys"} in one["volumeMounts"]

    def test_the_image_is_that_of_the_release(self, usual: Rendered) -> None:
        assert container(usual)["image"] == f"fairlead:{__version__}"
        assert container(usual)["command"] == ["orchestratord"]

    @pytest.mark.parametrize(
        ("values", "account", "made"),
        [
            ({}, "orchestratord", True),
            ({"name": "own"}, "own", True),
            ({"name": ""}, NAME, True),
            ({"create": False}, "orchestratord", False),
            ({"create": False, "name": ""}, "default", False),
        ],
    )
    def test_the_account(self, values: dict[str, Any], account: str, made: bool) -> None:
        rendered = render({"serviceAccount": values})

        assert pod(rendered)["serviceAccountName"] == account
        assert (("ServiceAccount", account) in rendered) is made
        for kind in ("RoleBinding", "ClusterRoleBinding"):
            (subject,) = rendered[kind, NAME]["subjects"]
            assert subject == {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}

    def test_no_roles_when_somebody_else_grants(self) -> None:
        assert not [kind for kind, _ in render({"rbac": {"create": False}}) if "Role" in kind]

    def test_the_operator_may_reach_environmentd_names_and_the_api_server(self) -> None:
        more = {"ports": [{"port": 16443, "protocol": "TCP"}]}
        internal = {"enabled": True, "extraEgress": [more]}

        rendered = render({"networkPolicies": {"enabled": True, "internal": internal}})

        spec = rendered["NetworkPolicy", "egress-to-environmentd"]["spec"]
        assert spec["policyTypes"] == ["Egress"], "or the API server could not reach the webhook"
        assert spec["podSelector"]["matchLabels"] == rendered["Service", NAME]["spec"]["selector"]
        first, *others = spec["egress"]
        environmentd = {"matchLabels": {"materialize.cloud/app": "environmentd"}}
        assert first["to"] == [{"namespaceSelector": {}, "podSelector": environmentd}]
        assert [port["port"] for port in first["ports"]] == [6876, 6878]
        assert [port["port"] for rule in others for port in rule["ports"]] == [53, 53, 443, 6443, 16443]

    def test_policies_need_both_switches(self, usual: Rendered) -> None:
        assert render({"networkPolicies": {"enabled": True}}).keys() == usual.keys()
        assert render({"networkPolicies": {"internal": {"enabled": True}}}).keys() == usual.keys()

    def test_a_storage_class_is_made_or_used(self, usual: Rendered) -> None:
        given = {"name": "fast", "provisioner": "local.csi.openebs.io", "parameters": {"fsType": "xfs", "n": 1}}

        used = render({"storage": {"storageClass": given}})
        made = render({"storage": {"storageClass": {**given, "create": True, "allowVolumeExpansion": True}}})

        assert used.keys() == usual.keys()
        assert settings(used).ephemeral_volume_class == settings(made).ephemeral_volume_class == "fast"
        found = made["StorageClass", "fast"]
        assert found["provisioner"] == "local.csi.openebs.io"
        assert found["parameters"] == {"fsType": "xfs", "n": "1", "storage": "lvm", "volgroup": "instance-store-vg"}
        assert (found["allowVolumeExpansion"], found["reclaimPolicy"]) == (True, "Delete")
        assert found["volumeBindingMode"] == "WaitForFirstConsumer"

    def test_names_follow_the_release(self) -> None:
        rendered = render(release="mz")

        assert ("Deployment", "mz-materialize-operator") in rendered
        assert ("Deployment", "own") in render({"fullnameOverride": "own"}, release="mz")
        assert ("Deployment", "mz-short") in render({"nameOverride": "short"}, release="mz")


def test_what_is_outside_of_a_namespace_says_whose_it_is(usual: Rendered) -> None:
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        assert usual[kind, NAME]["metadata"]["labels"][INSTALLED_FOR] == NAMESPACE


def test_a_job_detaches_the_kinds_before_the_release_is_removed_where_that_is_asked_for(usual: Rendered) -> None:
    made = render({"hooks": {"removal": True}})

    (key,) = made.keys() - usual.keys()
    job = made[key]
    assert key == ("Job", f"{NAME}-removal")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete"
    template = job["spec"]["template"]
    (only,) = template["spec"]["containers"]
    assert [*only["command"], *only["args"]] == [
        "fairlead",
        "uninstall",
        "--part=environments",
        "--only-detach",
        "--union",
        "--yes",
        f"--namespace={NAMESPACE}",
    ]
    assert template["spec"]["serviceAccountName"] == pod(usual)["serviceAccountName"]
    assert template["spec"]["securityContext"] == pod(usual)["securityContext"]
    selector = usual["Service", NAME]["spec"]["selector"]
    assert not selector.items() <= template["metadata"]["labels"].items()


def test_a29_a_secret_of_ones_own_must_be_named_and_replaces_cert_manager() -> None:
    said = helm.complaint({"operator": {"certificate": {"source": "secret"}}}, CHART)
    rendered = render({"operator": {"certificate": {"source": "secret", "secretName": "mine"}}})

    assert "name the Secret with ca.crt, tls.crt and tls.key in operator.certificate.secretName" in said
    assert pod(rendered)["volumes"][0]["secret"]["secretName"] == "mine"
    assert not [one for one in rendered.values() if one["apiVersion"].startswith("cert-manager.io")]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"operator": {"certificate": {"source": "vault"}}}, 'source is "vault": set it to cert-manager or secret'),
        ({"operator": {"cloudProvider": {"type": "aws"}}}, "set operator.cloudProvider.providers.aws.accountID"),
        ({"operator": {"cloudProvider": {"type": "ibm"}}}, "/operator/cloudProvider/type"),
        ({"operator": {"cloudProvider": {"providers": {"aws": {"accountID": 1}}}}}, "accountID"),
        ({"operator": {"replicas": "2"}}, "/operator/replicas"),
        ({"operator": {"certificate": {"caDuration": "10 years"}}}, "/operator/certificate/caDuration"),
        ({"telemetry": {"enabled": True}}, "set telemetry.segmentApiKey"),
        ({"storage": {"storageClass": {"create": True}}}, "set storage.storageClass.name too"),
        ({"storage": {"storageClass": {"create": True, "name": "x"}}}, "set storage.storageClass.provisioner too"),
        ({"tls": {"defaultCertificateSpecs": {"internl": {}}}}, "internl"),
    ],
)
def test_values_that_cannot_work_are_refused(values: dict[str, Any], told: str) -> None:
    assert told in helm.complaint(values, CHART)


EVERYTHING: dict[str, Any] = {
    "operator": {
        "clusters": {"swap_enabled": False},
        "additionalMaterializeCRDColumns": [{"name": "Org", "type": "string", "jsonPath": ".x"}],
    },
    "networkPolicies": {
        "enabled": True,
        "internal": {"enabled": True},
        "ingress": {"enabled": True},
        "egress": {"enabled": True},
    },
    "storage": {"storageClass": {"create": True, "name": "fast", "provisioner": "local.csi.openebs.io"}},
    "telemetry": {"enabled": True, "segmentApiKey": "k"},
}


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_lint_finds_nothing(values: dict[str, Any]) -> None:
    said = helm.run("lint", str(CHART), "--strict", "--values", "-", stdin=yaml.safe_dump(values))

    assert said.returncode == 0, said.stdout
    assert "[WARNING]" not in said.stdout
    assert "[ERROR]" not in said.stdout


def test_the_chart_has_the_version_of_the_program() -> None:
    described = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert described["appVersion"] == described["version"] == __version__


PAIRS: dict[str, tuple[Values, dict[str, Any]]] = {
    "nothing said": (Values(namespace=NAMESPACE), {}),
    "another image and a Secret": (
        Values(namespace=NAMESPACE, image="registry.example/fairlead:7", secret="mine"),
        {
            "operator": {
                "image": {"repository": "registry.example/fairlead", "tag": "7"},
                "certificate": {"source": "secret", "secretName": "mine"},
            },
            "console": {"imageTagDefault": "latest"},
        },
    ),
    "monitoring": (
        Values(namespace=NAMESPACE, monitoring=True),
        {each: {"enabled": True} for each in ("podMonitor", "prometheusRule", "dashboard")},
    ),
    "arguments": (
        Values(namespace=NAMESPACE, arguments=("--region=eu", "--log-format=json")),
        {"operator": {"cloudProvider": {"region": "eu"}, "extraArgs": ["--log-format=json"]}},
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_chart_and_manifests_say_the_same(case: str) -> None:
    values, chart_values = PAIRS[case]

    rendered = render(chart_values)

    printed = {(one["kind"], one["metadata"]["name"]): one for one in objects(values)}
    assert rendered.keys() == printed.keys()
    for key, one in printed.items():
        assert without_manager(sorted_words(rendered[key])) == without_manager(sorted_words(one)), key


def sorted_words(one: Object) -> Object:
    """The order of flags means nothing."""
    if one["kind"] == "Deployment":
        args = one["spec"]["template"]["spec"]["containers"][0]["args"]
        args.sort()
    return one
