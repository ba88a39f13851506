"""Templates for Hypothesis, other spellings of them, and real changes to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from fairlead.contracts.leaderworker.decide.field_kinds import MAPS, QUANTITY_MAPS

Tree = dict[str, Any]

WORDS = st.sampled_from(["a", "b", "nginx:1", "<x>", "é", "0", "false"])
AMOUNTS = st.sampled_from(["1", "500m", "1Gi", "4", "0", "1500m"])
SPELLED = {"1": "1000m", "500m": "0.5", "1Gi": "1024Mi", "4": 4, "0": "0m", "1500m": "1.5", "1k": "1e3"}
RESOURCES = st.dictionaries(st.sampled_from(["cpu", "memory", "x.io/y"]), AMOUNTS, min_size=1)
LABELS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["", "x", "y"]), min_size=1)


def some(required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Tree]:
    return st.fixed_dictionaries(required, optional=optional)


PORTS = some({"containerPort": st.integers(1, 9)}, hostPort=st.integers(1, 9), protocol=st.sampled_from(["TCP", "UDP"]))
VARIABLES = some({"name": WORDS}, value=WORDS)
PROBES = some(
    {"httpGet": some({"port": st.sampled_from([80, "80", "http"])}, path=WORDS)},
    periodSeconds=st.integers(1, 3),
    terminationGracePeriodSeconds=st.integers(0, 2),
)
CONTAINERS = some(
    {"name": WORDS, "image": WORDS},
    command=st.lists(WORDS, min_size=1, max_size=3),
    env=st.lists(VARIABLES, min_size=1, max_size=3),
    ports=st.lists(PORTS, min_size=1, max_size=2),
    resources=some({}, limits=RESOURCES, requests=RESOURCES),
    livenessProbe=PROBES,
    securityContext=some({"runAsUser": st.integers(0, 2)}, privileged=st.booleans(), runAsNonRoot=st.booleans()),
    tty=st.just(True),
)
SOURCES = st.one_of(
    some({"emptyDir": some({}, sizeLimit=AMOUNTS, medium=st.just("Memory"))}),
    some({"configMap": some({"name": WORDS}, optional=st.booleans(), defaultMode=st.integers(0, 2))}),
    some({"hostPath": some({"path": WORDS}, type=st.sampled_from(["", "File"]))}),
)
VOLUMES = st.tuples(WORDS, SOURCES).map(lambda each: {"name": each[0], **each[1]})
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = some({"topologyKey": WORDS, "labelSelector": st.one_of(st.just({}), some({"matchLabels": LABELS}))})
POD_SPECS = some(
    {"containers": st.lists(CONTAINERS, min_size=1, max_size=2)},
    volumes=st.lists(VOLUMES, min_size=1, max_size=3),
    nodeSelector=LABELS,
    affinity=some(
        {
            "podAffinity": some(
                {"requiredDuringSchedulingIgnoredDuringExecution": st.lists(TERMS, min_size=1, max_size=2)}
            )
        }
    ),
    hostNetwork=st.just(True),
    enableServiceLinks=st.booleans(),
    priority=st.integers(0, 2),
    serviceAccountName=WORDS,
)
METADATA = some({}, labels=LABELS, annotations=LABELS)
POD_TEMPLATES = some({"spec": POD_SPECS}, metadata=METADATA.filter(bool))
CLAIMS = some(
    {
        "metadata": some({"name": WORDS}),
        "spec": some({"resources": some({"requests": RESOURCES})}, storageClassName=st.sampled_from(["", "fast"])),
    }
)
TEMPLATES = some(
    {
        "size": st.integers(1, 4),
        "workerTemplate": POD_TEMPLATES,
        "restartPolicy": st.sampled_from(["RecreateGroupOnPodRestart", "None", "RecreateGroupAfterStart"]),
    },
    leaderTemplate=POD_TEMPLATES,
    volumeClaimTemplates=st.lists(CLAIMS, min_size=1, max_size=2),
)


def objects(value: Any, name: str = "") -> Iterator[tuple[str, Tree]]:
    """Every object in a tree with the field that it stands in."""
    if isinstance(value, dict):
        yield name, value
        for key, each in value.items():
            yield from objects(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from objects(each, name)


FILLERS: dict[str, Tree] = {
    "containers": {"command": None, "args": [], "resources": {}, "stdin": False, "workingDir": "", "env": None},
    "env": {"value": "", "valueFrom": None},
    "ports": {"hostIP": "", "name": "", "hostPort": 0, "protocol": "TCP"},
    "spec": {"tolerations": [], "nodeName": "", "hostPID": False, "securityContext": {}, "affinity": None},
    "metadata": {"creationTimestamp": None, "labels": {}, "annotations": None},
    "workerTemplate": {"metadata": {}},
    "leaderTemplate": {"metadata": {"creationTimestamp": None}},
    "livenessProbe": {"initialDelaySeconds": 0, "successThreshold": 0, "exec": None},
    "securityContext": {"capabilities": {}, "seLinuxOptions": None},
    "emptyDir": {"medium": "", "sizeLimit": None},
    "configMap": {"items": [], "optional": None},
    "labelSelector": {"matchLabels": {}, "matchExpressions": []},
    "volumeClaimTemplates": {"status": {}, "apiVersion": "v1", "kind": "PersistentVolumeClaim"},
}
"""By where they stand: fields that mean the same as none, as somebody writes them."""


@st.composite
def respelled(draw: st.DrawFn, template: Tree) -> Tree:
    """The same template, with some of what other writers put in, and in another order."""
    found = deepcopy(template)
    for name, each in list(objects(found)):
        if name in QUANTITY_MAPS:
            each.update({key: SPELLED.get(value, value) for key, value in each.items() if draw(st.booleans())})
        elif name not in MAPS:
            if isinstance(limit := each.get("sizeLimit"), str) and draw(st.booleans()):
                each["sizeLimit"] = SPELLED.get(limit, limit)
            for key, value in FILLERS.get(name, {}).items():
                if key not in each and draw(st.booleans()):
                    each[key] = deepcopy(value)
        order = draw(st.permutations(sorted(each)))
        for key in order:
            each[key] = each.pop(key)
    return found


def _another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}-changed"


@st.composite
def changed(draw: st.DrawFn, template: Tree) -> Tree:
    """The template with one real change: a value, an order, or an entry more or less."""
    found = deepcopy(template)
    changes: list[Callable[[], object]] = []
    for name, each in objects(found):
        if name in QUANTITY_MAPS:
            changes += [_setting(each, key, "7") for key in each]
            continue
        changes += [
            _setting(each, key, _another(value)) for key, value in each.items() if not isinstance(value, dict | list)
        ]
        for value in each.values():
            if isinstance(value, list):
                changes.append(lambda value=value: value.append(deepcopy(value[-1])))  # type: ignore[misc]
                if len(value) > 1 and value[0] != value[1]:
                    changes.append(lambda value=value: value.reverse() if value != value[::-1] else value.pop())  # type: ignore[misc]
        if name in MAPS:
            changes.append(_setting(each, "new", ""))
    draw(st.sampled_from(changes))()
    return found


def _setting(tree: Tree, key: str, value: Any) -> Callable[[], object]:
    return lambda: tree.update({key: value})


def everything() -> Tree:
    """A template that API servers take, with a bit of everything in it, spelled in ways that they do not keep."""
    term = {"labelSelector": {"matchLabels": {"a": ""}}, "namespaceSelector": {}, "topologyKey": "rack"}
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
    sources = [{"configMap": {"name": "c"}}, {"serviceAccountToken": {"path": "t"}}]
    container = {
        "name": "worker",
        "image": "nginx:1",
        "command": ["sh", "-c", "a < b && c > d"],
        "args": [""],
        "env": [
            {"name": "B", "value": ""},
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "M", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
        ],
        "envFrom": [{"secretRef": {"name": "s"}}],
        "resources": {"limits": {"cpu": "1000m", "memory": "0.5Gi"}, "requests": {"cpu": 0.5, "memory": "100u"}},
        "livenessProbe": {"httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": 0},
        "readinessProbe": {"grpc": {"port": 1}, "terminationGracePeriodSeconds": None},
        "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": False}],
        "securityContext": {"runAsUser": 0, "privileged": False, "capabilities": {"add": []}},
    }
    spec = {
        "containers": [container],
        "initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always"}],
        "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        "tolerations": [
            {"operator": "Exists"},
            {"key": "k", "value": "", "effect": "NoExecute", "tolerationSeconds": 0},
        ],
        "volumes": [
            {"name": "h", "hostPath": {"path": "/x", "type": ""}},
            {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": storage}}},
            {"name": "p", "projected": {"sources": sources}},
            {"name": "m", "emptyDir": {"sizeLimit": "1024Mi", "medium": ""}},
        ],
        "imagePullSecrets": [{"name": "pull"}],
        "nodeSelector": {"a": ""},
        "hostNetwork": False,
        "enableServiceLinks": False,
        "securityContext": {},
        "overhead": {},
        "terminationGracePeriodSeconds": 1,
    }
    claims = [{"metadata": {"name": "data"}, "spec": storage}]
    return {"size": 2, "workerTemplate": {"spec": spec}, "volumeClaimTemplates": claims}
