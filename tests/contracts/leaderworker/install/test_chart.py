"""The chart of LeaderWorkerSets as Helm renders it (section 2.17): beside upstream's, and beside the manifests."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead import __version__
from fairlead.contracts.leaderworker.configuration import parsed
from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.install.objects import objects
from fairlead.contracts.leaderworker.install.values import CHART, Values
from fairlead.contracts.leaderworker.webhooks import EVICTION
from fairlead.engine.charts import Object
from tests.contracts.zones.install import helm

NAMESPACE = "lws-system"
UPSTREAM: dict[str, Any] = json.loads((Path(__file__).parent / "upstream_chart.json").read_text())
"""Facts of upstream's chart 0.9.0: its values, and the names that it renders without and with its switches."""
OWN = {("ClusterRole", "lws-leaderworkerset-editor-role"), ("ClusterRole", "lws-leaderworkerset-viewer-role")}
"""What upstream has in its manifests alone."""
CHART_ONLY = {("Role", "lws-prometheus-k8s"), ("RoleBinding", "lws-prometheus-k8s")}
MANIFESTS_ONLY = {("ClusterRoleBinding", "lws-metrics-reader-rolebinding")}
SWITCHES = {
    "enablePrometheus": True,
    "enableCertManager": True,
    "enableDisaggregatedSet": True,
    "gangSchedulingManagement": {"schedulerProvider": "volcano"},
}
EVERYTHING = {
    "enablePrometheus": True,
    "replicaCount": 2,
    "gangSchedulingManagement": {"schedulerProvider": "volcano"},
    "fairlead": {
        "revisionHistoryLimit": 3,
        "disruptionBudgets": {"enabled": True, "webhook": True},
        "networkPolicy": {"enabled": True},
        "alerts": {"enabled": True},
        "dashboard": {"enabled": True},
    },
}


def render(values: dict[str, Any] | None = None, release: str = "lws") -> dict[tuple[str, str], Object]:
    return helm.render(values, release=release, namespace=NAMESPACE, chart=CHART)


@pytest.mark.parametrize(("case", "values"), [("plain", {}), ("switched", SWITCHES)])
def test_no_name_of_upstreams_chart_changes(case: str, values: dict[str, Any]) -> None:
    upstream = {(kind, name) for kind, name in UPSTREAM["names"][case]}

    assert set(render(values)) == upstream | OWN


def test_every_value_of_upstreams_chart_is_taken() -> None:
    assert render(UPSTREAM["values"])
    assert set(UPSTREAM["values"]) < set(yaml.safe_load((CHART / "values.yaml").read_text()))


def test_values_of_later_releases_of_upstreams_chart_are_taken() -> None:
    assert render({"featureGates": "", "crdUpgrade": {"enabled": True, "image": {"tag": "main"}}}) == render()


def test_a_selector_that_cannot_change_is_upstreams() -> None:
    made = render()[("Deployment", "lws-controller-manager")]

    assert made["spec"]["selector"] == UPSTREAM["selector"]
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert labels.items() >= UPSTREAM["selector"]["matchLabels"].items()


def test_another_release_has_its_own_names_but_for_the_fixed_ones() -> None:
    names = {name for _, name in render(release="models")}

    fixed = {"lws-webhook-service", "lws-webhook-server-cert"}
    fixed |= {f"lws-{kind}-webhook-configuration" for kind in ("mutating", "validating")}
    assert fixed < names
    assert all(name.startswith("models-lws-") for name in names - fixed)


@pytest.mark.parametrize(
    ("values", "chart_values"),
    [
        pytest.param(Values(namespace=NAMESPACE), {"replicaCount": 2, "enablePrometheus": True}, id="as it is"),
        pytest.param(
            Values(
                namespace=NAMESPACE,
                history_limit=3,
                gang_scheduler="volcano",
                monitoring=True,
                network_policy=True,
                disruption_budgets=True,
                eviction_webhook=True,
                disaggregated_sets=True,
            ),
            {**EVERYTHING, "enableDisaggregatedSet": True},
            id="everything",
        ),
    ],
)
def test_chart_and_manifests_say_the_same(values: Values, chart_values: dict[str, Any]) -> None:
    rendered = {key: one for key, one in render(chart_values).items() if key not in CHART_ONLY}
    printed = {(one["kind"], one["metadata"]["name"]): one for one in objects(values)}
    if not values.monitoring:
        del rendered[("ServiceMonitor", "lws-controller-manager-metrics-monitor")]

    assert rendered.keys() == printed.keys() - MANIFESTS_ONLY
    for key, one in rendered.items():
        assert shared(one) == shared(printed[key]), key


def shared(one: Object) -> Object:
    """As it is, but for who installed it, and for how a configuration is written."""
    made = copy.deepcopy(one)
    for own in ("helm.sh/chart", "app.kubernetes.io/managed-by"):
        made["metadata"]["labels"].pop(own, None)
    if made["metadata"]["name"] == "lws-manager-config":
        made["data"] = {key: yaml.safe_load(text) for key, text in made["data"].items()}
    if made["kind"] == "Deployment":
        made["spec"]["template"]["metadata"]["annotations"].pop("fairlead.dev/configuration", None)
    if made["kind"] == "Service":
        made["spec"].pop("type", None)
    return made


