"""Defaults that the API server fills in, for the kinds whose defaults somebody can see.

Those of pod templates decide the names of revisions and what counts as a change, so they follow the release exactly:
what is filled in, and what is left out.
"""

from __future__ import annotations

from fairlead.sim import crd_rules, roles, stored, webhook_rules
from fairlead.sim.registry import is_built_in
from fairlead.sim.store import Tree

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_NUMBERS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_MODES = ("secret", "configMap", "downwardAPI", "projected")
_NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
_TOKEN_SECONDS = 3600
_GRACE_SECONDS = 30


def fill(tree: Tree) -> None:
    """Fills in the defaults of the tree's kind, in place; those of custom resources stand in their schemas."""
    filler = _FILLERS.get(tree["kind"])
    if filler is not None and is_built_in(tree):
        filler(tree)


def _unset(tree: Tree, key: str, value: object) -> None:
    """Sets what is absent, empty or zero: such values are not told apart from absent ones."""
    if not tree.get(key):
        tree[key] = value


def _child(tree: Tree, key: str) -> Tree:
    if not isinstance(tree.get(key), dict):
        tree[key] = {}
    child: Tree = tree[key]
    return child


def _items(tree: Tree, key: str) -> list[Tree]:
    return [item for item in tree.get(key) or [] if isinstance(item, dict)]


