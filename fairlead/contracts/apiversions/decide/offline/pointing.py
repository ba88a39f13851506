"""Who owns what, told in words of the version that stays: ownerReferences of dependents, and managedFields."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import structs

from fairlead.contracts.apiversions.decide.field_translation import translated
from fairlead.contracts.apiversions.decide.offline import object_parts
from fairlead.contracts.apiversions.decide.offline.backup_format import Dependent
from fairlead.contracts.apiversions.decide.offline.converting import path_of_tree, saved_of
from fairlead.contracts.apiversions.decide.offline.restoring import owners
from fairlead.contracts.apiversions.decide.offline.scene import Scene
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import (
    MANAGER,
    Outcome,
    UpgradeCounts,
    UpgradeEnd,
    UpgradeFailure,
    UpgradePhase,
    moving,
    stopped,
)
from fairlead.contracts.apiversions.decide.offline.walks import Unfit, walked
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.amounts import counted
from fairlead.core.ask import Ask, Bad, Good, Need, Read
from fairlead.engine.decide import managed_fields
from fairlead.engine.decide.managed_fields import Entry
from kubeloop.objects.meta import Ref, Resource


def own(scene: Scene) -> Outcome:
    """One page of objects: fields belong to whom they belonged in the old version.

    A write in another version without a webhook makes the server forget all owners; so whoever applies the object next
    would find it without any, and fields that they leave out would stay.
    """
    return scene.walk(
        scene.world.new.resource,
        lambda item: _owned(scene, item),
        "own_page",
        lambda after: after.enter(UpgradePhase.POINTED),
    )


def _owned(scene: Scene, item: Tree) -> str:
    saved, _ = saved_of(scene, path_of_tree(item), item["metadata"]["uid"])
    before = object_parts.managers(saved["old"], but=MANAGER) if saved else []
    others = object_parts.managers(item, but=MANAGER)
    if not before or (others and len(others) == len(object_parts.managers(item))):
        return "done"
    wanted = _translated(scene, item, before)
    answer = scene.told(owners(scene.world.new.ref(item), [*wanted, *others], item))
    if isinstance(answer, Bad):
        if answer.kind in ("conflict", "absent"):
            return "again"
        raise Unfit(answer.text or answer.kind)
    return "done"


def _translated(scene: Scene, item: Tree, before: list[Entry]) -> list[Entry]:
    target, kind = scene.world.new.resource, scene.world.kind
    schema = kind.hub.schema if target.version == kind.hub.name else kind.spokes[target.version].version.schema

    def goes(api_version: str) -> bool:
        return api_version != target.api_version

    return managed_fields.moved(
        before,
        goes,
        target.api_version,
        lambda entry: translated(entry, item, target.version, schema, kind),
        scene.now,
    )


def point(scene: Scene, version: str, then: Outcome) -> Outcome:
    """One page of dependents: references to objects of the kind name this version."""
    begin, page = scene.journal.place, scene.world.page
    dependents = scene.world.dependents[begin : begin + page]
    if not dependents:
        return then
    ends = walked([_walk(scene, each, version) for each in dependents])
    if isinstance(ends, Need):
        return ends
    failures = tuple(
        UpgradeFailure(f"{each.kind} {each.name}", str(end))
        for each, end in zip(dependents, ends, strict=True)
        if isinstance(end, Unfit)
    )
    again = any(end == "again" for end in ends)
    after = structs.replace(
        scene.journal, place=begin if again else begin + len(dependents), counts=UpgradeCounts(failed=len(failures))
    )
    if failures:
        after = structs.replace(after, failures=failures, place=begin)
        return stopped(
            after, f"{counted(len(failures), 'dependent')} cannot be done, as named above", UpgradeEnd.FAILED
        )
    return scene.wait("point_again", after) if again else moving(after, "point_page", scene.now)


def _walk(scene: Scene, dependent: Dependent, version: str) -> Callable[[], str]:
    return lambda: pointed(scene, dependent, version)


def pointed(scene: Scene, dependent: Dependent, version: str) -> str:
    group, _, own = dependent.api_version.rpartition("/")
    resource = Resource(group, own, dependent.plural, dependent.kind, namespaced=bool(dependent.namespace))
    ref = Ref(resource, dependent.namespace, dependent.name)
    match scene.told(Ask(Read(ref, metadata_only=True))):
        case Bad("absent"):
            return "done"
        case Bad(kind, text):
            raise Unfit(text or kind)
        case Good(body):
            live: Tree = msgspec.json.decode(body)
    target = scene.world.new.resource
    steps: list[Tree] = []
    wanted = f"{target.group}/{version}"
    for place, each in enumerate(live["metadata"].get("ownerReferences") or []):
        is_ours = each["kind"] == target.kind and each["apiVersion"].rpartition("/")[0] == target.group
        if is_ours and each["apiVersion"] != wanted:
            at = f"/metadata/ownerReferences/{place}"
            steps.append({"op": "test", "path": f"{at}/uid", "value": each["uid"]})
            steps.append({"op": "replace", "path": f"{at}/apiVersion", "value": wanted})
    if not steps:
        return "done"
    write = Patch(
        ref=structs.replace(ref, uid=live["metadata"]["uid"]),
        kind=PatchKind.JSON,
        body=msgspec.json.encode(steps),
        resource_version=live["metadata"]["resourceVersion"],
        does=Does.POINT_DEPENDENT,
        change_to=version,
    )
    match scene.told(write):
        case Good():
            return "done"
        case Bad("conflict" | "absent"):
            return "again"
        case Bad(kind, text):
            raise Unfit(text or kind)
