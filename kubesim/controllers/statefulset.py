"""The StatefulSet controller: brings `plan` its facts from lagging views and carries out the answer.

Like the real one it acts on what its watches have shown, writes the status it worked out from that, and skips a set
while its own writes have not come back. So a status may be behind the cluster: when a pod is replaced, the first status
after it is gone can still count it as ready. In one thing it is stricter than the real one, which may delete a pod
twice: it also waits until a pod that it deleted is seen to go.
"""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec

from kubeloop import clock
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.core import Pod as NarrowPod
from kubeloop.objects.meta import LabelSelector, Meta
from kubeloop.queue import Queue
from kubeloop.worker import work
from kubesim.api.verbs import Verbs
from kubesim.controllers.adoption import (
    OWNER,
    adopt,
    check_alive,
    concerned,
    orphans_of,
    owner_or_orphan,
    release,
    selects,
)
from kubesim.controllers.base import ACCOUNTS, Api, Expectations, Stale, failed
from kubesim.controllers.event_recorder import Recorder
from kubesim.controllers.history import Chosen, History
from kubesim.controllers.pod_control import together
from kubesim.controllers.pods import Pod
from kubesim.controllers.revisions import Revision
from kubesim.controllers.statefulset_claims import ClaimsMissing, PodClaims
from kubesim.controllers.statefulset_plan import (
    Create,
    Delete,
    FillClaims,
    Identify,
    Place,
    Plan,
    Revisions,
    SettleClaims,
    next_look,
    plan,
)
from kubesim.controllers.statefulset_pods import (
    Set,
    Status,
    has_identity,
    has_storage,
    identity_labels,
    is_member,
    new_pod,
    ordinal_of,
    ordinal_of_name,
    volumes,
)
from kubesim.errors import StatusError
from kubesim.kinds.features import MAX_UNAVAILABLE
from kubesim.kinds.registry import CLAIMS
from kubesim.store.versions import Tree

Key = tuple[str, str]

WORKERS = 5
"""Sets at once, as the real controller's default."""

FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0
"""Seconds; the real controller's."""

STATUS_ATTEMPTS, STATUS_PAUSE = 5, 0.01
"""How often, and seconds apart, a status is tried whose set has changed meanwhile."""


