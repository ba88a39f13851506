"""Applying a configuration: what is refused, what comes of it, and what kubectl has to do with it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from kubesim.errors import Cause, StatusError, bad_request, internal
from kubesim.kinds.converting import Converting
from kubesim.patches import comparing, field_sets, owners, typecheck
from kubesim.patches.field_sets import NOTHING, Fields, Unreadable, listed, printed
from kubesim.patches.managed_fields import Entries, Subject, bare, came_to_own, entries_of
from kubesim.patches.managers import Manager
from kubesim.patches.owners import APPLY, Owner, Owners, identity
from kubesim.patches.ownership import Conflicts, applied
from kubesim.patches.scale_owners import to_parent, to_scale
from kubesim.store.versions import Tree, timestamp
from kubesim.strategies.subresources import SCALE

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KUBECTL = "kubectl"
_BEFORE = "before-first-apply"
_MOST_ANNOTATIONS = 256 * 1024


def check(subject: Subject, config: Tree) -> None:
    """Checks what is applied; raises in the server's words."""
    resource = SCALE if subject.subresource == "scale" else subject.kind.resource
    said = str(config.get("apiVersion") or ""), str(config.get("kind") or "")
    if said != (resource.api_version, resource.kind):
        raise bad_request(f"invalid object type: {_typed(*said)}")
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if why := typecheck.problem(subject.scope().here(), config):
        where = "/".join(_text_in(metadata, key) for key in ("namespace", "name"))
        raise internal(f"failed to create typed patch object ({where}; {_typed(*said)}): {why}")


def _text_in(metadata: object, key: str) -> str:
    found = metadata.get(key) if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""


def _typed(version: str, kind: str) -> str:
    """A kind as Go prints it."""
    return f"{version if '/' in version else '/' + version}, Kind={kind}"


def apply(
    manager: Manager, subject: Subject, parent: Tree, live: Tree, config: Tree
) -> Converting[tuple[Tree, Entries]]:
    """The object, or what is seen of it, after a checked configuration was applied, and the entries; may be refused."""
    try:
        whole = owners.read(entries_of(parent))
    except Unreadable as error:
        raise internal(f"failed to decode managed fields: {error}") from None
    if subject.subresource == "scale":
        return (yield from _applied_scale(manager, subject, whole, live, config))
    known = whole or (yield from came_to_own(_BEFORE, subject, subject.blank(), live, {}))
    new, found = yield from _applied(manager, subject, bare(live), config, known)
    return _with_last_applied(manager, bare(live) if new is None else new, config), owners.written(found)


def _applied_scale(
    manager: Manager, subject: Subject, whole: Owners, live: Tree, config: Tree
) -> Converting[tuple[Tree, Entries]]:
    """The same for a Scale; for that of a custom resource the server fails as soon as there is something to do."""
    known = to_scale(whole, subject.replicas())
    if not known:
        if subject.kind.custom is not None:
            raise _no_scale("create manager for existing fields: failed to convert live object", {})
        known = yield from came_to_own(_BEFORE, subject, subject.blank(), live, {})
    new, found = yield from _applied(manager, subject, bare(live), config, known)
    if new is not None and subject.kind.custom is not None:
        raise _no_scale("convert new object", config.get("metadata") or {})
    found = to_parent(whole, found, subject.replicas(), subject.kind.resource.api_version)
    return bare(live) if new is None else new, owners.written(found)


def _no_scale(doing: str, metadata: Tree) -> StatusError:
    version = SCALE.api_version
    which = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {_typed(version, SCALE.kind)}"
    why = f"request to convert CR to an invalid group/version: {version}"
    return internal(f"failed to {doing} ({which}) to proper version: {why}")


def applied_new(manager: Manager, subject: Subject, config: Tree) -> Converting[Entries]:
    """The entries of an object that a checked configuration creates."""
    _, found = yield from _applied(manager, subject, subject.blank(), config, {})
    return owners.written(found)


def _applied(
    manager: Manager, subject: Subject, live: Tree, config: Tree, known: Owners
) -> Converting[tuple[Tree | None, Owners]]:
    me = Owner(manager.name, APPLY, subject.version, NOTHING, subject.subresource)
    force = manager.force
    try:
        new, found = yield from applied(subject.scope(), live, config, known, me, force=force)
    except Conflicts as conflicts:
        left = _without_allowed(manager, subject, live, conflicts.fields)
        if left:
            raise _refusal(known, left) from None
        new, found = yield from applied(subject.scope(), live, config, known, me, force=True)
    key = identity(me.manager, me.operation, "", me.subresource)
    if new is not None and key in found:
        found[key] = replace(found[key], time=timestamp())
    return new, found


def _refusal(known: Owners, conflicts: dict[str, Fields]) -> StatusError:
    """Who is in the way, and where."""
    found = {name: listed(conflicts[name]) for name in sorted(conflicts)}
    causes = [
        Cause("FieldManagerConflict", f"conflict with {owners.described(known[name])}", printed(path))
        for name, paths in found.items()
        for path in paths
    ]
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lines = [
            line
            for name, paths in found.items()
            for line in (f"conflicts with {owners.described(known[name])}:", *(f"- {printed(path)}" for path in paths))
        ]
        message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", message, {"causes": [cause.tree() for cause in causes]})


# Objects that kubectl applied on the client's side before


def _without_allowed(manager: Manager, subject: Subject, live: Tree, conflicts: dict[str, Fields]) -> dict[str, Fields]:
    """The conflicts that remain when kubectl takes over what it has applied itself on the client's side."""
    if manager.name != _KUBECTL:
        return conflicts
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    place = subject.scope().here()
    try:
        last = msgspec.json.decode(text or "", type=Tree)
    except msgspec.DecodeError:
        return conflicts
    if last.get("apiVersion") != subject.version or typecheck.problem(place, last):
        return conflicts
    change = comparing.compare(place, last, live)
    allowed = comparing.fields_of(place, last) - change.modified - change.added - change.removed
    left = {name: fields - allowed for name, fields in conflicts.items()}
    return {name: fields for name, fields in left.items() if fields}


def _with_last_applied(manager: Manager, tree: Tree, config: Tree) -> Tree:
    """Keeps what kubectl compares with on the client's side in step, where there is such an annotation."""
    metadata = tree.get("metadata") or {}
    if manager.name != _KUBECTL or not (metadata.get("annotations") or {}).get(LAST_APPLIED):
        return tree
    said = dict(config.get("metadata") or {})
    if "annotations" in said:
        said["annotations"] = {key: value for key, value in said["annotations"].items() if key != LAST_APPLIED}
    annotations = dict(metadata["annotations"])
    annotations[LAST_APPLIED] = field_sets.text(config | {"metadata": said}) + "\n"
    if sum(len(key.encode()) + len(str(value).encode()) for key, value in annotations.items()) > _MOST_ANNOTATIONS:
        del annotations[LAST_APPLIED]
    return tree | {"metadata": metadata | {"annotations": annotations}}
