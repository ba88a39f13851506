"""Defaults of pods and of the templates that pods are made from.

Those of templates decide the names of revisions and what counts as a change, so they follow the release exactly: what
is filled in, and what is left out. What only a pod gets stands in `fill`; a template is left without it.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

from kubeloop.quantities import quantity
from kubesim.defaults.values import absent, child, has, items, unset
from kubesim.store.versions import Tree

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_NUMBERS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_MODES = ("secret", "configMap", "downwardAPI", "projected")
_TOKEN_SECONDS = 3600
_GRACE_SECONDS = 30
_MILLI = Decimal("0.001")
_POD_LEVEL = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"
_REMEMBERED = 1024
_HOST = r"[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?"
_PART = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"({_HOST}(\.{_HOST})*(:[0-9]+)?/)?{_PART}(/{_PART})*"
    r"(:(?P<tag>\w[\w.-]{0,127}))?(@(?P<digest>[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_SOURCES = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared"},
}


def fill(tree: Tree) -> None:
    """A pod is given more than a template: requests where there are limits, host ports, links to Services."""
    spec = child(tree, "spec")
    containers = items(spec, "initContainers") + items(spec, "containers")
    for container in containers:
        resources = child(container, "resources")
        if limits := resources.get("limits"):
            resources["requests"] = limits | (resources.get("requests") or {})
    if has(spec, "resources"):
        _pod_level(spec, spec["resources"])
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        for container in containers:
            for port in items(container, "ports"):
                unset(port, "hostPort", port.get("containerPort"))
    pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:  # which a template may say
        spec["terminationGracePeriodSeconds"] = 1
    if tree.get("status"):
        pair_addresses(tree["status"])


def pair_addresses(status: Tree) -> None:
    """Has the address of a pod be the first of its addresses, whichever of the two was given."""
    first, addresses = status.get("podIP"), status.get("podIPs")
    if first and (not addresses or addresses[0].get("ip") != first):
        status["podIPs"] = [{"ip": first}]
    elif addresses and not first:
        status["podIP"] = addresses[0].get("ip")


def _pod_level(spec: Tree, resources: Tree) -> None:
    """Requests of the pod itself, where it has limits: what its containers ask for together, else the limits."""
    limits = resources.get("limits")
    if not limits:
        return
    asked = together(spec, "requests")
    requests = dict(resources.get("requests") or {})
    for name in _POD_LEVEL:
        if name in asked and name not in requests:
            requests[name] = asked[name]
    for name, value in limits.items():
        if name in _POD_LEVEL or name.startswith(_HUGE_PAGES):
            requests.setdefault(name, value)
    if requests:
        resources["requests"] = requests


def together(spec: Tree, field: str) -> dict[str, str]:
    """What the containers of a pod ask for at the worst moment: all that run, or one that comes before with them."""
    total: dict[str, Decimal] = {}
    worst: dict[str, Decimal] = {}
    beside: dict[str, Decimal] = {}
    for container in items(spec, "containers"):
        _add(total, _amounts(container, field))
    for container in items(spec, "initContainers"):
        asked = _amounts(container, field)
        if container.get("restartPolicy") == "Always":
            _add(beside, asked)
            asked = beside
        else:
            asked = {name: value + beside.get(name, Decimal(0)) for name, value in asked.items()}
        for name, value in asked.items():
            worst[name] = max(worst.get(name, value), value)
    _add(total, beside)
    for name, value in worst.items():
        total[name] = max(total.get(name, value), value)
    return {name: _written(value) for name, value in total.items()}


def _amounts(container: Tree, field: str) -> dict[str, Decimal]:
    amounts = (container.get("resources") or {}).get(field) or {}
    return {name: quantity(value) for name, value in amounts.items()}


def _add(total: dict[str, Decimal], more: dict[str, Decimal]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, Decimal(0)) + value


def _written(value: Decimal) -> str:
    """A sum as a quantity, in thousandths where it is not whole, in the largest unit that divides it where it is."""
    if value != value.to_integral_value():
        return f"{int(value * 1000)}m"
    number = int(value)
    for unit in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        size = int(quantity(f"1{unit}"))
        if number and number % size == 0:
            return f"{number // size}{unit}"
    return str(number)


def template(spec: Tree) -> None:
    """The template in the spec of a workload."""
    made = child(spec, "template")
    child(made, "metadata")
    pod_spec(child(made, "spec"))


def pod_spec(spec: Tree) -> None:
    unset(spec, "dnsPolicy", "ClusterFirst")
    unset(spec, "restartPolicy", "Always")
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = _GRACE_SECONDS
    unset(spec, "schedulerName", "default-scheduler")
    _same_account(spec)
    if "volumes" in spec:
        for volume in items(spec, "volumes"):
            _volume(volume)
    for group in ("initContainers", "containers", "ephemeralContainers"):
        if group in spec:
            for container in items(spec, group):
                _container(container)
    if has(spec, "resources"):
        amounts(spec["resources"])
    _rounded(spec, "overhead")


def _same_account(spec: Tree) -> None:
    """`serviceAccount` is the old name of `serviceAccountName`; both are always shown, and the new one wins."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _container(container: Tree) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    unset(container, "terminationMessagePath", "/dev/termination-log")
    unset(container, "terminationMessagePolicy", "File")
    amounts(child(container, "resources"))
    if "ports" in container:
        for port in items(container, "ports"):
            unset(port, "protocol", "TCP")
    if "env" in container:
        for variable in items(container, "env"):
            if has(variable, "valueFrom"):
                _source(variable["valueFrom"])
    for name in _PROBES:
        if name in container and has(container, name):
            _probe(container[name])
    if has(container, "lifecycle"):
        for hook in ("postStart", "preStop"):
            handler = container["lifecycle"].get(hook) or {}
            if has(handler, "httpGet"):
                _http_get(handler["httpGet"])


