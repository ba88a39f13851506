"""Rules for pods and templates of pods, and for what may change of a pod that is there."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kubesim.errors import Cause, not_allowed, required, wrong
from kubesim.rules import scheduling
from kubesim.rules.containers import Surroundings, containers, init_containers, seccomp
from kubesim.rules.labels import annotated, labels
from kubesim.rules.resources import pod_level
from kubesim.rules.volumes import TOKENS, volumes
from kubesim.schema.values import (
    IMMUTABLE,
    address,
    chosen,
    each,
    identity,
    label,
    one_of,
    qualified,
    subdomain,
    within,
)
from kubesim.store.versions import Tree

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST_SERVERS = 3
_MOST_SEARCHES = 32
_MOST_NUMBER = 2**31 - 1
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_CHANGEABLE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
_FIXED_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_REMEMBERED = 500
_sound: dict[bytes, None] = {}
_encode = msgspec.json.Encoder().encode
_SPACES = "must not have leading or trailing whitespace"
_KNOWN_CONDITIONS = ("PodScheduled", "Ready", "Initialized")


def pod(tree: Tree) -> Iterator[Cause]:
    """Rules of a pod, new or changed."""
    spec = tree.get("spec") or {}
    yield from _notes(tree["metadata"].get("annotations"), "metadata.annotations")
    yield from pod_spec(spec, "spec", is_pod=True)
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            image = container.get("image") or ""
            if image != image.strip():
                yield wrong(f"spec.{group}[{index}].image", image, _SPACES)


def new_pod(tree: Tree) -> Iterator[Cause]:
    """Rules that hold only when a pod is made."""
    yield from pod(tree)
    spec = tree.get("spec") or {}
    if spec.get("ephemeralContainers"):
        yield not_allowed("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield not_allowed("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def template(found: Tree, at: str) -> Iterator[Cause]:
    """Rules of a template of pods."""
    yield from template_marks(found.get("metadata") or {}, at)
    yield from pod_spec(found.get("spec") or {}, f"{at}.spec")
    if (found.get("spec") or {}).get("ephemeralContainers"):
        yield not_allowed(f"{at}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def template_marks(metadata: Tree, at: str) -> Iterator[Cause]:
    """Labels and annotations of a template; the server leaves out that they are metadata."""
    if metadata.get("labels"):
        yield from labels(metadata["labels"], f"{at}.labels")
    if metadata.get("annotations"):
        yield from annotated(metadata["annotations"], f"{at}.annotations")
        yield from _notes(metadata["annotations"], f"{at}.annotations")


def _notes(notes: dict[str, str] | None, at: str) -> Iterator[Cause]:
    cost = (notes or {}).get(_DELETION_COST)
    if cost is not None and not _is_number(cost):
        yield wrong(f"{at}[{_DELETION_COST}]", cost, "must be a 32bit integer")


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and abs(int(text)) <= _MOST_NUMBER and str(int(text)) == text


def pod_spec(spec: Tree, at: str, *, is_pod: bool = False) -> Iterator[Cause]:
    """Rules of what a pod is to be, in the order in which the server has them."""
    mountable, causes = volumes(spec["volumes"], f"{at}.volumes") if spec.get("volumes") else ({}, [])
    yield from causes
    around = Surroundings(
        mountable,
        tuple(claim.get("name") or "" for claim in spec.get("resourceClaims") or ()),
        spec.get("terminationGracePeriodSeconds"),
        spec.get("restartPolicy") or "",
        spec.get("hostUsers") is not False,
    )
    yield from _containers(spec, around, at)
    if spec.get("resources"):
        yield from pod_level(spec, at)
    if spec.get("hostNetwork"):
        yield from _host_ports(spec.get("containers") or [], f"{at}.containers", is_pod)
    yield from one_of(spec.get("restartPolicy"), ("Always", "OnFailure", "Never"), f"{at}.restartPolicy")
    yield from one_of(spec.get("dnsPolicy"), _DNS_POLICIES, f"{at}.dnsPolicy")
    if spec.get("nodeSelector"):
        yield from labels(spec["nodeSelector"], f"{at}.nodeSelector")
    if rights := spec.get("securityContext"):
        yield from _rights(rights, f"{at}.securityContext")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield wrong(f"{at}.securityContext.shareProcessNamespace", spec["shareProcessNamespace"], text)
    if spec.get("affinity"):
        yield from scheduling.affinity(spec["affinity"], f"{at}.affinity")
    yield from _dns(spec, f"{at}.dnsConfig")
    yield from _placed(spec, at)
    yield from _named(spec, at)


def _containers(spec: Tree, around: Surroundings, at: str) -> list[Cause]:
    """Rules of containers; those that broke none are remembered, because pods come in numbers and alike."""
    regular, first = spec.get("containers") or [], spec.get("initContainers") or []
    volumes_found = [(name, *volume) for name, volume in around.volumes.items()]
    alike = _encode((regular, first, volumes_found, around.claims, around.grace, around.host_users))
    for name in around.volumes:
        if name.startswith(TOKENS):
            alike = alike.replace(name.encode(), TOKENS.encode())
    if alike in _sound:
        return []
    causes = list(containers(regular, around, f"{at}.containers"))
    causes += init_containers(first, regular, around, f"{at}.initContainers")
    if not causes:
        _sound[alike] = None
        if len(_sound) > _REMEMBERED:
            del _sound[next(iter(_sound))]
    return causes


def _placed(spec: Tree, at: str) -> Iterator[Cause]:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        yield from each(qualified, gate.get("conditionType") or "", f"{at}.readinessGates[{index}].conditionType")
    if spec.get("schedulingGates"):
        yield from scheduling.gates(spec["schedulingGates"], f"{at}.schedulingGates")
    if spec.get("topologySpreadConstraints"):
        yield from scheduling.spread(spec["topologySpreadConstraints"], f"{at}.topologySpreadConstraints")


def _named(spec: Tree, at: str) -> Iterator[Cause]:
    """Names and the rest, which need no look around."""
    for key, check in (("serviceAccountName", subdomain), ("nodeName", subdomain)):
        if spec.get(key):
            yield from each(check, spec[key], f"{at}.{key}")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        yield from within(deadline, 1, _MOST_NUMBER, f"{at}.activeDeadlineSeconds")
    for key in ("hostname", "subdomain"):
        if spec.get(key):
            yield from each(label, spec[key], f"{at}.{key}")
    if spec.get("tolerations"):
        yield from scheduling.tolerations(spec["tolerations"], f"{at}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        path = f"{at}.hostAliases[{index}]"
        yield from each(address, alias.get("ip") or "", f"{path}.ip")
        for number, name in enumerate(alias.get("hostnames") or ()):
            yield from each(subdomain, name, f"{path}.hostnames[{number}]")
    for key in ("priorityClassName", "runtimeClassName"):
        if spec.get(key):
            yield from each(subdomain, spec[key], f"{at}.{key}")
    yield from chosen(spec.get("preemptionPolicy"), ("PreemptLowerPriority", "Never"), f"{at}.preemptionPolicy")
    system = spec.get("os")
    if system is not None:
        yield from one_of(system.get("name"), ("linux", "windows"), f"{at}.os.name")


def _host_ports(found: list[Tree], at: str, is_pod: bool) -> Iterator[Cause]:
    """A pod in the network of its node has its ports there; a template may leave that to the pod."""
    for index, container in enumerate(found):
        for number, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (is_pod or host) and host != (port.get("containerPort") or 0):
                text = "must match `containerPort` when `hostNetwork` is true"
                yield wrong(f"{at}[{index}].ports[{number}].hostPort", host, text)


def _rights(rights: Tree, at: str) -> Iterator[Cause]:
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        if rights.get(key) is not None:
            yield from identity(rights[key], f"{at}.{key}")
    for index, group in enumerate(rights.get("supplementalGroups") or ()):
        yield from identity(group, f"{at}.supplementalGroups[{index}]")
    policies = ("Always", "OnRootMismatch")
    yield from chosen(rights.get("fsGroupChangePolicy"), policies, f"{at}.fsGroupChangePolicy")
    yield from seccomp(rights.get("seccompProfile"), f"{at}.seccompProfile")
    yield from chosen(rights.get("supplementalGroupsPolicy"), ("Merge", "Strict"), f"{at}.supplementalGroupsPolicy")


def _dns(spec: Tree, at: str) -> Iterator[Cause]:
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(at, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{at}.nameservers", text)
            return
    if config is None:
        return
    if len(servers) > _MOST_SERVERS:
        yield wrong(f"{at}.nameservers", servers, f"must not have more than {_MOST_SERVERS} nameservers")
    for index, server in enumerate(servers):
        yield from each(address, server, f"{at}.nameservers[{index}]")
    searches = config.get("searches") or []
    if len(searches) > _MOST_SEARCHES:
        yield wrong(f"{at}.searches", searches, f"must not have more than {_MOST_SEARCHES} search paths")
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield required(f"{at}.options[{index}]", "must not be empty")


# Changes


def changed_pod(old: Tree, new: Tree) -> Iterator[Cause]:
    """What may change of a pod: images, a deadline that comes nearer, more tolerations, fewer gates."""
    before, after = old["spec"], new["spec"]
    for group in ("containers", "initContainers"):
        if len(before.get(group) or ()) != len(after.get(group) or ()):
            yield not_allowed(f"spec.{group}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(after.get(group) or ()):
            image = container.get("image") or ""
            if not image:
                yield required(f"spec.{group}[{index}].image")
            if image != image.strip():
                yield wrong(f"spec.{group}[{index}].image", image, _SPACES)
    yield from _deadline(before.get("activeDeadlineSeconds"), after.get("activeDeadlineSeconds"))
    tolerated = after.get("tolerations") or [], before.get("tolerations") or []
    yield from scheduling.only_more(*tolerated, "spec.tolerations")
    known = [gate.get("name") for gate in before.get("schedulingGates") or ()]
    for index, gate in enumerate(after.get("schedulingGates") or ()):
        if gate.get("name") not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield not_allowed(f"spec.schedulingGates[{index}].name", text)
    if before != after and _fixed(before, after, gated=bool(known)) != _fixed(after, after, gated=bool(known)):
        yield not_allowed("spec", _FIXED_TEXT)


def _deadline(before: int | None, after: int | None) -> Iterator[Cause]:
    at = "spec.activeDeadlineSeconds"
    if after is None:
        if before is not None:
            yield wrong(at, None, "must not update from a positive integer to nil value")
    elif not 0 <= after <= _MOST_NUMBER:
        yield from within(after, 0, _MOST_NUMBER, at)
    elif before is not None and before < after:
        yield wrong(at, after, "must be less than or equal to previous value")


def _fixed(spec: Tree, after: Tree, *, gated: bool) -> Tree:
    """A pod's spec without what may change; where it goes may change while gates hold it back."""
    loose = (*_CHANGEABLE, "nodeSelector", "affinity") if gated else _CHANGEABLE
    fixed = {key: value for key, value in spec.items() if key not in loose}
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0 and after.get("terminationGracePeriodSeconds") == 1:
        fixed["terminationGracePeriodSeconds"] = 1
    for group in ("containers", "initContainers"):
        if group in fixed:
            fixed[group] = [{key: value for key, value in item.items() if key != "image"} for item in fixed[group]]
    return fixed


