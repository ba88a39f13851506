"""One look at one Deployment: what is done about its ReplicaSets, and the status that is written of it.

Every write goes over the version that was seen. Where that is not the newest any more it is refused, and the Deployment
is looked at again a moment later; so is a second write of the same Deployment in one turn, as with the real controller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from kubeloop import clock
from kubeloop.objects.apps import DEPLOYMENTS, REPLICASETS
from kubesim.controllers import deployment_status as says
from kubesim.controllers.adoption import check_alive
from kubesim.controllers.base import Api, Stale, View
from kubesim.controllers.deployment_plan import (
    REVISION,
    Condition,
    Deployment,
    Resize,
    active,
    active_or_latest,
    annotations_of,
    grown,
    in_proportion,
    is_resized,
    is_saturated,
    last_revision,
    new_set,
    new_set_tree,
    removable,
    replaced,
    size_annotations,
    surplus_sets,
    unhealthy,
    without_hash,
)
from kubesim.controllers.event_recorder import Recorder
from kubesim.controllers.pod_control import is_of_ending_namespace
from kubesim.controllers.pods import Pod
from kubesim.controllers.replicas import ReplicaSet, as_tree
from kubesim.errors import StatusError
from kubesim.store.versions import Tree


class Turn:
    """Works on one Deployment as it was seen, with the sets that are its own."""

    def __init__(self, api: Api, events: Recorder, known: View[ReplicaSet], seen: Deployment) -> None:
        self._api = api
        self._events = events
        self._known = known
        self._seen = seen
        self._status = seen.status
        """What the status says by now, as far as this turn knows."""
        self._revision = seen.metadata.annotations.get(REVISION, "")

    async def take(self, sets: Sequence[ReplicaSet], pods: Sequence[Pod]) -> float | None:
        """Does what is due; answers with the seconds until something else may be. `pods` are those of the sets."""
        if self._seen.metadata.deletion_timestamp is not None:
            new, old = await self._split(sets, create=False)
            await self._settle([*old, *_given(new)], new)
            return None
        said = says.paused_or_resumed(self._seen)
        if said is not None:
            self._say(said)
            await self._put_status()
        if self._seen.spec.paused or await self._is_resized(sets):
            await self._resize(sets)
            return None
        return await (self._roll(sets) if self._seen.spec.rolls else self._recreate(sets, pods))

    async def _is_resized(self, sets: Sequence[ReplicaSet]) -> bool:
        new, old = await self._split(sets, create=False)
        return is_resized(self._seen, [*old, *_given(new)])

    # Which sets there are

    async def _split(self, sets: Sequence[ReplicaSet], *, create: bool) -> tuple[ReplicaSet | None, list[ReplicaSet]]:
        """The new set and the old ones; numbers of revisions are brought up to date."""
        found = new_set(self._seen, sets)
        old = [each for each in sets if found is None or each.metadata.uid != found.metadata.uid]
        revision = last_revision(old) + 1
        if found is not None:
            return await self._found(found, revision), old
        return await self._created(old, revision) if create else None, old

    async def _found(self, found: ReplicaSet, revision: int) -> ReplicaSet:
        annotations = annotations_of(self._seen, found.metadata.annotations, revision)
        patience = self._seen.spec.min_ready_seconds
        if annotations != found.metadata.annotations or patience != found.spec.min_ready_seconds:
            return await self._put_set(found, annotations, {"minReadySeconds": patience or None})
        stale = self._number(found.metadata.annotations.get(REVISION, ""))
        if self._seen.spec.has_deadline and says.condition_of(self._status, says.PROGRESSING) is None:
            text = f'Found new replica set "{found.metadata.name}"'
            self._say(Condition(says.PROGRESSING, "True", says.FOUND, text))
            stale = True
        if stale:
            await self._put_status()
        return found

    async def _created(self, old: list[ReplicaSet], revision: int) -> ReplicaSet:
        seen = self._seen
        check_alive(self._api, DEPLOYMENTS, seen.metadata)
        size = grown(seen, old, 0)
        name, tree = new_set_tree(seen, self._status.collision_count or 0, revision, size)
        try:
            made = _decoded(await self._api.create(REPLICASETS, seen.metadata.namespace, tree))
        except StatusError as error:
            await self._refused(name, error)
            made = await self._existing(name, error)
            if self._number(str(revision)):
                await self._put_status()
            return made
        if size:
            self._tell("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {size}")
        stale = self._number(str(revision))
        if seen.spec.has_deadline:
            self._say(Condition(says.PROGRESSING, "True", says.CREATED, f'Created new replica set "{name}"'))
            stale = True
        if stale:
            await self._put_status()
        return made

    async def _refused(self, name: str, error: StatusError) -> None:
        """Goes on only when the set is there already."""
        if error.reason == "AlreadyExists":
            return
        if not is_of_ending_namespace(error):
            text = f'Failed to create new replica set "{name}": {error}'
            if self._seen.spec.has_deadline:
                self._say(Condition(says.PROGRESSING, "False", says.CREATE_FAILED, text))
                with suppress(StatusError):  # the failure that led here says more
                    await self._put_status()
            self._tell(says.CREATE_FAILED, text, warning=True)
        raise error

    async def _existing(self, name: str, error: StatusError) -> ReplicaSet:
        """The set of that name if it is this Deployment's; another one means that the next name is tried."""
        seen = self._seen
        found = self._known.objects.get(seen.metadata.namespace, name)
        if found is None:
            raise Stale((seen.metadata.namespace, name))
        own = found.metadata.controller_uid == seen.metadata.uid
        if own and without_hash(found.spec.template) == without_hash(seen.spec.template):
            return found
        self._status = replace(self._status, collision_count=(self._status.collision_count or 0) + 1)
        await self._put_status()
        raise error

    # How large they are

    async def _roll(self, sets: Sequence[ReplicaSet]) -> float | None:
        new, old = await self._split(sets, create=True)
        everything = [*old, *_given(new)]
        if new is not None and not await self._grow(everything, new) and not await self._shrink(everything, old, new):
            await self._clean(old)
        return await self._report(everything, new)

    async def _grow(self, sets: Sequence[ReplicaSet], new: ReplicaSet) -> bool:
        size = self._seen.size
        if new.size < size:
            size = grown(self._seen, sets, new.size)
        return await self._resized([Resize(new, size)])

    async def _shrink(self, sets: Sequence[ReplicaSet], old: Sequence[ReplicaSet], new: ReplicaSet) -> bool:
        most = removable(self._seen, sets, new) if active(old) else 0
        if most <= 0:
            return False
        left = {each.metadata.uid: each for each in active(old)}
        first = unhealthy(left.values(), most)
        for resize in first:
            left[resize.set.metadata.uid] = await self._scaled(resize)
        return await self._resized(replaced(self._seen, left.values(), new)) or bool(first)

    async def _recreate(self, sets: Sequence[ReplicaSet], pods: Sequence[Pod]) -> float | None:
        """No new pod before the last old one is gone."""
        new, old = await self._split(sets, create=False)
        if await self._resized([Resize(each, 0) for each in active(old)]) or _still_runs(new, old, pods):
            return await self._report([*old, *_given(new)], new)
        if new is None:
            new, old = await self._split(sets, create=True)
        if new is not None:
            await self._resized([Resize(new, self._seen.size)])
        await self._clean(old)
        return await self._report([*old, *_given(new)], new)

    async def _resize(self, sets: Sequence[ReplicaSet]) -> None:
        """Another size, or any change while paused: the sets keep their shares."""
        new, old = await self._split(sets, create=False)
        only = active_or_latest(new, old)
        if only is not None:
            await self._resized([Resize(only, self._seen.size)])
        elif is_saturated(self._seen, new):
            await self._resized([Resize(each, 0) for each in active(old)])
        elif self._seen.spec.rolls:
            for resize in in_proportion(self._seen, [*old, *_given(new)]):
                known = resize.set.metadata.annotations
                if resize.size != resize.set.size or known != known | size_annotations(self._seen):
                    await self._scaled(resize)
        if self._seen.spec.paused:
            await self._delete_surplus(old)
        await self._settle([*old, *_given(new)], new)

    async def _resized(self, plan: Iterable[Resize]) -> bool:
        """Carries out what changes a size; whether there was anything."""
        changes = [resize for resize in plan if resize.size != resize.set.size]
        for resize in changes:
            await self._scaled(resize)
        return bool(changes)

    async def _scaled(self, resize: Resize) -> ReplicaSet:
        set_, size = resize.set, resize.size
        annotations = set_.metadata.annotations | size_annotations(self._seen)
        written = await self._put_set(set_, annotations, {"replicas": size})
        if size != set_.size:
            direction = "up" if size > set_.size else "down"
            name = set_.metadata.name
            self._tell("ScalingReplicaSet", f"Scaled {direction} replica set {name} from {set_.size} to {size}")
        return written

    async def _clean(self, old: Sequence[ReplicaSet]) -> None:
        if says.is_complete(self._seen, self._status):
            await self._delete_surplus(old)

    async def _delete_surplus(self, old: Sequence[ReplicaSet]) -> None:
        for each in surplus_sets(old, self._seen.spec.revision_history_limit):
            with suppress(StatusError):  # gone already
                await self._api.delete(REPLICASETS, each.metadata.namespace, each.metadata.name)

    # What is said

    async def _report(self, sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> float | None:
        """Writes the status of a rollout; where nothing is new, answers with the time to its deadline."""
        await asyncio.sleep(0)  # others may write between the sets and the status
        now = clock.now()
        status = says.rolled(self._seen, self._status, sets, new, now)
        if status == self._status:
            return says.next_look(self._seen, status, now)
        self._status = status
        await self._put_status()
        return None

    async def _settle(self, sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> None:
        """Writes the counts, without a word about progress."""
        await asyncio.sleep(0)
        status = says.counted(self._seen, self._status, sets, new, clock.now())
        if status != self._status:
            self._status = status
            await self._put_status()

    def _say(self, said: Condition) -> None:
        self._status = says.with_condition(self._status, said, clock.now())

    def _number(self, revision: str) -> bool:
        """Takes over the number of the new set's revision; whether it was another."""
        stale = self._revision != revision
        self._revision = revision
        return stale

    async def _put_status(self) -> None:
        """The number of the revision is an annotation that is written along with the status."""
        meta = self._seen.metadata
        tree = self._api.read(DEPLOYMENTS, meta.namespace, meta.name)
        tree["metadata"] |= {"uid": meta.uid, "resourceVersion": meta.resource_version}
        if self._revision:
            tree["metadata"].setdefault("annotations", {})[REVISION] = self._revision
        tree["status"] = as_tree(self._status)
        await self._api.replace(DEPLOYMENTS, tree, "status")

    async def _put_set(self, set_: ReplicaSet, annotations: dict[str, str], spec: Tree) -> ReplicaSet:
        """The set with other annotations and fields of its spec; None takes a field away."""
        meta = set_.metadata
        tree = self._api.read(REPLICASETS, meta.namespace, meta.name)
        # The version that was seen: what has changed since is a conflict, and nothing of it is overwritten.
        tree["metadata"] |= {
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
            "annotations": annotations,
        }
        tree["spec"] = {key: value for key, value in (tree["spec"] | spec).items() if value is not None}
        return _decoded(await self._api.replace(REPLICASETS, tree))

    def _tell(self, reason: str, text: str, *, warning: bool = False) -> None:
        self._events.tell(DEPLOYMENTS, self._seen.metadata, reason, text, warning=warning)


def _given(new: ReplicaSet | None) -> tuple[ReplicaSet, ...]:
    return () if new is None else (new,)


def _still_runs(new: ReplicaSet | None, old: Sequence[ReplicaSet], pods: Sequence[Pod]) -> bool:
    """Whether a pod of an old set is, or is said to be, there."""
    uid = new.metadata.uid if new is not None else ""
    return any(each.count for each in old) or any(
        pod.metadata.controller_uid != uid and not pod.is_terminal for pod in pods
    )


def _decoded(tree: Tree) -> ReplicaSet:
    return msgspec.json.decode(msgspec.json.encode(tree), type=ReplicaSet)