@lru_cache(_REMEMBERED)
def pull_policy(image: str) -> str:
    """Always for the tag `latest`, which is implied where neither tag nor digest is given; a bad name has no tag."""
    found = _IMAGE.fullmatch(image)
    if found is None:
        return "IfNotPresent"
    tag, digest = found["tag"], found["digest"]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _source(source: Tree) -> None:
    if has(source, "fieldRef"):
        unset(source["fieldRef"], "apiVersion", "v1")
    if has(source, "fileKeyRef"):
        absent(source["fileKeyRef"], "optional", False)
    if has(source, "resourceFieldRef"):
        absent(source["resourceFieldRef"], "divisor", "0")


def _probe(probe: Tree) -> None:
    for key, value in _PROBE_NUMBERS.items():
        unset(probe, key, value)
    if has(probe, "httpGet"):
        _http_get(probe["httpGet"])
    if has(probe, "grpc"):
        absent(probe["grpc"], "service", "")


def _http_get(action: Tree) -> None:
    unset(action, "path", "/")
    unset(action, "scheme", "HTTP")


def _volume(volume: Tree) -> None:
    if all(key == "name" or value is None for key, value in volume.items()):
        volume["emptyDir"] = {}
        return
    for name in _MODES:
        if has(volume, name):
            absent(volume[name], "defaultMode", 0o644)
    for name, defaults in _SOURCES.items():
        if has(volume, name):
            for key, value in defaults.items():
                unset(volume[name], key, value)
    if has(volume, "azureDisk"):
        absent(volume["azureDisk"], "readOnly", False)
    if has(volume, "hostPath"):
        absent(volume["hostPath"], "type", "")
    if has(volume, "image"):
        unset(volume["image"], "pullPolicy", pull_policy(volume["image"].get("reference") or ""))
    if has(volume, "ephemeral") and has(volume["ephemeral"], "volumeClaimTemplate"):
        claim = volume["ephemeral"]["volumeClaimTemplate"]
        child(claim, "metadata")
        claim_spec(child(claim, "spec"))
    _downward(volume)


def _downward(volume: Tree) -> None:
    """What files of a volume tell of the pod, and how long a token in it lasts."""
    files = items(volume.get("downwardAPI") or {}, "items")
    for source in items(volume.get("projected") or {}, "sources"):
        files += items(source.get("downwardAPI") or {}, "items")
        if has(source, "serviceAccountToken"):
            absent(source["serviceAccountToken"], "expirationSeconds", _TOKEN_SECONDS)
    for file in files:
        _source(file)


def claim_spec(spec: Tree) -> None:
    absent(spec, "volumeMode", "Filesystem")
    amounts(child(spec, "resources"))


def amounts(resources: Tree) -> None:
    """Limits and requests in thousandths at the finest."""
    if resources:
        for field in ("limits", "requests"):
            _rounded(resources, field)


def _rounded(tree: Tree, field: str) -> None:
    """Rounds amounts up to thousandths; finer ones are written in millionths or billionths."""
    found = tree.get(field)
    if not found:
        return
    for name, value in found.items():
        if isinstance(value, str) and value[-1:] in ("n", "u"):
            number = quantity(value).quantize(_MILLI, ROUND_CEILING)
            found[name] = _written(number)
