"""The kubelet's loop: watches pods, binds them, gives them the shape they should have, lets deleted ones go.

A pod costs four requests: a binding, a status when it runs (none if it is ready at once), a status when it is ready,
and the deletion. Everything is worked out again from what is seen, so it may be stopped and started at any time: when
its containers started is in the pod's status, and a pod that is ready when it is first seen stays so.

Pods are put on the kubelet's nodes in turn, as far as node selector, affinity, taints and other pods allow; a cordoned
node gets none. A pod that names a node, as those of DaemonSets do, is put on that. Of one that finds none the status
says why, and it is looked at again when nodes or pods change.

A deleted pod stays ready until it is gone, as with a real kubelet while containers use their grace period. A pod with
readiness gates is ready when its containers are and others have said so of each gate; probes are not simulated.
Containers whose image is changed on a living pod start anew with it.

Pods may run programs that answer calls (see `programs`): from the time their containers run until they are down or the
pod is deleted. A program that ends by itself is a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle

from msgspec import structs

from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Conflict, Invalid, KubeError, NotFound
from kubeloop.queue import Queue
from kubeloop.worker import work
from kubesim.api.inside import InsideClient
from kubesim.kubelet.access import OverClient, PodAccess
from kubesim.kubelet.in_process import InProcess
from kubesim.kubelet.life import Life
from kubesim.kubelet.neighbours import Neighbours
from kubesim.kubelet.nodes import ROOM, ZONES, register
from kubesim.kubelet.obstacles import Obstacle, Obstacles
from kubesim.kubelet.places import Addresses, Places
from kubesim.kubelet.pods import Pod, Tree, begun, outline_of, shape_of, status_fields, unschedulable
from kubesim.kubelet.programs import Hosted, Programs
from kubesim.kubelet.telling import Telling
from kubesim.pods.behaviour import Behaviour, Defaults, Run, Shape, Wish, behaviour_of, turned, wanted
from kubesim.pods.histories import Histories

LOOK_AGAIN = 1.0
"""Seconds between looks at a pod that lacks something."""

FIRST_DOWN, LONGEST_DOWN = 1.0, 300.0
"""Seconds until a program that ended by itself is started again; doubled with every crash."""


class Kubelet:
    """Runs every pod of a namespace, or of all; annotations (see `behaviour`) go before the times given here."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str = "",
        ready_after: float = 1.0,
        gone_after: float = 0.1,
        nodes: int | Sequence[str] = 3,
        programs: Programs | None = None,
        events: bool = False,
        scheduler: str = "",
        demanding: bool = False,
        histories: Histories | None = None,
        coarse: bool = False,
    ) -> None:
        """With `events` pods' lives are told in Events.

        A `demanding` one runs only pods that have what they need (see `obstacles`), and tells what they lack.

        Pods of another `scheduler` are left to it; without a name all pods are this one's.

        `nodes` that are named are there already and are taken over as they are; of a number as many are registered.

        A `coarse` one binds a pod, runs it and makes it ready in one write, when the pod is ready: until then it is
        pending. Pods whose annotations ask for more than times go through all shapes all the same.

        Pods that rest by their `histories` are left as they are until somebody changes them; others behave like them.
        """
        self._client = client
        self._scheduler = scheduler
        self._telling = Telling(client, everything=events)
        self._obstacles = Obstacles(client, ROOM) if demanding else None
        self._namespace = namespace
        self._coarse = coarse
        self._programs = programs
        if programs is not None:
            programs.exited = self._exited
        self._defaults = Defaults(ready_after, gone_after)
        self._usual = behaviour_of({}, self._defaults)
        self._histories = histories or Histories()
        self._registers = isinstance(nodes, int)
        self._nodes = [f"sim-node-{number}" for number in range(nodes)] if isinstance(nodes, int) else list(nodes)
        self._lives: dict[str, Life] = {}
        """By UID: a pod that is made again under its name is another pod."""
        self._addresses = Addresses()
        self._queue: Queue[str] = Queue(first_delay=0.1, longest_delay=5.0)
        self._pods: PodAccess = (
            InProcess(client, namespace) if isinstance(client, InsideClient) else OverClient(client, namespace)
        )
        self._neighbours = Neighbours(client, self._pods, self._lives, self._queue.add)
        self._places = Places(client, self._nodes, self._neighbours, self._place_found)

    async def run(self) -> None:
        """Until cancelled."""
        for name, zone in zip(self._nodes if self._registers else (), cycle(ZONES)):
            await register(self._client, name, zone)
        async with asyncio.TaskGroup() as tasks:
            await self._places.follow(tasks)
            tasks.create_task(self._pods.follow(self))
            tasks.create_task(self._telling.run())
            if self._programs is not None:
                tasks.create_task(self._programs.follow(self._client, self._namespace))
            pace = self._pods.pace
            seeing = work(self._queue, self._look, workers=pace.workers, failed=_failed, in_a_row=pace.in_a_row)
            tasks.create_task(seeing)

    def seen(self, pod: Pod, *, initial: bool) -> None:
        """A pod is there, or is another than before."""
        meta = pod.metadata
        self._neighbours.seen(pod)
        life = self._lives.get(meta.uid)
        if life is None or life.annotations != meta.annotations:
            self._telling.check(pod)
        if life is None:
            life = self._lives[meta.uid] = Life(pod)
            life.rests = self._histories.resting.get(meta.uid) == meta.resource_version
            if life.address:
                self._addresses.take(life.address)
        elif (version := int(meta.resource_version)) <= (known := life.version):
            if version < known:
                return
            # What we wrote ourselves; somebody else may have written before, unseen.
            is_news = _is_deleted(pod) != _is_deleted(life.pod) or meta.annotations != life.annotations
            if not is_news:
                life.pod = outline_of(pod) if life.settled else pod
                return
        if life.rests and _is_changed(life, pod):
            life.rests = False
        life.annotations = meta.annotations
        life.settled = False
        life.pod = pod
        life.node = pod.spec.node_name or life.node
        self._queue.add(meta.uid, initial=initial)

    def gone(self, uid: str) -> None:
        """A pod is not there any more."""
        life = self._lives.pop(uid, None)
        self._neighbours.gone(uid)
        if life is not None:
            self._addresses.free(life.address)
        if self._programs is not None:
            self._programs.stopped(uid)

    def only(self, uids: set[str]) -> None:
        """All other pods are gone."""
        for uid in [uid for uid in self._lives if uid not in uids]:
            self.gone(uid)

    def _place_found(self) -> None:
        for uid, life in self._lives.items():
            if not life.node:
                self._queue.add(uid)

    def _exited(self, uid: str) -> None:
        life = self._lives.get(uid)
        if life is not None:
            life.exited = True
            life.rests = False
            self._queue.add(uid)

    def _host(self, life: Life, shape: Shape) -> None:
        """The program runs while the containers do."""
        if self._programs is None or life.exited:
            return
        meta = life.pod.metadata
        if _is_deleted(life.pod) or shape not in (Shape.RUNNING, Shape.READY):
            self._programs.stopped(meta.uid)
            return
        pod = Hosted(meta.namespace, meta.name, meta.uid, meta.labels, meta.annotations, life.address)
        self._programs.runs(pod, ready=shape is Shape.READY)

    async def _look(self, uid: str) -> float | None:
        """Does what is due for one pod; answers with the seconds until something else may be."""
        life = self._lives.get(uid)
        if life is None or life.settled or not self._is_ours(life):
            return None
        if life.pod.status.phase in ("Succeeded", "Failed") and not _is_deleted(life.pod):
            self._host(life, Shape.NEW)
            return None
        if life.rests:
            self._host(life, shape_of(life.pod))
            return None
        try:
            behaviour = self._behaviour(life.pod)
            if _is_deleted(life.pod):
                self._host(life, Shape.NEW)
                return await self._end(life, behaviour)
            return await self._go_on(life, behaviour)
        except (NotFound, Invalid):
            # Gone, or made again under its name: the watch will say so.
            return None

    async def _go_on(self, life: Life, behaviour: Behaviour) -> float | None:
        """Does what is due for a pod that nobody has deleted."""
        if self._coarse and behaviour.is_plain and not life.node:
            again = await self._start(life, behaviour)
            if again != 0.0:
                return again
        if not life.node:
            if self._obstacles is not None and self._is_hindered(life, await self._before_binding(life)):
                return LOOK_AGAIN
            if not (await self._bind(life, behaviour) and self._is_ours(life)):
                return None
        if self._obstacles is not None and self._is_hindered(life, await self._before_starting(life)):
            return LOOK_AGAIN
        again = await self._shape(life, behaviour)
        if again is None and self._programs is None:
            life.settle()
        return again

    def _behaviour(self, pod: Pod) -> Behaviour:
        meta = pod.metadata
        if self._histories.pasts:
            place = meta.namespace, meta.name
            return self._histories.behaviour(place, meta.labels, meta.controller_uid, meta.annotations, self._defaults)
        return behaviour_of(meta.annotations, self._defaults) if meta.annotations else self._usual

    async def _before_binding(self, life: Life) -> tuple[Obstacle, ...]:
        """What the pod lacks on every node; its status says so, too."""
        if self._obstacles is None:
            return ()
        obstacles = await self._obstacles.to_binding(life.ref, len(self._nodes))
        for each in obstacles:
            if each.about is None:
                await self._say_unschedulable(life, each.text)
        return obstacles

    async def _before_starting(self, life: Life) -> tuple[Obstacle, ...]:
        if self._obstacles is None or shape_of(life.pod) is not Shape.NEW:
            return ()
        return await self._obstacles.to_starting(life.ref)

    def _is_hindered(self, life: Life, obstacles: tuple[Obstacle, ...]) -> bool:
        """Tells of obstacles that were there a moment ago, too: what comes with the pod may come after it."""
        if obstacles and life.hindered:
            for each in obstacles:
                self._telling.hindered(each.about or life.ref, each.reason, each.text)
        life.hindered = bool(obstacles)
        return life.hindered

    def _is_ours(self, life: Life) -> bool:
        """Whether the pod is on one of these nodes, or may come to be; others have a kubelet of their own."""
        return not life.node or life.node in self._nodes

    async def _start(self, life: Life, behaviour: Behaviour) -> float | None:
        """Binds the pod, runs it and makes it ready in one write, when that is due: 0 afterwards."""
        if not self._may_be_bound(life, behaviour):
            return None
        now = clock.monotonic()
        life.run = life.run or begun(life.pod, Shape.NEW, behaviour, now)
        if (rest := life.run.started + behaviour.ready_after - now) > 0:
            return rest
        obstacles = await self._before_binding(life) or await self._before_starting(life)
        if self._is_hindered(life, obstacles):
            return LOOK_AGAIN
        node = await self._place_for(life)
        if not node:
            life.run = None  # it starts when there is a node for it
            return None
        fields = self._fields(life, Shape.READY, 0)
        with self._giving_back(life):
            life.answered(await self._pods.start(life.pod, node, fields))
        life.node = node
        life.run = turned(life.run, Shape.READY, now)
        self._telling.bound(life.pod, node)
        self._telling.took(life.pod, Shape.NEW, Shape.READY)
        return 0.0

    def _may_be_bound(self, life: Life, behaviour: Behaviour) -> bool:
        spec = life.pod.spec
        return not (behaviour.pending or spec.scheduling_gates or self._scheduler not in ("", spec.scheduler_name))

    async def _bind(self, life: Life, behaviour: Behaviour) -> bool:
        node = await self._place_for(life) if self._may_be_bound(life, behaviour) else ""
        if not node:
            return False
        with self._giving_back(life):
            life.answered(await self._pods.bind(life.pod, node))
        life.node = node
        self._telling.bound(life.pod, node)
        return True

    async def _place_for(self, life: Life) -> str:
        """Empty when there is no node for it."""
        place = await self._places.place_for(life.pod, life.ref)
        if isinstance(place, str):
            return place
        if self._obstacles is not None:
            self._telling.hindered(life.ref, place.reason, place.text)
        await self._say_unschedulable(life, place.text)
        return ""

    @contextmanager
    def _giving_back(self, life: Life) -> Iterator[None]:
        """A node that the pod could not be put on is not taken any more."""
        try:
            yield
        except KubeError:
            self._neighbours.release(life.pod.metadata.uid)
            raise

    async def _say_unschedulable(self, life: Life, why: str) -> None:
        fields = unschedulable(life.pod, why, clock.seconds(clock.now()))
        if fields is not None:
            life.answered(await self._pods.put_status(life.pod, fields))

    async def _shape(self, life: Life, behaviour: Behaviour) -> float | None:
        """Has the pod take the shapes that are due; answers with the seconds until the next is."""
        while not _is_deleted(life.pod):
            again = await self._take_shape(life, behaviour)
            if again != 0.0:
                return again
            behaviour = self._behaviour(life.pod)
        return 0.0

    async def _take_shape(self, life: Life, behaviour: Behaviour) -> float | None:
        """One shape; 0 when it was due, and another may be."""
        now = clock.monotonic()
        seen = shape_of(life.pod)
        if life.run is None:
            life.run = begun(life.pod, seen, behaviour, now)
        elif life.run.shape is not seen:
            life.run = Run(seen, now, life.run.started, life.pod.restarts)
        if seen in (Shape.RUNNING, Shape.READY) and not life.pod.runs_its_images:
            life.run = Run(Shape.RUNNING, now, now, life.pod.restarts + 1)
            await self._write(life, Shape.RUNNING, life.run.crashes)
            self._telling.took(life.pod, seen, Shape.RUNNING)
            return 0.0
        exited = life.exited
        wish = Wish(Shape.CRASHED) if exited else wanted(behaviour, life.run, now)
        if wish.shape is not seen:
            run = turned(life.run, wish.shape, now)
            if exited:
                run = structs.replace(run, down=min(FIRST_DOWN * 2.0 ** (run.crashes - 1), LONGEST_DOWN))
            await self._write(life, wish.shape, run.crashes)
            self._telling.took(life.pod, seen, wish.shape)
            life.run = run
            # A program that ended while this was written is looked at next.
            life.exited = life.exited and not exited
            return 0.0
        if not life.pod.is_as_its_gates:
            await self._write(life, seen, life.run.crashes)
        life.exited = False
        self._host(life, seen)
        return None if wish.until is None else wish.until - now

    def _fields(self, life: Life, shape: Shape, restarts: int) -> Tree:
        if not life.address:
            life.address = self._addresses.next()
        return status_fields(life.pod, shape, restarts, life.address, clock.seconds(clock.now()))

    async def _write(self, life: Life, shape: Shape, restarts: int) -> None:
        life.answered(await self._pods.put_status(life.pod, self._fields(life, shape, restarts)))
        if life.pod.metadata.annotations != life.annotations:
            self._telling.check(life.pod)
            life.annotations = life.pod.metadata.annotations

    async def _end(self, life: Life, behaviour: Behaviour) -> float | None:
        now = clock.monotonic()
        if life.dying_since is None:
            life.dying_since = now
            self._telling.ends(life.pod)
        if behaviour.hangs or life.deleted:
            return None
        if (rest := life.dying_since + behaviour.gone_after - now) > 0:
            return rest
        try:
            await self._pods.delete(life.pod)
        except Conflict:
            return None  # another pod has the name
        # With finalizers left it stays, and asking again would change nothing.
        life.deleted = True
        return None


def _failed(uid: str, error: Exception) -> None:
    """Failed requests are tried again, without a word; anything else is a mistake of ours and ends the run."""
    if not isinstance(error, KubeError):
        raise error


def _is_changed(life: Life, new: Pod) -> bool:
    """Whether somebody has told the pod to behave otherwise than it does."""
    is_told = new.metadata.annotations != life.annotations or new.spec.node_name != life.node
    return is_told or _is_deleted(new) != _is_deleted(life.pod)


def _is_deleted(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None
