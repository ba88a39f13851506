"""The chart `vela-core` as Helm renders it (section 2.17): beside upstream's, and beside the manifests."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead import __version__
from fairlead.cli.flags.go import parse
from fairlead.contracts.plans.flags import FLAGS
from fairlead.contracts.plans.install.definitions import definitions
from fairlead.contracts.plans.install.objects import objects
from fairlead.contracts.plans.install.values import CHART, Values
from fairlead.contracts.plans.install.workload import words
from fairlead.contracts.plans.options import PROCESS, options_of, warnings
from fairlead.engine.charts import Object
from tests.contracts.zones.install import helm

NAMESPACE = "vela-system"
UPSTREAM: dict[str, Any] = json.loads((Path(__file__).parent / "upstream_chart.json").read_text())
"""Facts of upstream's chart of release 1.0.0: its values, and the names that it renders."""
OTHERS_VALUES: dict[str, Any] = {
    "applicationRevisionLimit": 7,
    "definitionRevisionLimit": 5,
    "concurrentReconciles": 9,
    "dependCheckWait": "10s",
    "logFilePath": "/var/log/vela.log",
    "logFileMaxSize": 1024,
    "logDebug": True,
    "useWebhook": True,
    "certificate": {
        "certificateName": "serving-cert",
        "secretName": "webhook-server-cert",
        "mountPath": "/etc/certs",
        "caBundle": "Cg==",
    },
}
"""Of releases before and after that one."""
OF_1_1: dict[str, Any] = {
    "OAMSpecVer": "v0.3",
    "apiServer": {"enabled": True, "port": 8000, "replicaCount": 1, "Service": {"type": "ClusterIP"}},
    "multicluster": {"enabled": False, "clusterGateway": {"replicaCount": 1, "port": 9443}},
    "admissionWebhooks": {"certManager": {"revisionHistoryLimit": 3}, "autoGenWorkloadDefinition": True},
}
OF_1_2: dict[str, Any] = {
    **OF_1_1,
    "systemDefinitionNamespace": None,
    "controllerArgs": {"reSyncPeriod": "5m"},
    "disableCaps": "rollout",
    "enableFluxcdAddon": False,
    "workflow": {"backoff": {"maxTime": {"waitState": 60, "failedState": 300}}, "step": {"errorRetryTimes": 10}},
    "imageRegistry": "",
    "test": {"app": {"repository": "example/hello-world", "tag": "v1"}},
    "kubeClient": {"qps": 50, "burst": 100},
}
"""Of the releases that have Rollouts: all that a release before does not have."""
EVERYTHING: dict[str, Any] = {
    "replicaCount": 2,
    "fairlead": {
        "metricsServer": "http://prometheus:9090",
        "meshProvider": "istio",
        "networkPolicy": {"enabled": True},
        "monitoring": {"enabled": True},
        "alerts": {"enabled": True},
        "dashboard": {"enabled": True},
    },
}
OWN: dict[str, Any] = {
    "fairlead": {
        "registerKinds": False,
        "revisionLimit": 0,
        "slack": {"url": "https://chat.example/hook", "channel": "rollouts"},
        "eventWebhook": "https://events.example/",
        "extraArgs": ["--kube-api-qps=100"],
    }
}
CERT_MANAGER: dict[str, Any] = {"admissionWebhooks": {"certManager": {"enabled": True}}}
BROUGHT: dict[str, Any] = {"admissionWebhooks": {"patch": {"enabled": False}}, "certificate": {"caBundle": "Cg=="}}
WITHOUT: dict[str, Any] = {"admissionWebhooks": {"enabled": False}}
CASES = {
    "defaults": {},
    "upstream": UPSTREAM["values"],
    "others": OTHERS_VALUES,
    "of 1.1": OF_1_1,
    "of 1.2": OF_1_2,
    "everything": EVERYTHING,
    "own": OWN,
    "cert-manager": CERT_MANAGER,
    "brought": BROUGHT,
    "without webhooks": WITHOUT,
}


def render(values: dict[str, Any] | None = None, release: str = "vela-core") -> dict[tuple[str, str], Object]:
    return helm.render(values, release=release, namespace=NAMESPACE, chart=CHART)


def container(values: dict[str, Any] | None = None) -> Object:
    (found,) = render(values)[("Deployment", "vela-core")]["spec"]["template"]["spec"]["containers"]
    return dict(found)


def hooks(values: dict[str, Any] | None = None) -> dict[str, Object]:
    return {kind: one for (kind, _), one in render(values).items() if kind.endswith("WebhookConfiguration")}


