"""The HTTP endpoints of pods: each does what the contract asks of it, until it is told to fail, hang, dawdle or lie."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import msgspec
from msgspec import Struct

from kubeloop import clock
from kubeloop.calls import Call, Handler, NoReply, Reply
from kubesim.network import Network
from tests.chaos.doing import doing

PREPARE, DELAYED = "prepare", "delayed"
PORT = "8080"
URL = f"http://pod:{PORT}/{DELAYED}"
SLOW_SECONDS = 2.0

OK = ""
MANNERS = ("slow", "failing", "hanging", "cut", "redirecting", "garbled", "early", "late", "zero")
"""Other ways to answer. Those of the last four answer in time and with success, but not with the truth: no JSON, a
moment of years ago, one of years ahead, none."""
_SAID = {"garbled": b"{", "early": b'{"timestamp": 1}', "late": b'{"timestamp": 99999999999}', "zero": b"{}"}


class Heard(Struct):
    """A call that reached a pod."""

    at: float
    doing: str
    """What its sender was at."""
    method: str
    path: str
    pod: str
    status: int | None = None
    """None while there is no answer."""
    said: int = 0
    """The time that a pod gave as that of its preparation."""
    answered: float | None = None


class Pods:
    """The endpoints of all pods; what they know of preparations belongs to one life of a pod."""

    def __init__(self, network: Network, now: Callable[[], float], uid_of: Callable[[str], str]) -> None:
        self.heard: list[Heard] = []
        self.manners: dict[str, str] = {}
        self._network = network
        self._now = now
        self._uid_of = uid_of
        self._since: dict[tuple[str, str], int] = {}
        """By name and UID: when it was first told."""
        self._prepared: set[tuple[str, str]] = set()
        """By name and UID: those that would leave for good when they end."""

    def serve(self, host: str, pod: str) -> None:
        self._network.serve(host, self._pod(pod))

    def prepared(self, pod: str) -> int | None:
        return self._since.get((pod, self._uid_of(pod)))

    def is_ready_to_leave(self, pod: str) -> bool:
        return (pod, self._uid_of(pod)) in self._prepared

    def heal(self) -> None:
        self.manners.clear()

    def _pod(self, pod: str) -> Handler:
        async def answer(call: Call) -> Reply:
            path = re.sub(r"\?.*", "", call.url).strip("/")
            heard = Heard(self._now(), doing(), call.method, path, pod)
            self.heard.append(heard)
            reply = await self._reply(pod, self.manners.get(pod, OK), heard)
            heard.status, heard.answered = reply.status, self._now()
            return reply

        return answer

    async def _reply(self, pod: str, manner: str, heard: Heard) -> Reply:
        uid = self._uid_of(pod)
        if not uid:
            raise NoReply(f"{pod}: no such host")
        match manner:
            case "slow":
                await asyncio.sleep(SLOW_SECONDS)
            case "failing":
                return Reply(500)
            case "hanging":
                await asyncio.Event().wait()
            case "cut":
                raise NoReply(f"{pod}: connection reset")
            case "redirecting":
                return Reply(302, headers=(("Location", f"http://{pod}/elsewhere"),))
        if heard.path == PREPARE:
            (self._prepared.add if heard.method == "POST" else self._prepared.discard)((pod, uid))
            return Reply(204)
        if heard.method == "DELETE":
            self._since.pop((pod, uid), None)
            return Reply(200)
        since = self._since.setdefault((pod, uid), int(clock.now().timestamp()))
        body = _SAID.get(manner) or msgspec.json.encode({"timestamp": since})
        heard.said = _timestamp(body)
        return Reply(200, body)


def _timestamp(body: bytes) -> int:
    try:
        said: int = msgspec.json.decode(body).get("timestamp", 0)
    except msgspec.DecodeError:
        return 0
    return said
