"""Plays mishaps on the embedded cluster: operators that crash and come back, faults on their calls, a clock that jumps.

The lines are told in `mishaps.lines`. Operators come from the caller, as a coroutine function that is given its `Life`,
the transport of one process: it is called once for each life. Everything depends on the lines, the cluster's seed and
the seed of the loop alone, and `Play.digest` is the same whenever they are.

The network belongs to nobody: what an operator has sent is carried out even if it is killed meanwhile, and its answer
is lost. A process that is killed sends nothing more; its tasks are cancelled, and whatever they try on their way out
fails as if there were no connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from hashlib import blake2b
from itertools import count
from typing import Any, NoReturn, TypeAlias, TypeVar

from kubeloop import clock
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.errors import KubeError, TransportError
from kubeloop.objects.meta import Resource
from kubeloop.request import Request, Response, Stream, Transport
from kubesim.auth.rbac import User, master
from kubesim.cluster import Cluster
from kubesim.fault_lines import Calls, Plan
from kubesim.faults import Faulty
from kubesim.mishaps.lines import Crash, Script, read
from kubesim.store.versions import Author, Event
from kubesim.time import VirtualLoop

T = TypeVar("T")


class _Fate:
    """A crash at a call, with the count of such calls over all lives of one operator."""

    def __init__(self, crash: Crash, seed: str) -> None:
        self.line = crash.line
        self.before = crash.before
        self.calls = Calls(crash.calls, seed=f"{seed} {crash.line}")


class Life:
    """One process of an operator: its name, which no other has, and its way to the cluster."""

    def __init__(self, name: str, transport: Transport, plan: Plan, fates: list[_Fate], play: Play) -> None:
        self.name = name
        self.is_dead = False
        self.ended = asyncio.Event()
        """The process is no more."""
        self.at_death: list[Callable[[], None]] = []
        """Called at the moment in which it is killed."""
        self._faulty = Faulty(transport, plan)
        self._fates = fates
        self._play = play
        self._task: asyncio.Task[None] | None = None

    async def send(self, request: Request) -> Response:
        fate = self._sent(request)
        try:
            response = await self._play.carried(self._faulty.send(request))
        except KubeError:
            if fate is not None:
                self._meet(fate)
            raise
        if fate is not None:
            self._meet(fate)
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        fate = self._sent(request)
        async with self._faulty.stream(request) as opened:
            if fate is not None:
                self._meet(fate)
            yield opened

    async def call(self, call: Call) -> Reply:
        """A call to a pod or a webhook on the cluster's network."""
        if self.is_dead:
            raise NoReply("this process is dead")
        self._play.trace(f"{self.name} {call.method} {call.url}", call.body)
        return await self._play.carried(self._play.dial(call))

    def start(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def kill(self, why: str) -> None:
        """At once: it cleans nothing up."""
        if self.ended.is_set():
            return
        self._play.note(f"{self.name} killed: {why}")
        self.is_dead = True
        self.ended.set()
        for told in self.at_death:
            told()
        if self._task is not None:
            self._task.cancel()

    def _sent(self, request: Request) -> _Fate | None:
        """What befalls the process when the request is carried out; raises when it does not get to send it."""
        if self.is_dead:
            raise TransportError("this process is dead")
        self._play.trace(f"{self.name} {request.method} {request.target}", request.body)
        at = self._play.elapsed()
        met = [fate for fate in self._fates if fate.calls.meet(request, at)]
        if met and met[0].before:
            self._meet(met[0])
        return met[0] if met else None

    def _meet(self, fate: _Fate) -> NoReturn:
        self.kill(fate.line)
        raise TransportError("this process is dead")


Operate: TypeAlias = Callable[[Life], Coroutine[Any, Any, None]]
"""Runs one process of an operator until it ends by itself."""


class Play:
    """One run of a list of mishaps; `happened` tells each as it strikes, after the seconds from the beginning."""

    def __init__(
        self,
        faults: str | Iterable[str],
        cluster: Cluster,
        operate: Operate,
        *,
        user: Callable[[str], User] = master,
    ) -> None:
        """Raises ValueError for a line that makes no sense. `user` is whom the process of a name acts as."""
        self.script: Script = read(faults, seed=cluster.seed)
        self.happened: list[str] = []
        self.lives: dict[int, Life] = {}
        """The present or last life of each operator."""
        self._cluster = cluster
        self._operate = operate
        self._user = user
        self._began = 0.0
        self._trace = blake2b(digest_size=16)
        self._travelling: dict[asyncio.Task[Any], None] = {}

    def elapsed(self) -> float:
        """Seconds from the beginning."""
        return clock.monotonic() - self._began

    def digest(self) -> str:
        """Of every request of operators, every write to the cluster and every mishap so far, with their times."""
        return self._trace.hexdigest()

    def trace(self, line: str, body: bytes = b"") -> None:
        self._trace.update(f"{clock.monotonic():.6f} {line}\n".encode() + body)

    def note(self, line: str) -> None:
        """Something befell somebody."""
        self.happened.append(f"{self.elapsed():.3f} {line}")
        self.trace(line)

    async def run(self) -> None:
        """Until it is cancelled; raises what an operator raises, unless that is an error of the API or the network."""
        if self.script.jumps and not isinstance(asyncio.get_running_loop(), VirtualLoop):
            raise ValueError(
                f"{self.script.jumps[0].line!r} needs virtual time: the machine's clock is not ours to set"
            )
        self._began = clock.monotonic()
        self._cluster.store.listen(self._see)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_time(), name="mishaps: times")
                for number in range(1, self.script.operators + 1):
                    group.create_task(self._keep(number, group), name=f"mishaps: operator {number}")
                # What is under way in the network arrives also when all operators are gone.
                await asyncio.get_running_loop().create_future()
        except BaseExceptionGroup as errors:
            raise _innermost(errors) from None
        finally:
            for task in self._travelling:
                task.cancel()
            await asyncio.gather(*self._travelling, return_exceptions=True)

    async def carried(self, work: Coroutine[Any, Any, T]) -> T:
        """The answer, once the network has it; without anybody who waits for it the work goes on."""
        task = asyncio.create_task(work, name="mishaps: network")
        self._travelling[task] = None
        task.add_done_callback(self._arrived)
        await asyncio.wait([task])
        return task.result()

    def _arrived(self, task: asyncio.Task[Any]) -> None:
        self._travelling.pop(task, None)
        if not task.cancelled():
            task.exception()  # its sender may be gone

    def dial(self, call: Call) -> Coroutine[Any, Any, Reply]:
        return self._cluster.network.call(call)

    async def _keep(self, number: int, group: asyncio.TaskGroup) -> None:
        """Keeps one operator running, as a Deployment does."""
        script = self.script
        plan = Plan(script.faults_of(number), lambda line, asked: self._note_fault(number, line, asked))
        plan.start(self._began)
        fates = [
            _Fate(crash, f"{self._cluster.seed} {number}") for crash in script.crashes_of(number) if crash.at is None
        ]
        for nth in count(1):
            name = f"operator-{number}-{nth}"
            life = Life(name, self._cluster.transport(self._user(name)), plan, fates, self)
            self.lives[number] = life
            self.note(f"{name} started")
            life.start(group.create_task(self._live(life), name=name))
            await life.ended.wait()
            seconds = script.restart_of(number)
            if seconds is None:
                return
            await asyncio.sleep(seconds)

    def _note_fault(self, number: int, line: str, asked: Request) -> None:
        self.note(f"{self.lives[number].name} {line} ({asked.doing})")

    async def _live(self, life: Life) -> None:
        why = "in order"
        try:
            await self._operate(life)
        except Exception as error:
            # A process that was killed does not get to do what fails here.
            if not life.is_dead and not _is_of_the_cluster(error):
                raise
            why = str(_innermost(error))
        if not life.is_dead:
            self.note(f"{life.name} ended: {why}")
            life.is_dead = True
            life.ended.set()

    async def _keep_time(self) -> None:
        """Does what has a time, in the order of the times."""
        script = self.script
        due: list[tuple[float, Callable[[], None]]] = [
            *((jump.at, self._jumping(jump.line, jump.seconds)) for jump in script.jumps),
            *((upset.at, self._upsetting(upset.line, upset.what)) for upset in script.upsets),
            *((crash.at, self._crashing(crash)) for crash in script.crashes if crash.at is not None),
        ]
        for at, strike in sorted(due, key=lambda each: each[0]):
            await asyncio.sleep(self._began + at - clock.monotonic())
            strike()

    def _jumping(self, line: str, seconds: float) -> Callable[[], None]:
        def strike() -> None:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualLoop)  # noqa: S101  looked at when the play began
            loop.jump(seconds)
            self.note(line)

        return strike

    def _upsetting(self, line: str, what: str) -> Callable[[], None]:
        def strike() -> None:
            if what == "compact":
                self._cluster.compact()
            self._cluster.disconnect()
            self.note(line)

        return strike

    def _crashing(self, crash: Crash) -> Callable[[], None]:
        def strike() -> None:
            for number, life in sorted(self.lives.items()):
                if crash.operator in (None, number):
                    life.kill(crash.line)

        return strike

    def _see(self, resource: Resource, event: Event, author: Author) -> None:
        where = "/".join(event.new.key)
        self.trace(f"{author.user} {author.verb} {resource.plural} {where} {event.type} {event.revision}")


@asynccontextmanager
async def play(
    faults: str | Iterable[str], cluster: Cluster, operate: Operate, *, user: Callable[[str], User] = master
) -> AsyncIterator[Play]:
    """Plays mishaps while the block runs, on a cluster that runs; raises in the block what an operator raises."""
    playing = Play(faults, cluster, operate, user=user)
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(playing.run(), name="mishaps")
            yield playing
            task.cancel()
    except BaseExceptionGroup as errors:
        raise _innermost(errors) from None


def _is_of_the_cluster(error: Exception) -> bool:
    """Whether it is for want of the cluster or of a lease, as may happen to any operator."""
    if isinstance(error, ExceptionGroup):
        return error.split(KubeError)[1] is None
    return isinstance(error, KubeError)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
