"""What the server's own admission adds to new objects: accounts and tokens, priorities, limits, tolerations, classes.

Accounts are kept by a controller. In a namespace without the account `default` nobody keeps them, and pods are taken as
by a server without this admission: as they are, with whichever account they name. Where there is a `default`, a pod
without the account that it names is refused, and one with it gets the volume with its token.
"""

from __future__ import annotations

import copy

from kubesim.errors import forbidden
from kubesim.kinds.registry import CLAIMS, INGRESS_CLASSES, LIMIT_RANGES, PODS, PRIORITY_CLASSES, SERVICE_ACCOUNTS
from kubesim.plugins.limit_ranger import admit_claim, admit_pod
from kubesim.plugins.storage import assign_class
from kubesim.rules.volumes import TOKENS
from kubesim.store.store import Store
from kubesim.store.versions import Tree, Version

_NOT_READY = ("node.kubernetes.io/not-ready", "NoSchedule")
_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
_POLICY = "PreemptLowerPriority"
_MIRROR = "kubernetes.io/config.mirror"
_PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_DEFAULT_INGRESS = "ingressclass.kubernetes.io/is-default-class"
_OLD_INGRESS_CLASS = "kubernetes.io/ingress.class"


def alone(tree: Tree) -> None:
    """What an object gets whatever else is in the cluster."""
    if tree["kind"] == "Node":
        _keep_away(tree.setdefault("spec", {}))
    elif tree["kind"] == "Pod":
        tolerate(tree["spec"])
        if not tree["spec"].get("priorityClassName"):
            tree["spec"].setdefault("preemptionPolicy", _POLICY)


def _keep_away(spec: Tree) -> None:
    """Has nobody put pods on a new node until somebody says that it is ready."""
    taints: list[Tree] = spec.get("taints") or []
    if not any((each.get("key"), each.get("effect")) == _NOT_READY for each in taints):
        spec["taints"] = [*taints, dict(zip(("key", "effect"), _NOT_READY, strict=True))]


def among(tree: Tree, store: Store) -> None:
    """What an object gets because of others; raises when they do not allow it."""
    match tree["kind"]:
        case "Pod":
            ranges = _ranges(store, tree)
            if ranges:
                admit_pod(tree, ranges)
            _account(tree, store)
            _priority(tree, store)
        case "PersistentVolumeClaim":
            assign_class(tree, store)
            admit_claim(tree, _ranges(store, tree), CLAIMS)
        case "Ingress":
            notes = tree["metadata"].get("annotations") or {}
            if tree["spec"].get("ingressClassName") is None and _OLD_INGRESS_CLASS not in notes:
                _assign_ingress_class(tree["spec"], store)


def tolerate(spec: Tree) -> None:
    """Has a pod stay for a while on a node that does not answer, unless it says for how long."""
    tolerations: list[Tree] = spec.get("tolerations") or []
    missing = [key for key in _TOLERATED if not any(_tolerates(each, key) for each in tolerations)]
    if missing:
        spec["tolerations"] = tolerations + [{"key": key} | _TOLERATION for key in missing]


def _tolerates(toleration: Tree, key: str) -> bool:
    return (toleration.get("key") or key) == key and (toleration.get("effect") or "NoExecute") == "NoExecute"


def _ranges(store: Store, tree: Tree) -> list[Tree]:
    """Limits of the object's namespace."""
    live = store.table(LIMIT_RANGES).live
    if not live:
        return []
    namespace = tree["metadata"].get("namespace") or ""
    return [live[key].tree() for key in sorted(live) if key[0] == namespace]


# Accounts


def _account(tree: Tree, store: Store) -> None:
    spec, metadata = tree["spec"], tree["metadata"]
    live, namespace = store.table(SERVICE_ACCOUNTS).live, metadata.get("namespace") or ""
    if (namespace, "default") not in live or _MIRROR in (metadata.get("annotations") or {}):
        return
    name = spec.get("serviceAccountName") or "default"
    found = live.get((namespace, name))
    if found is None:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise forbidden(PODS, metadata.get("name") or "", why)
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = _remembered(found)
    mounts = spec.get("automountServiceAccountToken")
    if mounts is None:
        mounts = account.get("automountServiceAccountToken")
    if mounts is not False:
        _mount(spec, store)
    if account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = copy.deepcopy(account["imagePullSecrets"])


