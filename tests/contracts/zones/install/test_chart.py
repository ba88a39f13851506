"""The chart as Helm renders it: with its own values, with those of the chart it replaces, and next to the manifests."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from fairlead import __version__
from fairlead.cli.flags.go import parse
from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from fairlead.contracts.zones.install.objects import objects
from fairlead.contracts.zones.install.values import Values
from fairlead.contracts.zones.options import PROGRAM, problems
from fairlead.engine.charts import Object
from tests.contracts.zones.install.helm import CHART, NAMESPACE, complaint, render, run

EVERYTHING: dict[str, Any] = {
    "highAvailability": {"enabled": True},
    "zoneTracker": {"enabled": True},
    "networkPolicy": {
        "enabled": True,
        "extraEgress": [
            {"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 9090, "protocol": "TCP"}]},
        ],
    },
    "phasedDeployments": {"enabled": True},
    "serviceMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True},
    "dashboard": {"enabled": True},
}
PAIRS: dict[str, tuple[Values, dict[str, Any]]] = {
    "rolling only": (Values(namespace=NAMESPACE), {"webhooks": {"enabled": False}}),
    "webhooks": (Values(namespace=NAMESPACE, webhooks=True), {}),
    "two replicas": (
        Values(namespace=NAMESPACE, webhooks=True, high_availability=True),
        {"highAvailability": {"enabled": True}},
    ),
    "phased Deployments": (
        Values(namespace=NAMESPACE, webhooks=True, phased_deployments=True),
        {"phasedDeployments": {"enabled": True}},
    ),
    "another image, secret, policy and reference": (
        Values(
            namespace=NAMESPACE,
            webhooks=True,
            image="registry.example/team/fairlead:7",
            secret="tls",
            failure_policy="Ignore",
            timeout_seconds=20,
            references=(("example.com", "sizes"),),
        ),
        {
            "image": {"registry": "registry.example", "repository": "team/fairlead", "tag": "7"},
            "webhooks": {"selfSignedCertSecretName": "tls", "failurePolicy": "Ignore", "timeoutSeconds": 20},
            "rbac": {"referenceResources": [{"group": "example.com", "plural": "sizes"}]},
        },
    ),
    "zone tracker": (
        Values(namespace=NAMESPACE, zone_tracker="times"),
        {"webhooks": {"enabled": False}, "zoneTracker": {"enabled": True, "configMapName": "times"}},
    ),
    "everything": (
        Values(
            namespace=NAMESPACE,
            webhooks=True,
            high_availability=True,
            monitoring=True,
            network_policy=True,
            egress=(("10.0.0.0/8", 9090),),
            phased_deployments=True,
            zone_tracker="rollout-operator-zone-tracker",
        ),
        EVERYTHING,
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_chart_and_manifests_say_the_same(case: str) -> None:
    values, chart_values = PAIRS[case]

    rendered = render(chart_values)

    printed = {(one["kind"], one["metadata"]["name"]): one for one in objects(values)}
    assert rendered.keys() == printed.keys()
    for key, one in printed.items():
        assert without_manager(rendered[key]) == without_manager(one), key


def without_manager(one: Object) -> Object:
    """As it is, but for the labels that say who installed it."""
    own = ("helm.sh/chart", "app.kubernetes.io/managed-by")
    labels = {key: value for key, value in one["metadata"]["labels"].items() if key not in own}
    return {**one, "metadata": {**one["metadata"], "labels": labels}}


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_lint_finds_nothing(values: dict[str, Any]) -> None:
    said = run("lint", str(CHART), "--strict", "--values", "-", stdin=yaml.safe_dump(values))

    assert said.returncode == 0, said.stdout
    assert "[WARNING]" not in said.stdout
    assert "[ERROR]" not in said.stdout


def test_kinds_come_with_the_chart_unless_they_are_switched_off() -> None:
    def kinds(*options: str) -> list[Object]:
        said = run("template", "r", str(CHART), "--include-crds", *options)
        return [one for one in yaml.safe_load_all(said.stdout) if one["kind"] == "CustomResourceDefinition"]

    assert kinds() == list(zone_kinds())
    assert kinds("--set", "crds.enabled=false") == []


def test_chart_has_the_version_of_the_program() -> None:
    described = yaml.safe_load((CHART / "Chart.yaml").read_text())
    kinds = yaml.safe_load((CHART / "charts" / "crds" / "Chart.yaml").read_text())

    assert described["appVersion"] == described["version"] == __version__
    assert kinds["version"] == described["dependencies"][0]["version"]


FORMER: dict[str, Any] = {
    "global": {"commonLabels": {"team": "metrics"}},
    "revisionHistoryLimit": 3,
    "image": {"registry": "docker.io", "repository": "grafana/rollout-operator", "tag": "v1", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "pull"}],
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["domain.tld"]}],
    "hostNetwork": True,
    "nameOverride": "",
    "fullnameOverride": "rolls",
    "serviceAccount": {"create": True, "annotations": {"who": "me"}, "name": "roller"},
    "crds": {"enabled": True},
    "annotations": {"on": "deployment"},
    "podAnnotations": {"on": "pod"},
    "podLabels": {"more": "labels"},
    "podSecurityContext": {"fsGroup": 2000},
    "securityContext": {"runAsUser": 1000},
    "extraArgs": ["-log.level=info", "--reconcile.interval=10s"],
    "extraEnv": [{"name": "A", "value": "b"}],
    "extraEnvFrom": [{"secretRef": {"name": "env"}}],
    "resources": {"limits": {"memory": "300Mi"}, "requests": {"cpu": "50m", "memory": "50Mi"}},
    "minReadySeconds": 20,
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "priorityClassName": "high",
    "serviceMonitor": {
        "enabled": True,
        "namespace": "monitoring",
        "namespaceSelector": {"any": True},
        "annotations": {"on": "monitor"},
        "labels": {"prometheus": "main"},
        "interval": "30s",
        "scrapeTimeout": "15s",
        "relabelings": [{"action": "labeldrop", "regex": "pod"}],
    },
    "webhooks": {
        "enabled": True,
        "timeoutSeconds": 15,
        "failurePolicy": "Ignore",
        "failurePolicies": {
            "noDownscale": None,
            "podEviction": "Fail",
            "prepareDownscale": "",
            "zpdbValidation": "Ignore",
        },
        "selfSignedCertSecretName": "tls",
        "objectSelector": {"matchLabels": {"app": "loki"}},
    },
    "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
}
"""Every value of the chart of the same name that this one replaces, none of them at its default."""


def test_values_of_the_former_chart_keep_their_meaning_for_the_pods() -> None:
    rendered = render(FORMER)

    deployment = rendered["Deployment", "rolls"]
    assert deployment["metadata"]["annotations"] == {"on": "deployment"}
    assert deployment["metadata"]["labels"]["team"] == "metrics"
    assert (deployment["spec"]["revisionHistoryLimit"], deployment["spec"]["minReadySeconds"]) == (3, 20)
    template = deployment["spec"]["template"]
    assert template["metadata"]["annotations"] == {"on": "pod"}
    assert template["metadata"]["labels"]["more"] == "labels"
    pod = template["spec"]
    for key in ("imagePullSecrets", "hostAliases", "nodeSelector", "tolerations", "affinity", "priorityClassName"):
        assert pod[key] == FORMER[key], key
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert pod["serviceAccountName"] == "roller"
    assert pod["securityContext"]["fsGroup"] == 2000
    (container,) = pod["containers"]
    assert container["image"] == "docker.io/grafana/rollout-operator:v1"
    assert container["imagePullPolicy"] == "Always"
    assert container["securityContext"]["runAsUser"] == 1000
    assert container["args"][-2:] == ["-log.level=info", "--reconcile.interval=10s"]
    assert (container["env"], container["envFrom"]) == (FORMER["extraEnv"], FORMER["extraEnvFrom"])
    assert container["resources"] == FORMER["resources"]
    account = rendered["ServiceAccount", "roller"]
    assert account["metadata"]["annotations"] == {"who": "me"}


def test_values_of_the_former_chart_keep_their_meaning_for_monitoring_and_webhooks() -> None:
    rendered = render(FORMER)

    monitor = rendered["ServiceMonitor", "rolls"]
    assert (monitor["metadata"]["namespace"], monitor["metadata"]["annotations"]) == ("monitoring", {"on": "monitor"})
    assert monitor["metadata"]["labels"]["prometheus"] == "main"
    assert monitor["spec"]["namespaceSelector"] == {"any": True}
    (endpoint,) = monitor["spec"]["endpoints"]
    assert (endpoint["interval"], endpoint["scrapeTimeout"]) == ("30s", "15s")
    assert endpoint["relabelings"] == FORMER["serviceMonitor"]["relabelings"]

    webhooks = {name: one["webhooks"] for (kind, name), one in rendered.items() if kind.endswith("Configuration")}
    assert {name: {one["failurePolicy"] for one in entries} for name, entries in webhooks.items()} == {
        f"no-downscale-{NAMESPACE}": {"Ignore"},
        f"prepare-downscale-{NAMESPACE}": {"Ignore"},
        f"pod-eviction-{NAMESPACE}": {"Fail"},
        f"zpdb-validation-{NAMESPACE}": {"Ignore"},
    }
    for one in (entry for entries in webhooks.values() for entry in entries):
        assert one["timeoutSeconds"] == 15
        assert one["objectSelector"]["matchLabels"] == {"app": "loki"}
        assert one["namespaceSelector"] == {
            "matchLabels": {"kubernetes.io/metadata.name": NAMESPACE},
            "matchExpressions": FORMER["namespaceSelector"]["matchExpressions"],
        }
        assert one["clientConfig"]["service"]["name"] == "rolls"


def test_own_objects_are_excepted_beside_a_selector_of_the_user() -> None:
    selector = {"matchExpressions": [{"key": "team", "operator": "Exists"}]}

    rendered = render({"webhooks": {"objectSelector": selector}, "nameOverride": "rolls"}, release="mimir")

    plain, excepting = rendered["ValidatingWebhookConfiguration", f"no-downscale-{NAMESPACE}"]["webhooks"]
    own = {"key": "app.kubernetes.io/name", "operator": "NotIn", "values": ["rolls"]}
    assert plain["objectSelector"] == selector
    assert excepting["objectSelector"] == {"matchExpressions": [*selector["matchExpressions"], own]}
    labels = rendered["Deployment", "mimir-rolls"]["spec"]["template"]["metadata"]["labels"]
    assert labels["app.kubernetes.io/name"] == "rolls", "ReplicaSets have the labels of the pods"


@pytest.mark.parametrize(
    ("given", "selector"),
    [
        ({"matchLabels": {"team": "a"}}, {"matchLabels": {"team": "a"}}),
        ({}, {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}),
        (None, None),
    ],
    ids=["labels are used as they are", "the namespace of the release otherwise", "null leaves it out"],
)
def test_namespace_selector(given: object, selector: object) -> None:
    rendered = render({"namespaceSelector": given})

    (webhook,) = rendered["MutatingWebhookConfiguration", f"prepare-downscale-{NAMESPACE}"]["webhooks"]
    assert webhook.get("namespaceSelector") == selector


@pytest.mark.parametrize(
    ("values", "release", "name"),
    [
        ({}, "rollout-operator", "rollout-operator"),
        ({}, "mimir", "mimir-rollout-operator"),
        ({"nameOverride": "rolls"}, "mimir", "mimir-rolls"),
        ({"fullnameOverride": "rolls"}, "mimir", "rolls"),
    ],
)
def test_certificate_is_for_the_name_of_the_service(values: dict[str, Any], release: str, name: str) -> None:
    """A certificate for another name would make the API server refuse every answer."""
    rendered = render(values, release=release)

    (container,) = rendered["Deployment", name]["spec"]["template"]["spec"]["containers"]
    assert f"-server-tls.self-signed-cert.dns-name={name}.{NAMESPACE}.svc" in container["args"]
    assert rendered["Service", name]["spec"]["ports"][1]["targetPort"] == "https"


@pytest.mark.parametrize("values", [{}, {"zoneTracker": {"enabled": True}}, {"extraArgs": ["--log.level=info"]}])
def test_contract_process_takes_its_arguments(values: dict[str, Any]) -> None:
    rendered = render(values)

    (container,) = rendered["Deployment", "rollout-operator"]["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["rollout-operator"]
    given = parse(PROGRAM.name, PROGRAM.flags, container["args"])
    assert list(problems(given)) == []
    assert not given.rest


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"webhooks": {"failurePolicy": "Maybe"}}, "failurePolicy"),
        ({"webhooks": {"failurePolicies": {"podEvictions": "Fail"}}}, "podEvictions"),
        ({"webhooks": {"timeoutSeconds": 31}}, "timeoutSeconds"),
        ({"highAvailability": {"enabled": True, "replicas": 1}}, "replicas"),
        ({"rbac": {"referenceResources": [{"group": "example.com"}]}}, "plural"),
        ({"namespaceSelector": {"matchLabel": {}}}, "matchLabel"),
        ({"extraArgs": "-log.level=info"}, "extraArgs"),
    ],
)
def test_values_that_cannot_be_meant_are_refused_by_name(values: dict[str, Any], what: str) -> None:
    assert what in complaint(values)


def test_schema_and_values_have_the_same_keys() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    assert schema["properties"].keys() == values.keys()
    for key, value in values.items():
        described = schema["properties"][key].get("properties")
        if described is not None and key != "namespaceSelector":
            assert described.keys() - {"global"} == value.keys(), key
