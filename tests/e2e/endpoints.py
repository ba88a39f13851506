"""The HTTP endpoints of pods, played by the test: what was called, in order, and answers as bad as they may be.

On the embedded cluster they are hosts of its network, in virtual time. Beside a real cluster they are a real HTTP
server behind `HTTP_PROXY`, the way in which the contract lets tests stand in for names that only a cluster resolves.
Left alone, a pod does what the contract asks of it: it answers each POST with the time of the first, until a DELETE.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from aiohttp import web
from msgspec import Struct

from fairlead.contracts.zones.kinds import DELAY, DELAY_URL
from kubeloop import clock
from kubeloop.calls import Call, Handler, NoReply, Reply
from kubeloop.durations import prometheus_nanoseconds
from kubeloop.objects.apps import STATEFULSETS
from tests.e2e.clusters import SimGround, Site
from tests.e2e.history import Event, Tree
from tests.e2e.zones import PREFIX, Zone

SAME_PASS = 10.0
"""Seconds; what a pod said longer ago than that was not said in the pass that scales."""
PROXY_VARIABLES = ("HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy")


class Answer(Struct, frozen=True):
    """What a pod does with a call."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0
    """Seconds before it answers."""
    after: asyncio.Event | None = None
    """It answers when this has happened."""
    hangs: bool = False
    """It never answers."""
    cut: bool = False
    """The connection breaks instead."""


HANGING, CUT = Answer(hangs=True), Answer(cut=True)


def timestamp(value: object) -> Answer:
    """Prepared at that time, or at what is no time."""
    return Answer(body=json.dumps({"timestamp": value}).encode())


class Heard(Struct):
    """A call that reached a pod."""

    method: str
    pod: str
    """Without what all names begin with: `a-0`."""
    host: str
    """With the port, as the caller wrote it."""
    path: str
    """With the query."""
    headers: Mapping[str, str]
    at: float
    """Loop time."""
    status: int | None = None
    """Of the answer; None while there is none."""
    age: float | None = None
    """Seconds from the reported time to the moment of the answer."""

    def __str__(self) -> str:
        return f"{self.method} {self.pod}"


class PodEndpoint:
    """One pod."""

    def __init__(self) -> None:
        self.since: datetime | None = None
        self.answers: dict[str, Answer] = {}
        """Instead of what the contract asks, by method, or by method and path like `POST /there`."""

    def reply(self, method: str, path: str) -> Answer:
        for call in (f"{method} {path}", method):
            if call in self.answers:
                return self.answers[call]
        if method != "POST":
            self.since = None
            return Answer()
        self.since = self.since or clock.now()
        return timestamp(int(self.since.timestamp()))


