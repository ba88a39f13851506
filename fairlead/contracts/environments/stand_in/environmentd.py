"""The stand-in environmentd: the leader API of one generation of an environment, and who leads.

A generation catches up, is ready to be promoted, takes over when it is told to, and leads; whoever led before is fenced
then and ends, as often as it is started again. Who leads, and who was told to take over, belongs to the environment and
outlives its pods; whatever else a process knows is lost when it restarts, its sessions included.

Pods are known by their label `materialize.cloud/app: environmentd`; annotations say how they behave, as
`stand_in.rules` tells.
"""

from __future__ import annotations

import asyncio
from http.cookies import CookieError, SimpleCookie

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.kinds import APP, GENERATION, RESOURCE_ID
from fairlead.contracts.environments.stand_in.rules import (
    INITIALIZING,
    LEADER,
    NEVER,
    READY,
    LeaderState,
    StandInSettings,
    StatusFacts,
    settings_of,
    standing,
)
from kubeloop import clock
from kubeloop.calls import Call, NoReply, Reply
from kubesim.kubelet.programs import Exit, Hosted

USER = "mz_system"
COOKIE = "mz_session"
CALLS = "/fairlead/calls"
PROGRAM = f"{__name__}:Environments"
"""What the kubelet as a process of its own is told to run."""
LOGIN, STATUS = "/api/login", "/api/leader/status"
SKIP, PROMOTE = "/api/leader/skip-catchup", "/api/leader/promote"


class AnsweredCall(Struct, frozen=True):
    """One call that a stand-in answered, or would have."""

    at: float
    """Seconds of the loop's clock."""
    namespace: str
    pod: str
    generation: int
    method: str
    path: str
    port: int | None
    """That the caller named."""
    status: int | None
    """Of the answer; None when there was none."""


class Environments:
    """All environments of one cluster; `make` is a Maker for the kubelet's programs, `record` answers for all of them.

    `catch_up` and `promote_takes` are the seconds that hold where a pod has no annotation.
    """

    def __init__(self, *, catch_up: float = 0.5, promote_takes: float = 0.5) -> None:
        self._defaults = StandInSettings(catch_up, promote_takes)
        self._running: dict[str, Environmentd] = {}
        """By the UID of the pod."""
        self._told: dict[tuple[str, str, int], float] = {}
        """When a generation of an environment was told to take over."""
        self.leaders: dict[tuple[str, str], int] = {}
        """Generation that leads, by the namespace and the id of the environment."""
        self.seen: list[AnsweredCall] = []
        """Every call, in order."""

    def make(self, pod: Hosted, exit_: Exit) -> Environmentd | None:
        """The stand-in for a pod that is labelled as environmentd and has an environment and a generation."""
        generation = pod.annotations.get(GENERATION, "")
        if pod.labels.get(APP) != "environmentd" or not pod.labels.get(RESOURCE_ID) or not generation.isdecimal():
            return None
        made = Environmentd(self, self._defaults, pod, exit_)
        self._running[pod.uid] = made
        made.look()
        return made

    def record(self, call: Call) -> Reply | None:
        """All calls as JSON, at a path of their own."""
        if (call.method, call.url.partition("?")[0]) != ("GET", CALLS):
            return None
        return _json(200, self.seen)

    def calls(self, path: str, generation: int | None = None) -> list[AnsweredCall]:
        """Those to one path, of one generation or of all."""
        return [each for each in self.seen if each.path == path and generation in (None, each.generation)]

    def tell(self, environment: tuple[str, str], generation: int, now: float) -> None:
        """The generation shall take over; telling it again changes nothing."""
        self._told.setdefault((*environment, generation), now)

    def told(self, environment: tuple[str, str], generation: int) -> float | None:
        return self._told.get((*environment, generation))

    def leads(self, environment: tuple[str, str], generation: int) -> None:
        """From now on; earlier generations are fenced."""
        self.leaders[environment] = generation
        for each in list(self._running.values()):
            if each.environment == environment:
                each.look()

    def forget(self, uid: str) -> None:
        self._running.pop(uid, None)