class StatefulSetController:
    """One controller; its watches are behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs, *, workers: int = WORKERS) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}statefulset-controller")
        self._workers = workers
        self._several_at_once = MAX_UNAVAILABLE in verbs.registry.features
        self._sets = api.view(STATEFULSETS, Set)
        self._pods = api.view(PODS, Pod, {OWNER: owner_or_orphan})
        self._revisions = api.view(CONTROLLER_REVISIONS, Revision, {OWNER: owner_or_orphan})
        self._history = History(api, self._revisions)
        self._expected = Expectations()
        self._members: dict[Key, tuple[tuple[str, LabelSelector], tuple[Pod, ...]]] = {}
        """The pods of sets at the last look, by which UID and selector of the set, where all that it owned were its."""
        self._events = Recorder(api, "statefulset-controller")
        self._claims = PodClaims(api, self._events, self._wrote_claim)
        self._queue: Queue[Key] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._sets.subscribe(self._set_changed)
        self._pods.subscribe(self._pod_changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._events.work_in(tasks)
            views = self._sets, self._pods, self._revisions, self._claims.view
            for view in views:
                tasks.create_task(view.run())
            await asyncio.gather(*(view.synced.wait() for view in views))
            tasks.create_task(work(self._queue, self._sync, workers=self._workers, failed=failed))

    def _set_changed(self, old: Set | None, new: Set | None) -> None:
        for each in (new, old):
            if each is not None:
                self._queue.add((each.metadata.namespace, each.metadata.name))
                return

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for each in concerned(self._sets.objects, STATEFULSETS.kind, old, new):
            self._queue.add((each.metadata.namespace, each.metadata.name))

    async def _sync(self, key: Key) -> float | None:
        if not self._expected.met(key):
            raise Stale(key)
        set_ = self._sets.objects.get(*key)
        if set_ is None:
            self._expected.forget(key)
            self._members.pop(key, None)
            self._history.forget(key)
            return None
        if any(not revision.metadata.controller_uid for revision in self._history.of(set_)):
            check_alive(self._api, STATEFULSETS, set_.metadata)
            await self._history.adopt_orphans(set_)
        pods = await self._claim(key, set_)
        return await self._update(key, set_, pods)

    async def _claim(self, key: Key, set_: Set) -> list[Pod]:
        """The set's pods; adopts and releases as its selector says."""
        objects, meta = self._pods.objects, set_.metadata
        claimed, strays = self._owned(key, set_)
        for pod in strays if meta.deletion_timestamp is None else ():
            self._wrote_pod(key, await release(self._api, PODS, pod.metadata, (meta.uid,)))
        for pod in objects.by(OWNER, orphans_of(meta.namespace)):
            wanted = selects(set_.spec.selector, pod.metadata.labels) and is_member(set_, pod)
            if not wanted or pod.metadata.deletion_timestamp is not None or meta.deletion_timestamp is not None:
                continue
            check_alive(self._api, STATEFULSETS, meta)
            adopted = await adopt(self._api, PODS, pod.metadata, set_.owner_reference())
            self._wrote_pod(key, adopted)
            if adopted is not None:
                claimed.append(pod)
        return claimed

    def _owned(self, key: Key, set_: Set) -> tuple[list[Pod], list[Pod]]:
        """Pods that the set owns: its members, and others; those that were members at the last look are so still."""
        selector, owned = set_.spec.selector, self._pods.objects.by(OWNER, set_.metadata.uid)
        before = self._members.get(key)
        known = set(map(id, before[1])) if before is not None and before[0] == (set_.metadata.uid, selector) else set()
        strays = [pod for pod in owned if id(pod) not in known and not _belongs(set_, pod)]
        if strays:
            self._members.pop(key, None)
            return [pod for pod in owned if _belongs(set_, pod)], strays
        self._members[key] = (set_.metadata.uid, selector), owned
        return list(owned), strays

    async def _update(self, key: Key, set_: Set, pods: list[Pod]) -> float | None:
        """One round: revisions, pods, status, history; answers with the seconds until the next look."""
        now = clock.now()
        revisions = self._history.of(set_)
        chosen = await self._history.choose(set_, revisions)
        names = Revisions(chosen.current.name, chosen.update.name, chosen.collisions)
        planned = plan(set_, pods, names, now, several_at_once=self._several_at_once)
        try:
            await self._carry_out(key, set_, planned, chosen)
        except (StatusError, ClaimsMissing):
            await self._write_status(key, set_, planned.failed)
            raise
        await asyncio.sleep(0)  # others may write between the pods and the status
        await self._write_status(key, set_, planned.status)
        await self._history.truncate(set_, revisions, pods, chosen)
        return next_look(set_, pods, planned.status, now)

    async def _carry_out(self, key: Key, set_: Set, planned: Plan, chosen: Chosen) -> None:
        """Until a batch in which something fails is over."""
        namespace = set_.metadata.namespace
        for batch in planned.batches:
            places = [partial(self._attempt, key, set_, place, chosen) for place in batch]
            failures = await together(self._api, (PODS, CLAIMS), namespace, places)
            for failure in filter(None, failures):
                raise failure

    async def _attempt(self, key: Key, set_: Set, place: Place, chosen: Chosen) -> StatusError | Stale | None:
        """Sees to one place; answers with what went wrong."""
        try:
            await self._see_to(key, set_, place, chosen)
        except (StatusError, Stale) as error:
            return error
        return None

    async def _see_to(self, key: Key, set_: Set, place: Place, chosen: Chosen) -> None:
        for action in place:
            match action:
                case Create(ordinal, revision):
                    made_from = chosen.current if revision == chosen.current.name else chosen.update
                    await self._create(key, set_, made_from, ordinal)
                case Delete(pod):
                    await self._delete(key, set_, pod)
                case Identify(pod):
                    await self._identify(key, set_, pod)
                case FillClaims(pod):
                    await self._claims.make_missing(set_, ordinal_of(pod))
                    await self._give_owners(set_, pod.metadata)
                case SettleClaims(pod):
                    await self._claims.give_owners(set_, pod.metadata)

    async def _create(self, key: Key, set_: Set, revision: Revision, ordinal: int) -> None:
        name = f"{set_.metadata.name}-{ordinal}"
        check_alive(self._api, STATEFULSETS, set_.metadata)
        claims = ordinal if set_.spec.volume_claim_templates else None
        if claims is not None:
            if self._claims.block(set_, ordinal):
                return
            await self._make_claims(set_, "Create", name)
        alike = set_.metadata.uid, revision.metadata.uid, set_.spec.service_name, claims
        labels = identity_labels(name, ordinal)
        try:
            made = await self._api.create_pod(
                alike,
                (set_.metadata.namespace, name),
                labels,
                lambda: new_pod(set_, revision.template, revision.name, ordinal),
            )
        except StatusError as error:
            if error.reason != "AlreadyExists":
                await self._give_owners(set_, Meta(name, "", ""))
                self._tell(set_, "Create", name, error)
            raise
        self._expected.revised(key, self._pods, made)
        if claims is not None:
            await self._give_owners(set_, Meta(name, "", ""))
        self._tell(set_, "Create", name)

    async def _make_claims(self, set_: Set, verb: str, pod: str) -> None:
        """Makes those that the pod lacks, which is about to be made or changed."""
        try:
            await self._claims.make_missing(set_, ordinal_of_name(pod))
        except ClaimsMissing as error:
            self._tell(set_, verb, pod, error)
            raise

    async def _give_owners(self, set_: Set, pod: Meta) -> None:
        """Has the pod's claims owned as the set's policy says."""
        try:
            await self._claims.give_owners(set_, pod)
        except ClaimsMissing as error:
            self._tell(set_, "Update", pod.name, error)
            raise

    async def _delete(self, key: Key, set_: Set, pod: NarrowPod) -> None:
        meta = pod.metadata
        try:
            await self._api.delete(PODS, meta.namespace, meta.name)
        except StatusError as error:
            if error.code != 404:
                self._tell(set_, "Delete", meta.name, error)
                raise
        self._expected.unseen(key, lambda: self._is_going(pod))
        self._tell(set_, "Delete", meta.name)

    def _is_going(self, pod: NarrowPod) -> bool:
        seen = self._pods.objects.get(pod.metadata.namespace, pod.metadata.name)
        gone = seen is None or seen.metadata.uid != pod.metadata.uid
        return gone or (seen is not None and seen.metadata.deletion_timestamp is not None)

    async def _identify(self, key: Key, set_: Set, pod: NarrowPod) -> None:
        meta, ordinal = pod.metadata, ordinal_of(pod)
        patch: Tree = {"metadata": {"uid": meta.uid, "labels": identity_labels(meta.name, ordinal)}}
        if set_.spec.volume_claim_templates:
            given = self._api.read(PODS, meta.namespace, meta.name)["spec"].get("volumes")
            is_stored, is_owned = has_storage(set_, given, ordinal), self._claims.are_owned_as_said(set_, meta)
            if is_stored and is_owned and has_identity(set_, pod, ordinal):
                return
            if not is_stored:
                await self._make_claims(set_, "Update", meta.name)
                patch["spec"] = {"volumes": volumes(set_, given, ordinal)}
            await self._give_owners(set_, meta)
        try:
            self._wrote_pod(key, await self._api.merge(PODS, meta.namespace, meta.name, patch))
        except StatusError as error:
            self._tell(set_, "Update", meta.name, error)
            raise
        self._tell(set_, "Update", meta.name)

    async def _write_status(self, key: Key, set_: Set, status: Status) -> None:
        """As the real one writes it: the whole status over the set as it was seen, again if the set has changed."""
        # The API refuses negative counts; the status is then left as it is until the pod is seen to go.
        if status.current_replicas < 0 or not status.tells_other_than(set_.status):
            return
        for attempt in range(STATUS_ATTEMPTS):
            try:
                written = await self._put_status(set_, status)
            except StatusError as error:
                if error.reason != "Conflict" or attempt == STATUS_ATTEMPTS - 1:
                    raise
                await asyncio.sleep(STATUS_PAUSE)
                set_ = self._sets.objects.get(*key) or set_
            else:
                self._expected.revised(key, self._sets, written)
                return

    async def _put_status(self, set_: Set, status: Status) -> int:
        return await self._api.put_status(STATEFULSETS, set_.metadata, msgspec.to_builtins(status))

    def _wrote_pod(self, key: Key, written: Tree | None) -> None:
        if written is not None:
            self._expected.written(key, self._pods, written)

    def _wrote_claim(self, set_: Set, written: Tree) -> None:
        self._expected.written((set_.metadata.namespace, set_.metadata.name), self._claims.view, written)

    def _tell(self, set_: Set, verb: str, pod: str, error: Exception | None = None) -> None:
        """The event that the real controller records about a pod."""
        about = f"{verb} Pod {pod} in StatefulSet {set_.metadata.name}"
        if error is None:
            self._events.tell(STATEFULSETS, set_.metadata, f"Successful{verb}", f"{about} successful")
        else:
            text = f"{about} failed error: {error}"
            self._events.tell(STATEFULSETS, set_.metadata, f"Failed{verb}", text, warning=True)


def _belongs(set_: Set, pod: Pod) -> bool:
    return is_member(set_, pod) and selects(set_.spec.selector, pod.metadata.labels)