def test_names_that_a_release_has_already_are_upstreams() -> None:
    """An upgrade takes over what is there, and the selector of a Deployment cannot change."""
    made = render(release="kubevela")
    upstream = {(kind, name) for kind, name in UPSTREAM["names"]}

    kept = {
        ("ServiceAccount", "kubevela-vela-core"),
        ("Deployment", "kubevela-vela-core"),
        ("Service", "vela-core-webhook"),
        ("MutatingWebhookConfiguration", "kubevela-vela-core-admission"),
        ("ValidatingWebhookConfiguration", "kubevela-vela-core-admission"),
    }
    assert kept <= upstream & set(made)
    assert made[("Deployment", "kubevela-vela-core")]["spec"]["selector"] == UPSTREAM["selector"]


def test_a_binding_of_upstreams_is_not_taken_over_because_its_role_cannot_change() -> None:
    upstream = {(kind, name) for kind, name in UPSTREAM["names"] if kind.endswith("RoleBinding")}

    assert upstream
    assert not upstream & set(render(release="kubevela"))


@pytest.mark.parametrize("case", CASES)
def test_the_program_takes_what_the_chart_gives_it(case: str) -> None:
    made = container(CASES[case])
    given = parse(PROCESS, FLAGS, made["args"])

    options = options_of(given)

    assert made["command"] == ["vela-core"]
    assert options.lease == "kubevela"
    assert (options.server_port, options.metrics_address) == (9440, ("::", 8080))
    assert (options.webhooks is None) is (case == "without webhooks")
    assert [*warnings(given)] == []


def test_values_reach_the_program() -> None:
    made = options_of(parse(PROCESS, FLAGS, container({**OTHERS_VALUES, **OWN})["args"]))
    settings = made.parts[0].settings

    assert made.log_level == "debug"
    assert made.qps == 100.0
    assert (settings.application_revision_limit, settings.concurrent, settings.revision_limit) == (7, 9, 0)
    assert (settings.slack_url, settings.slack_user, settings.slack_channel) == (
        "https://chat.example/hook",
        "fairlead",
        "rollouts",
    )
    assert (settings.event_webhook, settings.registers_kinds) == ("https://events.example/", False)
    assert settings.system_namespace == NAMESPACE


def test_what_later_releases_say_of_image_and_calls_has_its_effect() -> None:
    made = container({"imageRegistry": "mirror.example/", "kubeClient": {"qps": 20, "burst": 30}})
    given = options_of(parse(PROCESS, FLAGS, made["args"]))

    assert made["image"] == f"mirror.example/fairlead:{__version__}"
    assert (given.qps, given.burst) == (20.0, 30)


@pytest.mark.parametrize(
    ("values", "chart_values"),
    [
        pytest.param(Values(namespace=NAMESPACE), {"replicaCount": 2}, id="as it is"),
        pytest.param(Values(namespace=NAMESPACE, webhooks=False), {"replicaCount": 2, **WITHOUT}, id="without"),
        pytest.param(
            Values(
                namespace=NAMESPACE,
                monitoring=True,
                network_policy=True,
                metrics_server="http://prometheus:9090",
                mesh_provider="istio",
            ),
            EVERYTHING,
            id="everything",
        ),
    ],
)
def test_chart_and_manifests_say_the_same(values: Values, chart_values: dict[str, Any]) -> None:
    rendered = render(chart_values)
    printed = {(one["kind"], one["metadata"]["name"]): one for one in objects(values)}

    assert rendered.keys() == printed.keys()
    for key, one in rendered.items():
        assert shared(one) == shared(printed[key]), key
    assert container(chart_values)["args"] == words(values)


def shared(one: Object) -> Object:
    """As it is, but for who installed it."""
    made = copy.deepcopy(one)
    for own in ("helm.sh/chart", "app.kubernetes.io/managed-by"):
        made["metadata"]["labels"].pop(own, None)
    if made["kind"] == "Service":
        made["spec"].pop("type", None)
    return made


@pytest.mark.parametrize("case", CASES)
def test_lint_finds_nothing(case: str) -> None:
    said = helm.run("lint", str(CHART), "--strict", "--values", "-", stdin=yaml.safe_dump(CASES[case]))

    assert said.returncode == 0, said.stdout
    assert "[WARNING]" not in said.stdout
    assert "[ERROR]" not in said.stdout