class Endpoints:
    """The endpoints of all pods that were given to `serve`; nobody answers for others."""

    def __init__(self, site: Site) -> None:
        self.heard: list[Heard] = []
        self.at_once = 0
        """How many calls wait for their answer."""
        self.most_at_once = 0
        self._site = site
        self._pods: dict[str, PodEndpoint] = {}
        self._names: dict[str, str] = {}
        """Of pods by their hosts."""

    def serve(
        self,
        zone: Zone,
        count: int,
        *,
        first: int = 0,
        service: str = "ingester",
        namespace: str = "",
        domain: str = "cluster.local.",
    ) -> Endpoints:
        """Pods of the zone with so many ordinals answer from now on."""
        for ordinal in range(first, first + count):
            pod = f"{zone.name}-{ordinal}"
            host = f"{pod}.{service}.{namespace or self._site.namespace}.svc.{domain}"
            self._names[host] = name = pod.removeprefix(PREFIX)
            self._pods[name] = PodEndpoint()
            if isinstance(self._site.ground, SimGround):
                self._site.ground.cluster.network.serve(host, self.handler)
        return self

    def __getitem__(self, pod: str) -> PodEndpoint:
        return self._pods[pod]

    def age(self, **minutes: float) -> None:
        """`a_4=70`: pod a-4 was first told to prepare 70 minutes ago."""
        for pod, ago in minutes.items():
            self[pod.replace("_", "-")].since = clock.now() - timedelta(minutes=ago)

    def answer(self, pod: str, call: str, answer: Answer | None) -> None:
        """The pod answers so from now on to a method, or to a method and path; None: as the contract asks."""
        if answer is None:
            self[pod].answers.pop(call, None)
        else:
            self[pod].answers[call] = answer

    def calls(self, since: int = 0) -> list[str]:
        """`POST a-3`, each as often as it was heard, in order; from the so-manieth on."""
        return [str(each) for each in self.heard[since:]]

    def called(self, method: str, since: int = 0) -> list[str]:
        """The pods that were called like that, in natural order and each once."""
        found = {each.pod for each in self.heard[since:] if each.method == method}
        return sorted(found, key=lambda pod: (pod.rpartition("-")[0], int(pod.rpartition("-")[2])))

    @property
    def now(self) -> int:
        """How many calls have been heard; for `since`."""
        return len(self.heard)

    async def until(self, holds: Callable[[], object], *, within: float = 60.0) -> None:
        await self._site.until(holds, within=within)

    async def handler(self, call: Call) -> Reply:
        """Takes a call to any of the pods; its Host header says to which."""
        host = "".join(call.header("Host"))
        name = self._names.get(host.partition(":")[0])
        if name is None:
            raise NoReply(f"{call.method} {call.url}: no such host")
        heard = Heard(call.method, name, host, call.url, _headers(call), clock.monotonic())
        self.heard.append(heard)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self._site.history.wake()
        answer = self[name].reply(call.method, call.url)
        try:
            await _passed(answer)
        finally:
            self.at_once -= 1
        if answer.cut:
            raise NoReply(f"{call.method} {call.url}: cut")
        heard.status, heard.age = answer.status, _age(call.method, answer)
        self._site.history.wake()
        return Reply(answer.status, answer.body, answer.headers)

    def judge(self) -> None:
        """Raises AssertionError where zones S12 was broken.

        No delayed zone may lose a pod that did not tell, in that very pass, of a preparation at least so long ago.
        """
        before: dict[str, Tree] = {}
        scaled_at = -1.0
        for event in self._site.history.of(STATEFULSETS):
            known = before.get(event.name)
            before[event.name] = event.object
            written = self._site.notes.of(STATEFULSETS.plural, event.name, event.version)
            if written is None or known is None or known["spec"]["replicas"] == event.object["spec"]["replicas"]:
                continue
            self._judge(known, event, written.at, scaled_at)
            scaled_at = written.at

    def _judge(self, before: Tree, event: Event, at: float, since: float) -> None:
        delay = _delay(before)
        first = before["spec"].get("ordinals", {}).get("start", 0)
        for index in range(event.object["spec"]["replicas"], before["spec"]["replicas"]) if delay else ():
            pod = f"{event.name}-{first + index}".removeprefix(PREFIX)
            said = [each for each in self.heard if (each.method, each.pod) == ("POST", pod) and each.at <= at]
            last = said[-1] if said else None
            if last is None or last.at < max(since, at - SAME_PASS):
                raise AssertionError(f"S12 broken: {pod} was scaled away without being asked in that pass")
            if last.age is None or last.age + at - last.at < delay:
                told = f"{last.age} s ago" if last.age is not None else "never"
                raise AssertionError(f"S12 broken: {pod} was prepared {told} and scaled away; the delay is {delay:g} s")


async def endpoints(site: Site) -> Endpoints:
    """Until the end of the scenario."""
    made = Endpoints(site)
    site.judges.append(made.judge)
    if not isinstance(site.ground, SimGround):
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        site.start(_proxying(made.handler, ready))
        await ready
    return made


async def _proxying(handler: Handler, ready: asyncio.Future[None]) -> None:
    """An HTTP proxy that answers itself, and the environment in which it is used."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        target = urlsplit(request.raw_path)  # a proxy is asked for the whole address
        shown = (target.path or "/") + (f"?{target.query}" if target.query else "")
        headers = {**request.headers, "Host": target.netloc}
        call = Call(method=request.method, url=shown, headers=tuple(headers.items()), body=await request.read())
        try:
            reply = await handler(call)
        except NoReply as error:
            if "no such host" in str(error):
                return web.Response(status=502)
            assert request.transport is not None
            request.transport.abort()
            raise asyncio.CancelledError from None
        return web.Response(status=reply.status, body=reply.body, headers=dict(reply.headers))

    server = web.Server(answer, access_log=None, handler_cancellation=True)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    before = {name: os.environ.pop(name) for name in PROXY_VARIABLES if name in os.environ}
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        os.environ["HTTP_PROXY"] = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set_result(None)
        await asyncio.Event().wait()
    finally:
        os.environ.pop("HTTP_PROXY", None)
        os.environ.update(before)
        await runner.cleanup()


async def _passed(answer: Answer) -> None:
    """Returns when the pod gets round to answering."""
    if answer.hangs:
        await asyncio.Event().wait()
    if answer.after is not None:
        await answer.after.wait()
    await asyncio.sleep(answer.delay)


def _headers(call: Call) -> Mapping[str, str]:
    return {name.lower(): value for name, value in call.headers}


def _age(method: str, answer: Answer) -> float | None:
    """None for an answer that tells of no preparation."""
    try:
        told = json.loads(answer.body)["timestamp"] if method == "POST" and answer.status < 300 else None
    except (ValueError, KeyError, TypeError):
        return None
    return clock.now().timestamp() - told if isinstance(told, int) and told else None


def _delay(zone: Tree) -> float:
    """Seconds; 0 when nothing is delayed."""
    annotations = zone["metadata"].get("annotations", {})
    if not annotations.get(DELAY) or not annotations.get(DELAY_URL):
        return 0.0
    return prometheus_nanoseconds(annotations[DELAY]) / 1e9
