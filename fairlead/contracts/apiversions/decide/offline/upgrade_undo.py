"""Undoing an offline upgrade: every object as it was saved, in the old version, and the definition of before.

Objects that somebody has made meanwhile are converted back by the rules; what that comes to is saved before the first
write as well, because afterwards nobody could tell in which version their fields are.
"""

from __future__ import annotations

import msgspec

from fairlead.contracts.apiversions.decide.offline import object_parts
from fairlead.contracts.apiversions.decide.offline.object_conversion import in_version, is_new, path_of_tree, saved_of
from fairlead.contracts.apiversions.decide.offline.object_restore import managers_patch
from fairlead.contracts.apiversions.decide.offline.step_context import StepContext
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import MANAGER, UpgradeOutcome, UpgradePhase, noted
from fairlead.contracts.apiversions.decide.offline.upgraded_definitions import has_version, reverted, reverting
from fairlead.contracts.apiversions.decide.offline.walks import Unfit
from fairlead.contracts.apiversions.decide.trees import Tree, same
from fairlead.core.act import Does, Replace
from fairlead.core.ask import Ask, Bad, Good, Read


def revert(context: StepContext) -> UpgradeOutcome:
    """The old version is served and the storage version, and the new one is served still."""
    world, journal = context.world, context.journal
    if not has_version(context.definition(), journal.new):
        return context.enter(UpgradePhase.DISOWNED)  # it was never introduced, or is gone already
    context.define(lambda live: reverting(live, world.before, world.wanted, journal.new, journal.old), "old storage")
    if not context.serves(journal.old, journal.new):
        return context.wait("await_old_version", about=context.lacks_versions)
    return context.enter(UpgradePhase.RESTORING)


def restoring(context: StepContext) -> UpgradeOutcome:
    """One page of objects; a walk in which nothing had to be written is the proof, and ends it."""
    return context.walk(
        context.world.new.resource,
        lambda item: _restored(context, item),
        "restore_page",
        lambda after: after.enter(UpgradePhase.DISOWNED),
    )


def take_back(context: StepContext) -> UpgradeOutcome:
    """The definition as it was before, unless objects may be stored in the new version still."""
    world, journal = context.world, context.journal
    live = context.definition()
    stored = set((live.get("status") or {}).get("storedVersions") or ())
    known = {each["name"] for each in world.before["spec"]["versions"]}
    if not stored <= known:
        left = ", ".join(sorted(stored - known))
        text = f"{left} stays in {journal.crd}, because objects may be stored in it: `fairlead api migrate` clears it"
        return StepContext(context.seen, context.now, noted(journal, text)).enter(UpgradePhase.RESTARTED)
    context.define(lambda found: reverted(found, world.before, world.wanted), "as before")
    return context.enter(UpgradePhase.RESTARTED)


def _restored(context: StepContext, item: Tree) -> str:
    parts, path, uid = context.world.old, path_of_tree(item), item["metadata"]["uid"]
    saved, version = saved_of(context, path, uid)
    if saved is None and not is_new(context, item):
        return "done"  # nobody has written it
    if saved is None:
        old = in_version(item, context.journal.old, context.world.kind)
        saved = {"old": {**old, "metadata": {**old["metadata"], "managedFields": []}}, "status": item.get("status")}
        context.note(f"saved/{path}", version, saved)
    wanted: Tree = saved["old"]
    match context.told(Ask(Read(parts.ref(item)))):
        case Bad("absent"):
            return "done"
        case Bad(kind, text):
            raise Unfit(text or kind)
        case Good(body):
            live: Tree = msgspec.json.decode(body)
    wanted = object_parts.with_held_finalizers(wanted, live)
    if not parts.same_main(wanted, live):
        _write(context, object_parts.over(wanted, live), live, "")
        return "again"
    if not parts.same_status(wanted, live):
        _write(context, object_parts.with_status(wanted, live), live, "status")
        return "again"
    managed = object_parts.managers(wanted, but=MANAGER)
    if managed and not same(managed, live["metadata"].get("managedFields")):
        answer = context.told(managers_patch(parts.ref(item), managed, live))
        if isinstance(answer, Bad) and answer.kind not in ("conflict", "absent"):
            raise Unfit(answer.text or answer.kind)
        return "again"
    return "done"


def _write(context: StepContext, body: bytes, live: Tree, subresource: str) -> None:
    """That somebody was faster shows in the next walk."""
    write = Replace(
        ref=context.world.old.ref(live),
        body=body,
        resource_version=live["metadata"]["resourceVersion"],
        subresource=subresource,
        does=Does.RESTORE_OBJECT,
        change_from=context.journal.new,
        change_to=context.journal.old,
        manager=MANAGER,
    )
    match context.told(write):
        case Bad(kind, text) if kind not in ("conflict", "absent"):
            raise Unfit(text or kind)
