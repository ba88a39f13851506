"""One object of a backup brought back: only what differs is written (section 3.7.6).

An object that was made again has another UID than its backup. That it was this job which made it is written down before
and after, so that a run that was killed in between knows it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.offline import object_parts
from fairlead.contracts.apiversions.decide.offline.restore_journal import RestoreSnapshot
from fairlead.contracts.apiversions.decide.offline.restored_owners import OwnedTree, with_owners
from fairlead.contracts.apiversions.decide.offline.walks import Unfit, good, told
from fairlead.contracts.apiversions.decide.pruned_leaves import lost_of, schemas_of
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.act import Create, Does, Patch, PatchKind, Replace
from fairlead.core.ask import Ask, Bad, Good, Read, ReadRecord, SwapRecord
from fairlead.engine.decide import managed_fields
from fairlead.engine.decide.managed_fields import Entry, Fields
from kubeloop.objects.meta import Ref
from kubeloop.schemas.structural import Node

MANAGER = "fairlead-restore"
MOST_PLACES = 3


class Restored(Struct, frozen=True):
    """What is written down of an object that was not there any more."""

    uid: str = ""
    """Empty: it is about to be made."""
    former: tuple[str, ...] = ()
    """UIDs that it had before."""


class Fate(Struct, frozen=True):
    what: str
    """`same`, `changed`, `created` or `skipped`."""
    name: str
    text: str = ""
    uids: tuple[str, ...] = ()
    """With another UID than before: the new one, and those of before."""
    missing: tuple[str, ...] = ()
    """Owners that it had, and that are not there."""


class ObjectRestore(Struct):
    """One object of the backup."""

    seen: RestoreSnapshot
    path: str
    now: datetime

    def walk(self) -> Fate:
        answers, parts = self.seen.answers, self.seen.world.parts
        saved: Tree = msgspec.json.decode(good(answers, Ask(ReadRecord(f"file/{self.path}"))).value)
        self._check_kept(saved)
        noted, version = self._noted()
        match told(answers, Ask(Read(parts.ref(saved)))):
            case Bad("absent"):
                return self._made(saved, noted, version)
            case Bad() as bad:
                raise Unfit(bad.text or bad.kind)
            case Good(body):
                return self._over(saved, msgspec.json.decode(body), noted, version)

    def _check_kept(self, saved: Tree) -> None:
        """Half of an object is worse than what stands there now."""
        for version, schema in self.seen.world.schemas.items():
            if lost := lost_of(saved, schema):
                raise Unfit(f"not written, since {version} has no {listed(lost)} and would drop it")

    def _over(self, saved: Tree, live: Tree, noted: Restored | None, version: str) -> Fate:
        """The object is there: it is written where it differs."""
        name, uid, world = name_of(self.path), live["metadata"]["uid"], self.seen.world
        former = tuple(dict.fromkeys((saved["metadata"]["uid"], *(noted.former if noted else ()))))
        text = "there is another object of this name (its UID differs); --replace-different-uid writes over it"
        if uid != saved["metadata"]["uid"] and noted is None and not world.replaces_others:
            return Fate("skipped", name, text)
        owned = self._owned(object_parts.with_held_finalizers(saved, live), live)
        saved = owned.tree
        if uid == saved["metadata"]["uid"]:
            return Fate("changed" if self._brought(saved, live) else "same", name, missing=owned.missing)
        if noted is not None and not noted.uid and world.parts.same_main(saved, live):
            self._note(Restored(uid, former), version)  # made by a run that was killed before it could say so
        elif (noted is None or noted.uid != uid) and not world.replaces_others:
            return Fate("skipped", name, text)
        differs = self._brought(saved, live)
        uids = (uid, *(each for each in former if each != uid))
        return Fate("changed" if differs else "same", name, uids=uids, missing=owned.missing)

    def _made(self, saved: Tree, noted: Restored | None, version: str) -> Fate:
        """The object is gone: it is made again, and that this is about to be done is written down before."""
        answers, parts = self.seen.answers, self.seen.world.parts
        former = (saved["metadata"]["uid"], *(noted.former if noted else ()), *([noted.uid] if noted else []))
        former = tuple(dict.fromkeys(filter(None, former)))
        owned = self._owned(saved, None)
        version = self._note(Restored("", former), version)
        metadata = saved["metadata"]
        made = told(
            answers,
            Create(
                resource=parts.resource,
                namespace=metadata.get("namespace") or "",
                name=metadata["name"],
                body=object_parts.anew(owned.tree),
                does=Does.RESTORE_OBJECT,
                manager=MANAGER,
            ),
        )
        if isinstance(made, Bad) and made.code == 409:  # by an earlier try whose answer was lost, or by somebody else
            found = good(answers, Ask(Read(parts.ref(saved), after="exists")))
            return self._over(saved, msgspec.json.decode(found.value), Restored("", former), version)
        if isinstance(made, Bad):
            raise Unfit(_refusal(made, metadata))
        live: Tree = msgspec.json.decode(made.value)
        uid = live["metadata"]["uid"]
        self._note(Restored(uid, former), version)
        if not self.seen.world.dry_run:
            self._brought(owned.tree, live)
        return Fate("created", name_of(self.path), uids=(uid, *former), missing=owned.missing)

    def _owned(self, wanted: Tree, live: Tree | None) -> OwnedTree:
        world = self.seen.world
        # What is only tried makes no owners, so those of the backup count as made.
        return with_owners(wanted, live, self.seen.answers, world.uids if world.dry_run else frozenset())

    def _brought(self, saved: Tree, live: Tree) -> bool:
        """Whether anything differed; afterwards nothing does."""
        parts = self.seen.world.parts
        begun = live
        if not parts.same_main(saved, live):
            live = self._written(parts.ref(saved), object_parts.over(saved, live), live, "")
        if not parts.same_status(saved, live):
            live = self._written(parts.ref(saved), object_parts.with_status(saved, live), live, "status")
        is_disowned = live is not begun and not object_parts.managers(live)
        if (object_parts.managers(live, of=MANAGER) or is_disowned) and (managed := self._managers(saved)):
            good(self.seen.answers, managers_patch(parts.ref(saved), managed, live))
            return True
        return live is not begun

    def _managers(self, saved: Tree) -> list[Entry]:
        """Whose the fields were, in versions that are there: an apply fails where one is named that is not."""
        world = self.seen.world
        entries, here = object_parts.managers(saved, but=MANAGER), world.parts.resource

        def goes(api_version: str) -> bool:
            group, _, version = api_version.rpartition("/")
            return group == here.group and version not in world.versions

        def in_this(entry: Entry) -> Fields:
            return managed_fields.known_fields(entry.get("fieldsV1") or {}, world.schemas[here.version])

        if not managed_fields.names_version(entries, goes):
            return entries
        return managed_fields.moved(entries, goes, here.api_version, in_this, self.now)

    def _written(self, ref: Ref, body: bytes, live: Tree, subresource: str) -> Tree:
        write = Replace(
            ref=ref,
            body=body,
            resource_version=live["metadata"]["resourceVersion"],
            subresource=subresource,
            does=Does.RESTORE_OBJECT,
            change_to=self.path,
            manager=MANAGER,
        )
        written: Tree = msgspec.json.decode(good(self.seen.answers, write).value)
        return written

    def _noted(self) -> tuple[Restored | None, str]:
        found = good(self.seen.answers, Ask(ReadRecord(f"restored/{self.path}")))
        return (msgspec.json.decode(found.value, type=Restored) if found.value else None), found.version

    def _note(self, restored: Restored, version: str) -> str:
        """The version of the record, which is on the disk."""
        swap = SwapRecord(f"restored/{self.path}", version, msgspec.json.encode(restored))
        return good(self.seen.answers, Ask(swap, effect=True)).version


def listed(places: Sequence[str]) -> str:
    """For people: the first few."""
    some = ", ".join(places[:MOST_PLACES])
    return f"{some} and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else some


def schemas_through(definition: Tree, version: str) -> dict[str, Node]:
    """By version: the schemas that prune what is written in this one.

    With the strategy None what is stored is the same fields under the name of the storage version.
    """
    spec = definition["spec"]
    is_converted = (spec.get("conversion") or {}).get("strategy") == "Webhook"
    names = {version, *(each["name"] for each in spec["versions"] if each.get("storage") and not is_converted)}
    return {name: schema for name, schema in schemas_of(definition).items() if name in names}


def managers_patch(ref: Ref, managed: list[Any], live: Tree) -> Patch:
    """Whose the fields are, as it was: otherwise whoever applies them next would be told that they are ours."""
    return Patch(
        ref=structs.replace(ref, uid=live["metadata"]["uid"]),
        kind=PatchKind.JSON,
        body=msgspec.json.encode([{"op": "add", "path": "/metadata/managedFields", "value": managed}]),
        resource_version=live["metadata"]["resourceVersion"],
        does=Does.REWRITE_OWNERS,
    )


def _refusal(made: Bad, metadata: Tree) -> str:
    if made.kind == "absent":
        return f"namespace {metadata.get('namespace')} is not there: create it and run the command again"
    return made.text or made.kind


def name_of(path: str) -> str:
    return path.removeprefix("objects/").removesuffix(".json").removeprefix("_cluster/")
