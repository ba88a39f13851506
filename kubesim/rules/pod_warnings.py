"""What who writes a pod, or a template of pods, is warned of: what is allowed and rarely meant.

A changed template is looked at when the change counts as one; a changed pod is not looked at. The order is the
server's.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.quantities import quantity
from kubesim.errors import quoted
from kubesim.schema.values import label, label_value
from kubesim.store.versions import Tree

_TEMPLATES = {
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "Job": ("spec", "template"),
    "PodTemplate": ("template",),
    "ReplicaSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
}
_NAMING = ("CronJob", "Deployment", "Job", "ReplicaSet", "ReplicationController")
_NAMED = "metadata.name: this is used in {}, which can result in surprising behavior; a DNS label is recommended: [{}]"
_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_VOLUME_NAMES = {"storageos": "storageOS"}
_BYTES = ("memory", "ephemeral-storage")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_POD = "a null labelSelector results in matching no pod"
_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP_TEXT = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_HISTORY = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"


def on_create(tree: Tree) -> list[str]:
    """Of a new object, its defaults filled in."""
    kind = tree["kind"]
    if kind == "Pod":
        return [*_name(tree, "the Pod's hostname"), *_pod(tree, "")]
    if kind not in _TEMPLATES:
        return []
    named = _name(tree, "Pod names and hostnames") if kind in _NAMING else ()
    return [*named, *_template(tree), *_history(tree)]


def on_update(before: Tree, after: Tree) -> list[str]:
    """Of a changed object."""
    if after["kind"] not in _TEMPLATES:
        return []
    counts = before["metadata"].get("generation") != after["metadata"].get("generation")
    if after["kind"] == "DaemonSet":
        counts = before["spec"]["template"] != after["spec"]["template"]
    return [*(_template(after) if counts else ()), *_history(after)]


def _name(tree: Tree, use: str) -> Iterator[str]:
    if problems := label(tree["metadata"].get("name") or ""):
        yield _NAMED.format(use, " ".join(problems))


def _history(tree: Tree) -> Iterator[str]:
    if tree["kind"] == "StatefulSet" and (tree["spec"].get("revisionHistoryLimit") or 0) < 0:
        yield _HISTORY


def _template(tree: Tree) -> Iterator[str]:
    path = _TEMPLATES[tree["kind"]]
    found = tree
    for key in path:
        found = found.get(key) or {}
    return _pod(found, ".".join(path) + ".")


def _pod(pod: Tree, at: str) -> Iterator[str]:
    spec, notes = pod.get("spec") or {}, (pod.get("metadata") or {}).get("annotations") or {}
    yield from _placement(spec, f"{at}spec")
    yield from (f"{at}metadata.annotations[{key}]: {text}" for key, text in _ANNOTATIONS.items() if key in notes)
    yield from _volumes(spec, f"{at}spec.volumes")
    yield from _repeated(spec.get("hostAliases") or [], "ip", f"{at}spec.hostAliases")
    secrets = spec.get("imagePullSecrets") or []
    yield from _repeated(secrets, "name", f"{at}spec.imagePullSecrets")
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{at}spec.imagePullSecrets[{index}].name: invalid empty name ""'
    yield from _fractions(spec.get("overhead"), f"{at}spec.overhead", _BYTES)
    if _SECCOMP in notes and not (spec.get("securityContext") or {}).get("seccompProfile"):
        yield f"{at}metadata.annotations[{_SECCOMP}]: {_SECCOMP_TEXT}"
    containers = list(_containers(spec, f"{at}spec"))
    for container, place in containers:
        key = _CONTAINER_SECCOMP + (container.get("name") or "")
        if key in notes and not (container.get("securityContext") or {}).get("seccompProfile"):
            yield f"{at}metadata.annotations[{key}]: {_SECCOMP_TEXT}"
        yield from _container(container, place)
    yield from _ports(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        where = f"{at}spec.terminationGracePeriodSeconds"
        yield f"{where}: must be >= 0; negative values are invalid and will be treated as 1"
    yield from _affinity(spec.get("affinity") or {}, f"{at}spec.affinity")


def _containers(spec: Tree, at: str) -> Iterator[tuple[Tree, str]]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            yield container, f"{at}.{group}[{index}]"


def _placement(spec: Tree, at: str) -> Iterator[str]:
    """Labels of nodes that have newer names, and constraints that match nothing."""
    for key in sorted(spec.get("nodeSelector") or ()):
        if key in _NODE_LABELS:
            yield f"{at}.nodeSelector[{key}]: {_NODE_LABELS[key]}"
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    place = f"{at}.affinity.nodeAffinity"
    for index, term in enumerate((nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from _term(term, f"{place}.{_REQUIRED}.nodeSelectorTerms[{index}]", values=False)
    for index, weighted in enumerate(nodes.get(_PREFERRED) or ()):
        yield from _term(weighted.get("preference") or {}, f"{place}.{_PREFERRED}[{index}].preference", values=True)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{at}.topologySpreadConstraints[{index}]", constraint.get("topologyKey") or ""
        if key in _NODE_LABELS:
            yield f"{where}.topologyKey: {key} is {_NODE_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_POD}"


def _term(term: Tree, at: str, *, values: bool) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        where, key = f"{at}.matchExpressions[{index}]", expression.get("key") or ""
        if key in _NODE_LABELS:
            yield f"{where}.key: {key} is {_NODE_LABELS[key]}"
        for number, value in enumerate(expression.get("values") or () if values else ()):
            yield from (f"{where}.values[{number}]: {value} is invalid, {text}" for text in label_value(value))


def _affinity(affinity: Tree, at: str) -> Iterator[str]:
    for key in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(key) or {}
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{at}.{key}.{_REQUIRED}[{index}].labelSelector: {_NO_POD}"
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{at}.{key}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_POD}"


def _volumes(spec: Tree, at: str) -> Iterator[str]:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for key, text in _VOLUMES.items():
            if volume.get(key) is not None:
                yield f"{at}[{index}].{_VOLUME_NAMES.get(key, key)}: {text}"


def _repeated(items: list[Tree], key: str, at: str) -> Iterator[str]:
    seen: list[str] = []
    for index, item in enumerate(items):
        value = item.get(key) or ""
        if value in seen:
            yield f"{at}[{index}].{key}: duplicate {key} {quoted(value)}"
        seen.append(value)


def _fractions(amounts: Tree | None, at: str, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        value = (amounts or {}).get(name)
        if value is not None and quantity(value) % 1:
            yield f"{at}[{name}]: fractional byte value {quoted(str(value))} is invalid, must be an integer"


def _container(container: Tree, at: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in _BYTES:
        for key in ("limits", "requests"):
            yield from _fractions(resources.get(key), f"{at}.resources.{key}", (name,))
    seen: list[str] = []
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name") or "", variable.get("value") or ""
        own = f"$({name})"
        is_extended = variable.get("valueFrom") is None and own in value and value != own
        if name in seen and not is_extended:
            hides = f"hides previous definition of {quoted(name)}, which may be dropped when using apply"
            yield f"{at}.env[{index}]: {hides}"
        seen.append(name)


def _ports(containers: list[tuple[Tree, str]]) -> Iterator[str]:
    """Ports that are said more than once, in any container, and their names."""
    ports = [
        (port, f"{at}.ports[{index}]")
        for container, at in containers
        for index, port in enumerate(container.get("ports") or ())
    ]
    for number, (port, at) in enumerate(ports):
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{at}: hostIP set without hostPort: {_printed(port)}"
        for other, place in ports[:number]:
            if (clash := _clash(port, other)) is not None:
                yield f"{at}: {clash} port definition with {place}"
    named: dict[str, str] = {}
    for port, at in ports:
        name = port.get("name")
        if name and name in named:
            first = named[name]
            text = f"duplicate port name {quoted(name)} with {first}"
            yield f"{at}: {text}, services and probes that select ports by name will use {first}"
        elif name:
            named[name] = at


def _clash(port: Tree, other: Tree) -> str | None:
    """In which way two definitions are of the same port; None where they are not, or do no harm."""
    if any(port.get(key) != other.get(key) for key in ("containerPort", "protocol")):
        return None
    (mine, host), (its, its_host) = ((each.get("hostPort") or 0, each.get("hostIP") or "") for each in (port, other))
    if (mine, host) == (its, its_host):
        return "duplicate"
    if not mine or not its:
        return "overlapping"
    return "dangerously ambiguous" if mine == its and bool(host) != bool(its_host) else None


def _printed(port: Tree) -> str:
    fields = ("name", ""), ("hostPort", 0), ("containerPort", 0), ("protocol", ""), ("hostIP", "")
    parts = (f"{key[0].upper()}{key[1:]}:{port.get(key) or empty}" for key, empty in fields)
    return "{" + " ".join(parts) + "}"