def pod_status(old: Tree, new: Tree) -> Iterator[Cause]:
    """What a status of a pod may say."""
    before, after = old.get("status") or {}, new.get("status") or {}
    for index, condition in enumerate(after.get("conditions") or ()):
        if condition.get("type") not in _KNOWN_CONDITIONS:
            yield from each(qualified, condition.get("type") or "", f"status.conditions[{index}].Type")
    if after.get("qosClass") != before.get("qosClass"):
        yield wrong("status.qosClass", after.get("qosClass") or "", IMMUTABLE)
    if after.get("podIPs") != before.get("podIPs"):
        for index, entry in enumerate(after.get("podIPs") or ()):
            yield from each(address, entry.get("ip") or "", f"status.podIPs[{index}]")
    yield from _ended(old, new)


def _ended(old: Tree, new: Tree) -> Iterator[Cause]:
    """A container that has ended stays so where it is not to be restarted."""
    policy = old["spec"].get("restartPolicy")
    if policy == "Always":
        return
    known = {each_.get("name"): each_ for each_ in (old.get("status") or {}).get("containerStatuses") or ()}
    for index, status in enumerate((new.get("status") or {}).get("containerStatuses") or ()):
        ended = ((known.get(status.get("name")) or {}).get("state") or {}).get("terminated")
        if ended is None or (policy == "OnFailure" and ended.get("exitCode")):
            continue
        if (status.get("state") or {}).get("terminated") is None:
            text = "may not be transitioned to non-terminated state"
            yield not_allowed(f"status.containerStatuses[{index}].state", text)