@pytest.mark.parametrize("case", ["defaults", "cert-manager"])
def test_values_that_upstreams_chart_does_not_have_may_be_missing(case: str) -> None:
    """With --reuse-values Helm takes the values of the release before, and no default of ours."""
    ours = set(yaml.safe_load((CHART / "values.yaml").read_text()))
    lacking = dict.fromkeys(ours - set(UPSTREAM["values"]))
    made, plain = render({**CASES[case], **lacking}), render(CASES[case])

    assert "fairlead" in lacking
    assert made.keys() == plain.keys()
    assert made == plain | {key: made[key] for key in made if key[0] == "Deployment"}


def test_the_kinds_come_with_the_chart() -> None:
    said = helm.run("template", "vela-core", str(CHART), "--include-crds")
    kinds = [one for one in yaml.safe_load_all(said.stdout) if one["kind"] == "CustomResourceDefinition"]

    assert kinds == sorted(definitions(), key=lambda one: (one["spec"]["group"], one["metadata"]["name"]))


def test_the_chart_has_the_version_of_the_program() -> None:
    described = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert described["appVersion"] == described["version"] == __version__


def test_pods_are_confined() -> None:
    spec = render()[("Deployment", "vela-core")]["spec"]["template"]["spec"]

    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert spec["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_operator_makes_its_certificate_where_nobody_else_does() -> None:
    made = container()

    assert "--webhook-secret=vela-core-admission" in made["args"]
    assert "volumeMounts" not in made
    for one in hooks().values():
        assert one["metadata"]["labels"]["fairlead.dev/inject-vela-core-ca"] == "true"


@pytest.mark.parametrize(
    ("values", "secret", "folder"),
    [
        (CERT_MANAGER, "vela-core-admission", "/etc/k8s-webhook-certs"),
        (BROUGHT, "vela-core-admission", "/etc/k8s-webhook-certs"),
        (OTHERS_VALUES, "webhook-server-cert", "/etc/certs"),
    ],
)
def test_a_certificate_of_somebody_else_is_mounted(values: dict[str, Any], secret: str, folder: str) -> None:
    made = container(values)
    (volume,) = render(values)[("Deployment", "vela-core")]["spec"]["template"]["spec"]["volumes"]

    assert f"--webhook-cert-dir={folder}" in made["args"]
    assert [each["mountPath"] for each in made["volumeMounts"]] == [folder]
    assert volume["secret"]["secretName"] == secret
    for one in hooks(values).values():
        assert "fairlead.dev/inject-vela-core-ca" not in one["metadata"]["labels"]
    roles = render(values)[("ClusterRole", "vela-core:manager")]["rules"]
    assert not any("admissionregistration.k8s.io" in rule["apiGroups"] for rule in roles)


def test_an_authority_that_is_given_is_trusted() -> None:
    bundles = {entry["clientConfig"].get("caBundle") for one in hooks(BROUGHT).values() for entry in one["webhooks"]}

    assert bundles == {"Cg=="}


def test_cert_manager_takes_the_place_of_the_operator() -> None:
    made = render(CERT_MANAGER)

    certificate = made[("Certificate", "vela-core-admission")]["spec"]
    assert certificate["secretName"] == "vela-core-admission"
    assert certificate["dnsNames"][0] == "vela-core-webhook.vela-system.svc"
    for one in hooks(CERT_MANAGER).values():
        assert one["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "vela-system/vela-core-admission"}


def test_only_the_policy_of_validation_can_be_chosen() -> None:
    made = hooks({"admissionWebhooks": {"failurePolicy": "Ignore"}})

    policies = {kind: {entry["failurePolicy"] for entry in one["webhooks"]} for kind, one in made.items()}
    assert policies == {"MutatingWebhookConfiguration": {"Fail"}, "ValidatingWebhookConfiguration": {"Ignore"}}


def test_accounts_and_roles_may_be_there_already() -> None:
    made = render({"serviceAccount": {"create": False, "name": "ours"}, "rbac": {"create": False}})

    assert not {kind for kind, _ in made} & {"ServiceAccount", "ClusterRole", "Role"}
    assert made[("Deployment", "vela-core")]["spec"]["template"]["spec"]["serviceAccountName"] == "ours"


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"replicas": 2}, "replicas"),
        ({"replicaCount": "two"}, "replicaCount"),
        ({"admissionWebhooks": {"failurePolicy": "Maybe"}}, "failurePolicy"),
        ({"fairlead": {"alert": {}}}, "alert"),
        ({"fairlead": {"meshProvider": "consul"}}, "meshProvider"),
        ({"webhookService": {"port": 0}}, "port"),
        ({"concurrentReconciles": 0}, "concurrentReconciles"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(values: dict[str, Any], field: str) -> None:
    assert field in helm.complaint(values, CHART)