@pytest.mark.parametrize("values", [{}, SWITCHES], ids=["defaults", "switches"])
def test_values_that_upstreams_chart_does_not_have_may_be_missing(values: dict[str, Any]) -> None:
    """With --reuse-values Helm takes the values of the release before, and no default of ours."""
    ours = set(yaml.safe_load((CHART / "values.yaml").read_text()))
    lacking = dict.fromkeys(ours - set(UPSTREAM["values"]))

    assert "fairlead" in lacking
    assert render({**values, **lacking}) == render(values)


@pytest.mark.parametrize("values", [{}, SWITCHES, EVERYTHING], ids=["defaults", "switches", "everything"])
def test_lint_finds_nothing(values: dict[str, Any]) -> None:
    said = helm.run("lint", str(CHART), "--strict", "--values", "-", stdin=yaml.safe_dump(values))

    assert said.returncode == 0, said.stdout
    assert "[WARNING]" not in said.stdout
    assert "[ERROR]" not in said.stdout


def test_the_kinds_come_with_the_chart() -> None:
    said = helm.run("template", "lws", str(CHART), "--include-crds")
    kinds = [one for one in yaml.safe_load_all(said.stdout) if one["kind"] == "CustomResourceDefinition"]

    assert kinds == sorted(definitions(), key=lambda one: (one["spec"]["group"], one["metadata"]["name"]))


def test_the_chart_has_the_version_of_the_program() -> None:
    described = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert described["appVersion"] == described["version"] == __version__


@pytest.mark.parametrize("values", [{}, SWITCHES])
def test_the_configuration_is_one_that_the_program_reads(values: dict[str, Any]) -> None:
    text = render(values)[("ConfigMap", "lws-manager-config")]["data"]["controller_manager_config.yaml"]

    found = parsed(text, "file")

    assert found.leader_election.leader_elect
    assert found.internal_cert_management.enable is not bool(values)
    gang = found.gang_scheduling_management
    assert (gang is not None and gang.scheduler_provider == "volcano") is bool(values)


def test_pods_are_confined_and_started_as_the_contract_says() -> None:
    spec = render()[("Deployment", "lws-controller-manager")]["spec"]["template"]["spec"]
    (container,) = spec["containers"]

    assert spec["terminationGracePeriodSeconds"] == 10
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (container["name"], container["command"]) == ("manager", ["/manager"])
    assert container["args"] == ["--config=/controller_manager_config.yaml", "--zap-log-level=2"]
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == {
        "webhook-server": 9443,
        "metrics": 8443,
    }
    mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert mounted == {
        "manager-config": "/controller_manager_config.yaml",
        "cert": "/tmp/k8s-webhook-server/serving-certs",
    }


@pytest.mark.parametrize(
    ("value", "flags", "rights", "entries"),
    [
        ({}, [], False, []),
        ({"enabled": True}, ["--lws-disruption-budgets"], True, []),
        ({"webhook": True}, ["--lws-eviction-webhook"], False, ["veviction.fairlead.dev"]),
    ],
)
def test_budgets_are_asked_for_by_a_value_of_their_own(
    value: dict[str, bool], flags: list[str], rights: bool, entries: list[str]
) -> None:
    made = render({"fairlead": {"disruptionBudgets": value}})

    (container,) = made[("Deployment", "lws-controller-manager")]["spec"]["template"]["spec"]["containers"]
    assert container["args"][2:] == flags
    rules = made[("ClusterRole", "lws-manager-role")]["rules"]
    assert any(rule["apiGroups"] == ["policy"] for rule in rules) is rights
    hooks = made[("ValidatingWebhookConfiguration", "lws-validating-webhook-configuration")]["webhooks"]
    ours = [hook for hook in hooks if hook["clientConfig"]["service"]["path"] == EVICTION]
    assert [hook["name"] for hook in ours] == entries
    for hook in ours:
        assert hook["rules"][0]["resources"] == ["pods/eviction"]
        assert hook["sideEffects"] == "NoneOnDryRun"
        (others,) = hook["namespaceSelector"]["matchExpressions"]
        assert (others["operator"], others["values"]) == ("NotIn", [NAMESPACE])


def test_cert_manager_takes_the_place_of_the_operator() -> None:
    made = render({"enableCertManager": True})

    assert made[("Certificate", "lws-serving-cert")]["spec"]["secretName"] == "lws-webhook-server-cert"
    assert made[("Certificate", "lws-metrics-cert")]["spec"]["secretName"] == "lws-metrics-server-cert"
    for kind in ("Mutating", "Validating"):
        one = made[(f"{kind}WebhookConfiguration", f"lws-{kind.lower()}-webhook-configuration")]
        assert one["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "lws-system/lws-serving-cert"}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"replicas": 2}, "replicas"),
        ({"replicaCount": "two"}, "replicaCount"),
        ({"gangSchedulingManagement": {"schedulerProvider": "kueue"}}, "schedulerProvider"),
        ({"fairlead": {"alert": {}}}, "alert"),
        ({"service": {"port": 0}}, "port"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(values: dict[str, Any], field: str) -> None:
    assert field in helm.complaint(values, CHART)
