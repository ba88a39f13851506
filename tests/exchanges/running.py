"""Plays a case on a world and gives what came of it, masked."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from kubeloop.request import Request
from tests.exchanges.case import Case, Step, digest
from tests.exchanges.masking import Mask, sorted_causes
from tests.exchanges.worlds import AGENT, Answer, World

Tree = dict[str, Any]

PATIENCE = 30.0
"""Seconds in which the cluster must have noticed what a case set up."""
_LOOK_EVERY = 0.02
_REFERENCE = re.compile(r"<<(\d+)\.([^>]+)>>")
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_NAMESPACES = "/api/v1/namespaces"


class NotReady(Exception):
    """What a case waits for did not come."""


class Play(Struct):
    """One case on one world."""

    case: Case
    world: World
    mask: Mask
    answers: dict[int, Any]
    """Of recorded steps, counted from 1, as they came."""

    def filled(self, value: Any) -> Any:
        """With the namespace, with what earlier answers said, and with where handlers are."""
        match value:
            case {"$hook": str(name)}:
                return self.world.hook(name)
            case dict():
                return {self.filled(key): self.filled(each) for key, each in value.items()}
            case list() | tuple():
                return [self.filled(each) for each in value]
            case str():
                return _REFERENCE.sub(self._referred, value.replace("{ns}", self.case.namespace))
            case _:
                return value

    def _referred(self, found: re.Match[str]) -> str:
        value = self.answers[int(found[1])]
        for part in found[2].split("."):
            value = value[int(part)] if isinstance(value, list) else value[part]
        return str(value)

    def request(self, step: Step) -> Request:
        query = tuple((name, self.filled(value)) for name, value in step.query)
        told = tuple((name, self.filled(value)) for name, value in step.headers)
        headers = (AGENT, *told, *((("Accept", step.accept),) if step.accept else ()))
        body = _encoded(self.filled(step.body))
        return Request(
            step.method,
            self.filled(step.path),
            query=query,
            body=body,
            content_type=step.content_type,
            headers=headers,
            timeout=60.0,
        )

    async def prepare(self) -> None:
        """The namespace and its account, without which pods are refused."""
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}"}}
        for path, tree in ((_NAMESPACES, namespace), (f"{_NAMESPACES}/{{ns}}/serviceaccounts", account)):
            answer = await self.send(Step(method="POST", path=path, body=tree, content_type="application/json"))
            if answer.status != 201:
                raise NotReady(f"{path} was answered with {answer.status}: {answer.body!r}")

    async def send(self, step: Step) -> Answer:
        return await self.world.send(self.request(step), step.user, step.groups)

    async def settle(self, step: Step) -> None:
        """Repeats the step until it is answered as it says."""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    answer = await self.send(step)
                    if answer.status == step.until and step.containing.encode() in answer.body:
                        return
                    await asyncio.sleep(_LOOK_EVERY)
        except TimeoutError:
            shown = answer.body.decode(errors="replace")[:400]
            raise NotReady(f"{step.request} is still answered with {answer.status}: {shown}") from None

    async def watch(self, step: Step) -> tuple[Answer, list[bytes]]:
        """The lines that came until there were enough or the server ended the watch."""
        async with self.world.stream(self.request(step), step.user, step.groups) as stream:
            if stream.status != 200:
                body = b"".join([line async for line in stream.lines])
                return Answer(stream.status, stream.headers, body), []
            for each in step.during:
                await self.send(each)
            lines = [line async for line in _first(stream.lines, step.lines or None)]
            return Answer(stream.status, stream.headers, b""), lines

    async def fetched(self, step: Step) -> tuple[Answer, list[bytes]]:
        """The answer to a step and, of a watch, its lines."""
        return (await self.send(step), []) if step.lines is None else await self.watch(step)

    async def recorded(self, step: Step) -> Tree:
        """The masked answer to a step."""
        return self.shown(step, *await self.fetched(step))

    def shown(self, step: Step, answer: Answer, lines: Sequence[bytes]) -> Tree:
        """An answer, masked and remembered."""
        number = len(self.answers) + 1
        watched = step.lines is not None and answer.status == 200
        tree = [_decoded(line) for line in lines] if watched else _decoded(answer.body)
        self.answers[number] = tree
        if step.any_order and isinstance(tree, dict):
            tree = sorted_causes(tree)
        shown: Tree = {"request": step.request, "sent": digest(step)}
        if "status" in step.compared:
            shown["status"] = answer.status
        if "headers" in step.compared:
            shown |= self._headers(answer.headers)
        if "body" in step.compared:
            shown["body"] = [self.mask.body(each) for each in tree] if isinstance(tree, list) else self._shown(tree)
        return shown

    def _shown(self, tree: Any) -> Any:
        return self.mask.text(tree) if isinstance(tree, str) else self.mask.body(tree)

    def _headers(self, headers: Mapping[str, Sequence[str]]) -> Tree:
        shown: Tree = {}
        if kind := ", ".join(headers.get("content-type", ())):
            shown["content-type"] = kind
        if wait := ", ".join(headers.get("retry-after", ())):
            shown["retry-after"] = wait
        if told := _WARNING.findall(" ".join(headers.get("warning", ()))):
            shown["warnings"] = [self.mask.text(re.sub(r"\\(.)", r"\1", each)) for each in told]
        return shown


async def play(case: Case, world: World) -> list[Tree]:
    """The masked answers to a case's steps, in its new namespace."""
    here = Play(case, world, mask_of(case), {})
    await here.prepare()
    shown = []
    for step in case.steps:
        if step.until:
            await here.settle(step)
        else:
            shown.append(await here.recorded(step))
    return shown


def mask_of(case: Case) -> Mask:
    """Leaves as it is what the case itself says."""
    sent = [step.body for each in case.steps for step in (each, *each.during)]
    given = _leaves([sent, [step.query for step in case.steps]])
    starts = [body["metadata"]["generateName"] for body in sent if _is_to_be_named(body)]
    return Mask(given, starts)


def _is_to_be_named(body: Any) -> bool:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return isinstance(metadata, dict) and "generateName" in metadata


async def clear(case: Case, world: World) -> None:
    """Removes what the case left at cluster scope, by the paths it created it at; the namespace stays."""
    here = Play(case, world, Mask(()), {})
    for step in reversed(case.steps):
        if step.method == "POST" and "/namespaces" not in step.path and isinstance(step.body, dict):
            name = (step.body.get("metadata") or {}).get("name")
            if name and not dict(step.query).get("dryRun"):
                await here.send(Step(method="DELETE", path=f"{step.path}/{name}"))


async def _first(lines: AsyncIterator[bytes], count: int | None) -> AsyncIterator[bytes]:
    seen = 0
    async for line in lines:
        if line.strip():
            yield line
            seen += 1
        if seen == count:
            return


def _encoded(body: Any) -> bytes:
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return body.encode()
        case _:
            return json.dumps(body).encode()


def _decoded(body: bytes) -> Any:
    """The tree of JSON, else the text."""
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def _leaves(value: Any) -> Iterator[object]:
    match value:
        case dict():
            for key, each in value.items():
                yield key
                yield from _leaves(each)
        case list() | tuple():
            for each in value:
                yield from _leaves(each)
        case bytes():
            yield from re.findall(r"[\w.:-]+", value.decode(errors="replace"))
        case str():
            yield value
            yield from re.findall(r"[\w.:-]+", value) if "\n" in value or value.startswith("{") else ()
        case int():
            yield value
