"""Who owns what, told in words of the version that stays: ownerReferences of dependents, and managedFields."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import structs

from fairlead.contracts.apiversions.decide.field_translation import translated
from fairlead.contracts.apiversions.decide.offline import object_parts
from fairlead.contracts.apiversions.decide.offline.object_conversion import path_of_tree, saved_of
from fairlead.contracts.apiversions.decide.offline.object_parts import Parts
from fairlead.contracts.apiversions.decide.offline.object_restore import managers_patch
from fairlead.contracts.apiversions.decide.offline.step_context import PAGE_SECONDS, StepContext
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import (
    MANAGER,
    UpgradeCounts,
    UpgradeEnd,
    UpgradeFailure,
    UpgradeJournal,
    UpgradeOutcome,
    UpgradePhase,
    moving,
    noted,
    stopped,
)
from fairlead.contracts.apiversions.decide.offline.walks import Unfit, walked
from fairlead.contracts.apiversions.decide.reference_fix import UNLISTED
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.amounts import counted
from fairlead.core.ask import Ask, Bad, Good, Listing, Need, Read
from fairlead.engine.decide import managed_fields
from fairlead.engine.decide.managed_fields import Entry
from kubeloop.objects.meta import Ref, Resource


def own(context: StepContext) -> UpgradeOutcome:
    """One page of objects: fields belong to whom they belonged in the old version.

    A write in another version without a webhook makes the server forget all owners; so whoever applies the object next
    would find it without any, and fields that they leave out would stay.
    """
    return context.walk(
        context.world.new.resource,
        lambda item: _owned(context, item),
        "own_page",
        lambda after: after.enter(UpgradePhase.POINTED),
    )


def _owned(context: StepContext, item: Tree) -> str:
    saved, _ = saved_of(context, path_of_tree(item), item["metadata"]["uid"])
    before = object_parts.managers(saved["old"], but=MANAGER) if saved else []
    others = object_parts.managers(item, but=MANAGER)
    if not before or (others and len(others) == len(object_parts.managers(item))):
        return "done"
    wanted = _translated(context, item, before)
    answer = context.told(managers_patch(context.world.new.ref(item), [*wanted, *others], item))
    if isinstance(answer, Bad):
        if answer.kind in ("conflict", "absent"):
            return "again"
        raise Unfit(answer.text or answer.kind)
    return "done"


def _translated(context: StepContext, item: Tree, before: list[Entry]) -> list[Entry]:
    target, kind = context.world.new.resource, context.world.kind
    schema = kind.hub.schema if target.version == kind.hub.name else kind.spokes[target.version].version.schema

    def goes(api_version: str) -> bool:
        return api_version != target.api_version

    return managed_fields.moved(
        before,
        goes,
        target.api_version,
        lambda entry: translated(entry, item, target.version, schema, kind),
        context.now,
    )


def point(context: StepContext, here: Parts, then: UpgradeOutcome) -> UpgradeOutcome:
    """One page of what the objects own: its references to them name this version.

    What is there now is looked through, and not what a backup names: it was taken before the operator was stopped.
    """
    if context.journal.place >= len(context.world.kinds):
        return then
    kind = _written_as(context.world.kinds[context.journal.place], here.resource)
    next_kind = structs.replace(context.journal, place=context.journal.place + 1, cursor="")
    listing = Listing(kind, "", limit=context.world.page, cursor=context.journal.cursor, metadata_only=True)
    match context.told(Ask(listing, timeout=PAGE_SECONDS)):
        case Bad("expired", cursor=cursor):
            return moving(structs.replace(context.journal, cursor=cursor), "point_anew", context.now)
        case Bad(code=code) if code in UNLISTED:
            named = f"{kind.group}/{kind.kind}" if kind.group else kind.kind
            text = f"{named} cannot be listed, so what these say of owners in {here.resource.group} stays as it is"
            return moving(noted(next_kind, text), "point_others", context.now)
        case Bad(word, text):
            raise Unfit(f"{kind.plural} cannot be listed: {text or word}")
        case Good(body):
            found = msgspec.json.decode(body)
    wanted = [Ref(kind, *_place(each)) for each in found["items"] if _steps(each, here.resource)]
    token = found["metadata"].get("continue") or ""
    after = structs.replace(context.journal, cursor=token) if token else next_kind
    return _pointed(context, wanted, here.resource, after)


def _pointed(context: StepContext, wanted: list[Ref], target: Resource, after: UpgradeJournal) -> UpgradeOutcome:
    ends = walked([_walk(context, each, target) for each in wanted])
    if isinstance(ends, Need):
        return ends
    failures = tuple(
        UpgradeFailure(f"{each.resource.kind} {each.name}", str(end))
        for each, end in zip(wanted, ends, strict=True)
        if isinstance(end, Unfit)
    )
    if failures:
        failed = structs.replace(context.journal, failures=failures, counts=UpgradeCounts(failed=len(failures)))
        text = f"{counted(len(failures), 'dependent')} cannot be done, as named above"
        return stopped(failed, text, UpgradeEnd.FAILED)
    return context.wait("point_again") if "again" in ends else moving(after, "point_page", context.now)


def _walk(context: StepContext, ref: Ref, target: Resource) -> Callable[[], str]:
    return lambda: _renamed(context, ref, target)


def _renamed(context: StepContext, ref: Ref, target: Resource) -> str:
    match context.told(Ask(Read(ref, metadata_only=True))):
        case Bad("absent"):
            return "done"
        case Bad(kind, text):
            raise Unfit(text or kind)
        case Good(body):
            live: Tree = msgspec.json.decode(body)
    if not (steps := _steps(live, target)):
        return "done"
    write = Patch(
        ref=structs.replace(ref, uid=live["metadata"]["uid"]),
        kind=PatchKind.JSON,
        body=msgspec.json.encode(steps),
        resource_version=live["metadata"]["resourceVersion"],
        does=Does.POINT_DEPENDENT,
        change_to=target.version,
    )
    match context.told(write):
        case Good():
            return "done"
        case Bad("conflict" | "absent"):
            return "again"
        case Bad(kind, text):
            raise Unfit(text or kind)


def _steps(tree: Tree, target: Resource) -> list[Tree]:
    """Of a patch after which references to owners of the kind name its version."""
    steps: list[Tree] = []
    for place, each in enumerate(tree["metadata"].get("ownerReferences") or []):
        is_ours = each["kind"] == target.kind and each["apiVersion"].rpartition("/")[0] == target.group
        if is_ours and each["apiVersion"] != target.api_version:
            at = f"/metadata/ownerReferences/{place}"
            steps.append({"op": "test", "path": f"{at}/uid", "value": each["uid"]})
            steps.append({"op": "replace", "path": f"{at}/apiVersion", "value": target.api_version})
    return steps


def _place(tree: Tree) -> tuple[str, str]:
    return tree["metadata"].get("namespace") or "", tree["metadata"]["name"]


def _written_as(kind: Resource, here: Resource) -> Resource:
    """An object that another of its kind owns is written in the version that is stored: without conversion any other
    would drop what it does not know."""
    return here if (kind.group, kind.plural) == (here.group, here.plural) else kind
