"""Converting every object without a webhook: read in the old version, written in the new one (section 3.7).

Before the first write the old object is on the disk, and after each write how far it is. What somebody finds after a
crash tells what was done: an object that still has the version that was saved was not written; one that has another
was written by this upgrade if some of its fields are the upgrade's, and by somebody else if none is.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from fairlead.contracts.apiversions.decide.convert import ConversionRefused, KindConversion, convert
from fairlead.contracts.apiversions.decide.offline import object_parts
from fairlead.contracts.apiversions.decide.offline.backup_format import path_of
from fairlead.contracts.apiversions.decide.offline.step_context import StepContext
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import MANAGER, UpgradeOutcome, UpgradePhase
from fairlead.contracts.apiversions.decide.offline.walks import Unfit
from fairlead.contracts.apiversions.decide.trees import Tree, copied, same
from fairlead.core.act import Does, Replace
from fairlead.core.ask import Ask, Bad, Good, Read
from kubeloop.schemas.structural import Node, take_in

SPEC_WRITTEN, DONE = "spec-written", "done"


def converting(context: StepContext) -> UpgradeOutcome:
    """One page of objects, in the old version."""
    return context.walk(
        context.world.old.resource,
        lambda item: Conversion(context, item).walk(),
        "convert_page",
        lambda after: after.enter(UpgradePhase.CONVERTED),
    )


def comparing(context: StepContext) -> UpgradeOutcome:
    """One page of objects, in the new version: each is what its conversion comes to."""
    return context.walk(
        context.world.new.resource,
        lambda item: _compared(context, item),
        "compare_page",
        lambda after: after.enter(UpgradePhase.PRUNED),
    )


class Conversion:
    """One object, on its way."""

    def __init__(self, context: StepContext, item: Tree) -> None:
        self._scene, self._item = context, item
        self._path = path_of_tree(item)
        self._uid = item["metadata"]["uid"]

    def walk(self) -> str:
        """`done`; or `again`, where the next walk must see what has become of it."""
        saved, version = saved_of(self._scene, self._path, self._uid)
        state, state_version = state_of(self._scene, self._path, self._uid)
        if state is not None and state["state"] == DONE:
            return "done"
        if saved is None:
            return self._fresh(version, state_version)
        wanted = expected(self._scene, saved["old"])
        if state is not None and state["state"] == SPEC_WRITTEN:
            return self._after_main(wanted, self._live(), state_version)
        if _version(saved["old"]) == _version(self._item):
            return self._main(wanted, saved["old"], state_version)
        return self._in_doubt(wanted, saved["old"], version, state_version)

    def _in_doubt(self, wanted: Tree, old: Tree, version: str, state_version: str) -> str:
        """Somebody has written it since it was saved, and maybe it was this upgrade."""
        live = self._live()
        is_ours = object_parts.managers(live, of=MANAGER) != object_parts.managers(old, of=MANAGER)
        if is_ours or self._scene.world.new.same_main(wanted, live):
            return self._after_main(wanted, live, self._note(SPEC_WRITTEN, live, state_version))
        if self._scene.journal.freeze:
            raise Unfit("somebody wrote it although it is frozen: find out who, then run the command again")
        return self._fresh(version, state_version)

    def _fresh(self, version: str, state_version: str) -> str:
        if is_new(self._scene, self._item):
            return "left"
        wanted = expected(self._scene, self._item)
        status = wanted.get("status")
        self._scene.note(f"saved/{self._path}", version, {"old": self._item, "status": status})
        return self._main(wanted, self._item, state_version)

    def _main(self, wanted: Tree, old: Tree, state_version: str) -> str:
        live = self._written(object_parts.over(wanted, old), old, "")
        if live is None:
            return "again"
        return self._after_main(wanted, live, self._note(SPEC_WRITTEN, live, state_version))

    def _after_main(self, wanted: Tree, live: Tree, state_version: str) -> str:
        written: Tree | None = live
        if not self._scene.world.new.same_status(wanted, live):
            written = self._written(object_parts.with_status(wanted, live), live, "status")
        if written is None:
            return "again"
        self._note(DONE, written, state_version)
        return "done"

    def _written(self, body: bytes, before: Tree, subresource: str) -> Tree | None:
        """The object after the write; None where it must be looked at again."""
        write = Replace(
            ref=self._scene.world.new.ref(self._item),
            body=body,
            resource_version=_version(before),
            subresource=subresource,
            does=Does.CONVERT_OBJECT,
            change_from=self._scene.journal.old,
            change_to=self._scene.journal.new,
            manager=MANAGER,
        )
        match self._scene.told(write):
            case Good(answer):
                tree: Tree = msgspec.json.decode(answer)
                return tree
            case Bad("conflict" | "absent"):
                return None
            case Bad(kind, text):
                raise Unfit(text or kind)

    def _live(self) -> Tree:
        ref = self._scene.world.new.ref(self._item)
        tree: Tree = msgspec.json.decode(self._scene.good(Ask(Read(ref))).value)
        return tree

    def _note(self, state: str, live: Tree, version: str) -> str:
        value = {"state": state, "uid": self._uid, "resourceVersion": _version(live)}
        return self._scene.note(f"state/{self._path}", version, value)


def path_of_tree(tree: Tree) -> str:
    return path_of(tree["metadata"].get("namespace") or "", tree["metadata"]["name"])


def saved_of(context: StepContext, path: str, uid: str) -> tuple[Any, str]:
    """What was saved of this very object, and the version of the record."""
    saved, version = context.record(f"saved/{path}")
    return (saved if saved and saved["old"]["metadata"]["uid"] == uid else None), version


def state_of(context: StepContext, path: str, uid: str) -> tuple[Any, str]:
    state, version = context.record(f"state/{path}")
    return (state if state and state["uid"] == uid else None), version


def expected(context: StepContext, old: Tree) -> Tree:
    journal = context.journal
    return in_version(old, journal.new, context.world.kind, journal.old if journal.remove else "")


def in_version(tree: Tree, version: str, kind: KindConversion, without: str = "") -> Tree:
    """The object as the server will have it in the version, without what is carried for one that is to be removed;
    raises Unfit where something would be lost."""
    try:
        found = convert(tree, version, kind).tree
    except ConversionRefused as error:
        raise Unfit(f"it cannot be converted: {error}") from None
    if without:
        found = object_parts.without_carried(found, without)
    made: Tree = copied(found)
    schema: Node = kind.hub.schema if version == kind.hub.name else kind.spokes[version].version.schema
    if unknown := take_in(made, schema):
        raise Unfit(f"{version} would lose {', '.join(unknown[:5])}")
    return made


def is_new(context: StepContext, item: Tree) -> bool:
    """Whether somebody made it after the new version was there, and in that one."""
    since = context.journal.introduced_at
    if since is None or context.journal.freeze:
        return False
    created = datetime.fromisoformat(item["metadata"]["creationTimestamp"])
    if created < since.replace(microsecond=0):
        return False
    entries = item["metadata"].get("managedFields") or ()
    named = {each.get("apiVersion") for each in entries if "f:spec" in (each.get("fieldsV1") or {})}
    return named == {context.world.new.resource.api_version}


def _compared(context: StepContext, item: Tree) -> str:
    path, uid = path_of_tree(item), item["metadata"]["uid"]
    saved, _ = saved_of(context, path, uid)
    state, _ = state_of(context, path, uid)
    if saved is None or state is None:
        if context.journal.freeze:
            raise Unfit("somebody made it although objects are frozen: find out who, then run the command again")
        return "left"
    wanted, parts = expected(context, saved["old"]), context.world.new
    if parts.same_main(wanted, item) and parts.same_status(wanted, item):
        return "done"
    if _version(item) != state["resourceVersion"] and not context.journal.freeze:
        return "left"  # somebody has changed it since, which is their right
    raise Unfit(f"it is not what its conversion comes to: see {difference(wanted, item)}")


def difference(one: Tree, other: Tree) -> str:
    """The first place at which two objects differ, without what is there."""
    for key in sorted((one.keys() | other.keys()) - {"apiVersion", "kind", "metadata"}):
        if not same(one.get(key), other.get(key)):
            if isinstance(one.get(key), dict) and isinstance(other.get(key), dict):
                return f"/{key}{difference(one[key], other[key])}"
            return f"/{key}"
    return "/metadata" if "metadata" in one else ""


def _version(tree: Tree) -> str:
    return str(tree["metadata"]["resourceVersion"])
