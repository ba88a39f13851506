"""Pods that answer HTTP as an annotation says: what to which path, at which port, to which method, and how late.

    fairlead.dev/sim-http: '{"/ready": 503, "POST :8080/prepare": {"status": 200, "body": {"at": 1}, "delay": "2s"}}'

A key is `[METHOD ][:PORT]/PATH`; a path that ends in `*` stands for all that begin so. A value is a status, or an
object with `status` (200), `body` (a text as it is, anything else as JSON), `headers` and `delay` (a duration as Go
writes them). The most exact key wins: a whole path before the beginning of one, a longer beginning before a shorter
one, and among those a key with a method, then one with a port. What no key is about is answered with 404.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from kubeloop.calls import Call, Reply
from kubeloop.durations import parse_go
from kubesim.kubelet.programs import Exit, Hosted
from kubesim.pods.behaviour import HTTP

EXAMPLE = '{"/ready": 503, "POST :8080/prepare": {"body": {"at": 1}, "delay": "2s"}}'
_KEY = re.compile(r"(?:([A-Z]+) )?(?::(\d{1,5}))?(/\S*)")
_PORT = 80
_PLAIN = ("Content-Type", "text/plain; charset=utf-8")
_JSON = ("Content-Type", "application/json")
_NOT_FOUND = Reply(404, b"404 page not found\n", (_PLAIN,))


class _Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """A value of the annotation."""

    status: int = 200
    body: object = ""
    headers: dict[str, str] = {}
    delay: str = "0s"


class AnswerRule(Struct, frozen=True):
    """One answer, and the calls it is for; an empty method and port 0 are any."""

    method: str
    port: int
    path: str
    reply: Reply
    delay: float = 0.0

    @property
    def is_prefix(self) -> bool:
        return self.path.endswith("*")

    def is_about(self, method: str, port: int, path: str) -> bool:
        if self.method not in ("", method) or self.port not in (0, port):
            return False
        return path.startswith(self.path[:-1]) if self.is_prefix else path == self.path

    @property
    def exactness(self) -> tuple[bool, int, bool, bool]:
        return not self.is_prefix, len(self.path), bool(self.method), bool(self.port)


def read(text: str) -> tuple[AnswerRule, ...]:
    """The rules that an annotation says, the most exact first; ValueError says what is wrong with it."""
    try:
        given = msgspec.json.decode(text, type=dict[str, int | _Answer])
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None
    return tuple(sorted((_rule(key, value) for key, value in given.items()), key=lambda rule: rule.exactness)[::-1])


def _rule(key: str, value: int | _Answer) -> AnswerRule:
    found = _KEY.fullmatch(key)
    if found is None:
        raise ValueError(f'"{key}" is not [METHOD ][:PORT]/PATH')
    answer = value if isinstance(value, _Answer) else _Answer(status=value)
    if not 100 <= answer.status <= 599:
        raise ValueError(f'"{key}" has status {answer.status}, which is none from 100 to 599')
    try:
        delay = parse_go(answer.delay)
    except ValueError:
        raise ValueError(f'"{key}" has delay "{answer.delay}", which is no duration like 500ms or 2s') from None
    is_text = isinstance(answer.body, str)
    body = answer.body.encode() if isinstance(answer.body, str) else msgspec.json.encode(answer.body)
    named = {name.lower() for name in answer.headers}
    kind = () if "content-type" in named or not body else (_PLAIN if is_text else _JSON,)
    reply = Reply(answer.status, body, (*kind, *answer.headers.items()))
    return AnswerRule(found[1] or "", int(found[2] or 0), found[3], reply, max(delay, 0.0))


def complaints(annotations: Mapping[str, str]) -> list[str]:
    """What is wrong with the annotation, and how to write it; nothing where it is sound or absent."""
    try:
        read(annotations.get(HTTP, "{}"))
    except ValueError as error:
        return [f"{HTTP} is ignored: {error}. Write it like {EXAMPLE}"]
    return []


class Answering:
    """What runs in a pod with the annotation."""

    def __init__(self, pod: Hosted) -> None:
        self._rules: tuple[AnswerRule, ...] = ()
        self.changed(pod)

    def changed(self, pod: Hosted) -> None:
        """An annotation that cannot be read counts as one without answers; the kubelet tells of it."""
        try:
            self._rules = read(pod.annotations.get(HTTP, "{}"))
        except ValueError:
            self._rules = ()

    def stop(self) -> None:
        """Nothing goes on between two calls."""

    async def answer(self, call: Call) -> Reply:
        path = call.url.partition("?")[0]
        rule = next((each for each in self._rules if each.is_about(call.method, _port(call), path)), None)
        if rule is None:
            return _NOT_FOUND
        await asyncio.sleep(rule.delay)
        return rule.reply


def answering(pod: Hosted, _exit: Exit) -> Answering | None:
    """The program of a pod with the annotation; None for others."""
    return Answering(pod) if HTTP in pod.annotations else None


def _port(call: Call) -> int:
    """The port that the caller has named, else that of HTTP."""
    host = next(iter(call.header("Host")), "")
    try:
        return urlsplit(f"//{host}").port or _PORT
    except ValueError:
        return _PORT