def _remembered(found: Version) -> Tree:
    """What an account says about its pods; most say nothing."""
    said = b"automountServiceAccountToken" in found.body or b"imagePullSecrets" in found.body
    return found.tree() if said else {}


def _mount(spec: Tree, store: Store) -> None:
    """Has every container find the token of the account, in a volume of its own."""
    volumes = spec.get("volumes") or []
    known = next((each["name"] for each in volumes if (each.get("name") or "").startswith(TOKENS)), "")
    without = [
        container
        for group in ("initContainers", "containers")
        for container in spec.get(group) or []
        if not any(mount.get("mountPath") == _PLACE for mount in container.get("volumeMounts") or [])
    ]
    if not without:
        return
    name = known or new_token_volume(store)
    for container in without:
        mount = {"name": name, "readOnly": True, "mountPath": _PLACE}
        container["volumeMounts"] = [*(container.get("volumeMounts") or []), mount]
    if not known:
        spec["volumes"] = [*volumes, {"name": name, "projected": _token()}]


def new_token_volume(store: Store) -> str:
    """The name of a volume for a token."""
    draws = store.draws("token volume")
    return TOKENS + "".join(_SUFFIX[draws.below(len(_SUFFIX))] for _ in range(_SUFFIX_LENGTH))


def _token() -> Tree:
    """A token for the API server, whom to trust as one, and which namespace this is."""
    place = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": authority},
            {"downwardAPI": {"items": [place]}},
        ],
        "defaultMode": 0o644,
    }


# Priorities and classes


def _priority(tree: Tree, store: Store) -> None:
    spec, name = tree["spec"], tree["metadata"].get("name") or ""
    wanted, value, policy = spec.get("priorityClassName") or "", 0, _POLICY
    live = store.table(PRIORITY_CLASSES).live
    if not wanted and live:
        wanted = _default_priority(live)
    found = live.get(("", wanted)) if wanted else None
    if found is not None:
        said = found.tree()
        value, policy = said.get("value") or 0, said.get("preemptionPolicy") or _POLICY
    elif wanted:
        raise forbidden(PODS, name, f"no PriorityClass with name {wanted} was found")
    if wanted:
        spec["priorityClassName"] = wanted
    computed = "must not be provided in pod spec; priority admission controller computed"
    if spec.get("priority", value) != value:
        why = f"the integer value of priority ({spec['priority']}) {computed} {value} from the given PriorityClass name"
        raise forbidden(PODS, name, why)
    if spec.get("preemptionPolicy", policy) != policy:
        why = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) {computed} {policy}"
        raise forbidden(PODS, name, f"{why} from the given PriorityClass name")
    spec["priority"], spec["preemptionPolicy"] = value, policy


def _default_priority(live: dict[tuple[str, str], Version]) -> str:
    """The class of pods that name none: of several the lowest."""
    classes = [version.tree() for version in live.values() if b'"globalDefault":true' in version.body]
    lowest = min(classes, key=lambda each: (each.get("value") or 0, each["metadata"]["name"]), default=None)
    return str(lowest["metadata"]["name"]) if lowest is not None else ""


def _assign_ingress_class(spec: Tree, store: Store) -> None:
    """Names the class that is marked as the default one: of several the newest, then the first by name."""
    live = store.table(INGRESS_CLASSES).live.values()
    classes = (version.tree()["metadata"] for version in live if b"is-default-class" in version.body)
    marked = [each for each in classes if (each.get("annotations") or {}).get(_DEFAULT_INGRESS) == "true"]
    marked.sort(key=lambda each: str(each["name"]))
    if marked:
        spec["ingressClassName"] = max(marked, key=lambda each: str(each["creationTimestamp"]))["name"]