def _stateful_set(tree: Tree) -> None:
    spec = _child(tree, "spec")
    _unset(spec, "podManagementPolicy", "OrderedReady")
    strategy = _child(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    rolling = strategy.get("rollingUpdate")
    if isinstance(rolling, dict):
        # The feature gate of this field is off by default in the release that is imitated: it vanishes.
        rolling.pop("maxUnavailable", None)
        if strategy["type"] == "RollingUpdate":
            rolling.setdefault("partition", 0)
    retention = _child(spec, "persistentVolumeClaimRetentionPolicy")
    _unset(retention, "whenDeleted", "Retain")
    _unset(retention, "whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("serviceName", "")
    _template(spec)
    for claim in _items(spec, "volumeClaimTemplates"):
        _claim_template(claim)


def _deployment(tree: Tree) -> None:
    spec = _child(tree, "spec")
    spec.setdefault("replicas", 1)
    strategy = _child(spec, "strategy")
    _unset(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = _child(strategy, "rollingUpdate")
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    _template(spec)


def _replica_set(tree: Tree) -> None:
    spec = _child(tree, "spec")
    spec.setdefault("replicas", 1)
    _template(spec)


def _template(spec: Tree) -> None:
    template = _child(spec, "template")
    _child(template, "metadata")
    _pod_spec(_child(template, "spec"))


def _claim_template(claim: Tree) -> None:
    claim.setdefault("kind", "PersistentVolumeClaim")
    claim.setdefault("apiVersion", "v1")
    _unset(_child(claim, "spec"), "volumeMode", "Filesystem")
    _child(claim["spec"], "resources")
    _unset(_child(claim, "status"), "phase", "Pending")


def _pod(tree: Tree) -> None:
    spec = _child(tree, "spec")
    for container in _items(spec, "containers") + _items(spec, "initContainers"):
        resources = _child(container, "resources")
        if limits := resources.get("limits"):
            resources["requests"] = limits | (resources.get("requests") or {})
    spec.setdefault("enableServiceLinks", True)
    _pod_spec(spec)
    if spec.get("hostNetwork"):
        for container in _items(spec, "containers") + _items(spec, "initContainers"):
            for port in _items(container, "ports"):
                _unset(port, "hostPort", port.get("containerPort"))


def _pod_spec(spec: Tree) -> None:
    _unset(spec, "dnsPolicy", "ClusterFirst")
    _unset(spec, "restartPolicy", "Always")
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    spec.setdefault("terminationGracePeriodSeconds", _GRACE_SECONDS)
    _unset(spec, "schedulerName", "default-scheduler")
    _same_account(spec)
    for volume in _items(spec, "volumes"):
        _volume(volume)
    for container in _items(spec, "initContainers") + _items(spec, "containers"):
        _container(container)


def _same_account(spec: Tree) -> None:
    """`serviceAccount` is the old name of `serviceAccountName`; both are always shown, and the new one wins."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _container(container: Tree) -> None:
    _unset(container, "imagePullPolicy", _pull_policy(container.get("image") or ""))
    _unset(container, "terminationMessagePath", "/dev/termination-log")
    _unset(container, "terminationMessagePolicy", "File")
    _child(container, "resources")
    for port in _items(container, "ports"):
        _unset(port, "protocol", "TCP")
    for variable in _items(container, "env"):
        source = variable.get("valueFrom") or {}
        if isinstance(source.get("fieldRef"), dict):
            _unset(source["fieldRef"], "apiVersion", "v1")
        if isinstance(source.get("fileKeyRef"), dict):
            source["fileKeyRef"].setdefault("optional", False)
    for name in _PROBES:
        if isinstance(container.get(name), dict):
            _probe(container[name])
    for hook in ("postStart", "preStop"):
        handler = (container.get("lifecycle") or {}).get(hook) or {}
        if isinstance(handler.get("httpGet"), dict):
            _http_get(handler["httpGet"])


def _pull_policy(image: str) -> str:
    """Always for the tag `latest`, which is implied where neither tag nor digest is given."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _probe(probe: Tree) -> None:
    for key, value in _PROBE_NUMBERS.items():
        _unset(probe, key, value)
    if isinstance(probe.get("httpGet"), dict):
        _http_get(probe["httpGet"])
    if isinstance(probe.get("grpc"), dict):
        probe["grpc"].setdefault("service", "")


def _http_get(action: Tree) -> None:
    _unset(action, "path", "/")
    _unset(action, "scheme", "HTTP")


def _volume(volume: Tree) -> None:
    sources = [key for key, value in volume.items() if key != "name" and value is not None]
    if not sources:
        volume["emptyDir"] = {}
    for name in _MODES:
        if isinstance(volume.get(name), dict):
            volume[name].setdefault("defaultMode", 0o644)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    downward = _items(volume.get("downwardAPI") or {}, "items")
    for source in _items(volume.get("projected") or {}, "sources"):
        downward += _items(source.get("downwardAPI") or {}, "items")
        if isinstance(source.get("serviceAccountToken"), dict):
            source["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
    for item in downward:
        if isinstance(item.get("fieldRef"), dict):
            _unset(item["fieldRef"], "apiVersion", "v1")


def _service(tree: Tree) -> None:
    spec = _child(tree, "spec")
    _unset(spec, "type", "ClusterIP")
    _unset(spec, "sessionAffinity", "None")
    if spec["type"] != "ExternalName":
        _unset(spec, "internalTrafficPolicy", "Cluster")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        _unset(spec, "externalTrafficPolicy", "Cluster")
    for port in _items(spec, "ports"):
        _unset(port, "protocol", "TCP")
        _unset(port, "targetPort", port.get("port"))
    if "status" not in tree:
        tree["status"] = {"loadBalancer": {}}


def _namespace(tree: Tree) -> None:
    name = tree["metadata"].get("name")
    if name:
        _child(tree["metadata"], "labels")["kubernetes.io/metadata.name"] = name
    _unset(_child(tree, "status"), "phase", "Active")


def _event(tree: Tree) -> None:
    for key in ("source", "involvedObject"):
        _child(tree, key)
    for key in ("reportingComponent", "reportingInstance"):
        tree.setdefault(key, "")


def _node(tree: Tree) -> None:
    _child(tree, "spec")
    status = _child(tree, "status")
    status.setdefault("daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
    status.setdefault("nodeInfo", dict.fromkeys(_NODE_INFO, ""))


_FILLERS = {
    "Event": _event,
    "Node": _node,
    "StatefulSet": _stateful_set,
    "Pod": _pod,
    "Service": _service,
    "Namespace": _namespace,
    "ConfigMap": stored.fill_config_map,
    "CustomResourceDefinition": crd_rules.fill,
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "Secret": stored.fill_secret,
    **dict.fromkeys(roles.KINDS, roles.fill),
    **dict.fromkeys(webhook_rules.KINDS, webhook_rules.fill),
}