class Environmentd:
    """One process."""

    def __init__(self, world: Environments, defaults: StandInSettings, pod: Hosted, exit_: Exit) -> None:
        self._world = world
        self._defaults = defaults
        self._exit = exit_
        self._pod = pod
        self._started = clock.monotonic()
        self._skipped = False
        self._sessions: dict[str, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        self.environment = (pod.namespace, pod.labels[RESOURCE_ID])
        self.generation = int(pod.annotations[GENERATION])

    @property
    def settings(self) -> StandInSettings:
        return settings_of(self._pod.annotations, self._defaults)

    def changed(self, pod: Hosted) -> None:
        self._pod = pod
        self.look()

    def stop(self) -> None:
        self._ended = True
        self._world.forget(self._pod.uid)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def look(self) -> None:
        """Does what is due: takes the lead, or ends because another has it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._ended:
            return
        now = self._standing()
        loop = asyncio.get_running_loop()
        if now is None:
            # Not at once: it may only just be starting, and who started it has to hear of it first.
            loop.call_soon(self._end)
        elif now.status == LEADER and self._world.leaders.get(self.environment) != self.generation:
            self._world.leads(self.environment, self.generation)
        elif now.until is not None and now.until != NEVER:
            self._timer = loop.call_at(now.until, self.look)

    def _end(self) -> None:
        if not self._ended:
            self._exit()

    def _standing(self) -> LeaderState | None:
        world = self._world
        told, leader = world.told(self.environment, self.generation), world.leaders.get(self.environment)
        facts = StatusFacts(self.generation, self._started, leader, self._skipped, told)
        return standing(self.settings, facts, clock.monotonic())

    async def answer(self, call: Call) -> Reply:
        """Answers a call of the leader API, and notes it."""
        at, path = clock.monotonic(), call.url.partition("?")[0]
        reply: Reply | None = None
        try:
            if self.settings.faults.slow:
                await asyncio.sleep(self.settings.faults.slow)
            reply = self._answered(call, path)
        finally:
            where = (self._pod.namespace, self._pod.name, self.generation)
            port = _port(call)
            self._world.seen.append(
                AnsweredCall(at, *where, call.method, path, port, reply.status if reply is not None else None)
            )
        return reply

    def _answered(self, call: Call, path: str) -> Reply:
        if self._ended or self._standing() is None:
            raise NoReply(f"{call.shown}: connection refused")
        route = {LOGIN: ("POST", self._login), STATUS: ("GET", self._status)}
        route |= {SKIP: ("POST", self._skip), PROMOTE: ("POST", self._promote)}
        method, respond = route.get(path, ("", None))
        if respond is None or method != call.method:
            return Reply(404 if respond is None else 405)
        fault = self.settings.faults.answers.get(path.rpartition("/")[2], "")
        if fault.isdecimal():
            return _json(int(fault), {"message": f"told to answer with {fault}"})
        if path != LOGIN and self.settings.password and _cookie(call) not in self._sessions:
            return _json(401, {"message": "no session"})
        reply = respond(call)
        if fault == "lost":
            raise NoReply(f"{call.shown}: the connection was cut off before the whole answer was there")
        return reply

    def _login(self, call: Call) -> Reply:
        try:
            given = msgspec.json.decode(call.body, type=dict[str, str])
        except msgspec.DecodeError:
            return Reply(400)
        password = self.settings.password
        if given.get("username") != USER or (password and given.get("password") != password):
            return _json(401, {"message": "invalid login"})
        session = f"{self._pod.uid}-{len(self._sessions)}-{self._started:g}"
        self._sessions[session] = None
        return Reply(200, b"", (("Set-Cookie", f"{COOKIE}={session}; Path=/; HttpOnly"),))

    def _status(self, _call: Call) -> Reply:
        now = self._standing()
        return _json(200, {"status": now.status if now is not None else INITIALIZING})

    def _skip(self, _call: Call) -> Reply:
        if clock.monotonic() < self._started + self.settings.boot:
            return _json(400, {"message": "it is too early to skip catching up"})
        self._skipped = True
        self.look()
        return Reply(204)

    def _promote(self, call: Call) -> Reply:
        now, faults = self._standing(), self.settings.faults
        if now is None or now.status == INITIALIZING:
            return _json(400, {"result": {"Failure": {"message": "cannot promote a generation that is initializing"}}})
        if now.status == READY and not faults.lies:
            self._world.tell(self.environment, self.generation, clock.monotonic())
            if faults.restarts:
                self._exit()
                raise NoReply(f"{call.shown}: the connection was cut off before the whole answer was there")
            self.look()
        return _json(200, {"result": "Success"})


def _cookie(call: Call) -> str:
    jar: SimpleCookie = SimpleCookie()
    for value in call.header("Cookie"):
        try:
            jar.load(value)
        except CookieError:
            continue
    return jar[COOKIE].value if COOKIE in jar else ""


def _port(call: Call) -> int | None:
    port = (call.header("Host") or [""])[0].rpartition(":")[2]
    return int(port) if port.isdecimal() else None


def _json(status: int, value: object) -> Reply:
    return Reply(status, msgspec.json.encode(value), (("Content-Type", "application/json"),))
