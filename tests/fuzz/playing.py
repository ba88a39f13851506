"""Plays a scenario on two clusters in step, until one answers differently from the other."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ServerDisconnectedError
from msgspec import Struct
from msgspec.structs import replace

from fairlead.plane.launch import Plane
from tests.exchanges import recordings
from tests.exchanges.case import JSON_PATCH, STRATEGIC, Case, Step, delete, get, post, unordered
from tests.exchanges.recordings import Answers
from tests.exchanges.running import Play, mask_of
from tests.exchanges.worlds import Answer, InProcess, OverHttp, World, handlers_served
from tools.exchanges import contexts

Tree = dict[str, Any]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REREADS = 4
"""How often a read that differs is tried again on the real server, whose caches lag behind its store."""
BROKEN, FAILED = 0, 599
"""In place of a status, where there is none."""
EARLIEST = "1"
"""The version before any object; whether a watch can begin there depends on how long a cluster has been running."""
_PAUSE = 0.25
_UNDECLARED = "field not declared in schema"
_WITHIN = re.compile(r"\S+\.metadata: (?=Invalid value: \{)")
_WRONG = re.compile(r"(?<=json: cannot unmarshal ).*|(?<=strict decoding error: ).*|(?<='Kind' is missing in ).*")
_PATCH = re.compile(r"(?<=patch: Invalid value: )\"map\[.*\](?=\": )|^Invalid value: \"map\[.*\](?=\": )")
_KINDLESS = re.compile(r"(?<=Object 'Kind' is missing in ).*")
_SEEN = re.compile(r"<<(version|continue|uid)(\d*)>>")


class Scenario(Struct, frozen=True):
    """Steps in a namespace of their own, with definitions that only they use.

    `<<version>>` in a text is the resource version that was told last, `<<version2>>` the second last but one;
    `<<continue>>` is the token of the last page, `<<uid>>` the last UID. `FUZZ` in a definition or a path is a word
    that no other scenario has.
    """

    steps: tuple[Step, ...]
    definitions: tuple[Tree, ...] = ()


class Difference(Struct, frozen=True):
    """The first step that was not answered alike."""

    index: int
    text: str
    """What the embedded cluster says instead, line by line."""


class _Side(Play):
    """One of the clusters."""

    def filled(self, value: Any) -> Any:
        return super().filled(_SEEN.sub(self._seen, value) if isinstance(value, str) else value)

    def _seen(self, found: re.Match[str]) -> str:
        """What was told, or a word that nobody told where nothing was."""
        ago, told = int(found[2] or 0), [*_told(list(self.answers.values()), found[1])]
        return told[-1 - ago] if ago < len(told) else "0"

    async def defined(self, definition: Tree) -> Tree:
        """Creates a definition and, unless it is refused, waits until it is served."""
        made = await self.recorded(unordered(post(CRDS, definition)))
        if made["status"] == 201:
            spec = definition["spec"]
            for version in spec["versions"]:
                path = f"/apis/{spec['group']}/{version['name']}/namespaces/{{ns}}/{spec['names']['plural']}"
                if version["served"]:
                    await self.settle(_until(get(path)))
        return made

    async def fetched(self, step: Step) -> tuple[Answer, list[bytes]]:
        try:
            return await super().fetched(step)
        except ServerDisconnectedError:
            return Answer(BROKEN, {}, b"the connection broke"), []
        except Exception as error:  # noqa: BLE001  a failure of the embedded cluster is a difference like any other
            return Answer(FAILED, {}, f"{type(error).__name__}: {error}".encode()), []


def _until(step: Step) -> Step:
    return Step(method=step.method, path=step.path, until=200)


_FIELDS = {"version": "resourceVersion", "continue": "continue", "uid": "uid"}


def _told(value: Any, word: str) -> Iterator[str]:
    """All values of a field of metadata, in the order in which they were told."""
    if isinstance(value, list):
        for each in value:
            yield from _told(each, word)
    elif isinstance(value, dict):
        found = value.get("metadata")
        if isinstance(found, dict) and isinstance(found.get(_FIELDS[word]), str) and found[_FIELDS[word]] != EARLIEST:
            yield found[_FIELDS[word]]
        yield from _told(value.get("items") or [], word)


class Pair:
    """An embedded cluster and a real one; `word` begins the names of what is made on them."""

    def __init__(self, word: str, ours: World, theirs: World) -> None:
        self._word = word
        self._worlds = ours, theirs
        self._numbers = itertools.count(1)

    async def define(self, definitions: Sequence[Tree]) -> None:
        """Definitions for all scenarios."""
        found = await self.different(Scenario((), tuple(definitions)), keep=True)
        if found is not None:
            raise AssertionError(found.text)

    async def different(self, scenario: Scenario, *, keep: bool = False) -> Difference | None:
        """The first difference; what the scenario defined is removed unless it is to be kept."""
        number = next(self._numbers)
        word = f"f{number}"
        steps = tuple(replace(step, path=step.path.replace("FUZZ", word)) for step in scenario.steps)
        case = Case(f"{self._word}-{number}", steps)
        sides = [_Side(case, world, mask_of(case), {}) for world in self._worlds]
        definitions = [_renamed(each, word) for each in scenario.definitions]
        await asyncio.gather(*(side.prepare() for side in sides))
        try:
            return await self._defined(sides, definitions) or await self._played(sides, steps)
        finally:
            if not keep:
                for each in definitions:
                    await asyncio.gather(*(side.send(delete(f"{CRDS}/{each['metadata']['name']}")) for side in sides))

    async def _defined(self, sides: Sequence[_Side], definitions: Sequence[Tree]) -> Difference | None:
        for definition in definitions:
            ours, theirs = await asyncio.gather(*(side.defined(definition) for side in sides))
            if text := _differences(post(CRDS, definition), ours, theirs):
                return Difference(-1, text)
        return None

    async def _played(self, sides: Sequence[_Side], steps: Sequence[Step]) -> Difference | None:
        for is_watch, group in itertools.groupby(enumerate(steps), lambda each: each[1].lines is not None):
            for batch in [[*group]] if is_watch else [[each] for each in group]:
                answers = await asyncio.gather(*(side.fetched(step) for _, step in batch for side in sides))
                for (index, step), *pair in zip(batch, answers[::2], answers[1::2], strict=True):
                    if text := await self._compared(sides, step, pair):
                        return Difference(index, text)
        return None

    @staticmethod
    async def _compared(sides: Sequence[_Side], step: Step, pair: Sequence[tuple[Answer, list[bytes]]]) -> str:
        (ours, theirs), (mine, other) = sides, pair
        found, text = ours.shown(step, *mine), ""
        for attempt in range(REREADS if step.method == "GET" else 1):
            if attempt:
                await asyncio.sleep(_PAUSE * attempt)
                other = await theirs.fetched(step)
            text = _differences(step, found, theirs.shown(step, *other))
            if not text:
                break
        return text


def _renamed(definition: Tree, word: str) -> Tree:
    """A definition under a name that no other has."""
    made: Tree = json.loads(json.dumps(definition).replace("FUZZ", word))
    return made


def _differences(step: Step, ours: Tree, theirs: Tree) -> str:
    if theirs.get("status") == BROKEN:  # the real server breaks off where it fails
        return "" if 400 <= ours["status"] < FAILED else "the real server broke the connection"
    if step.content_type == STRATEGIC and {ours.get("status"), theirs.get("status")} <= {400, 500}:
        return ""  # the real server goes through a patch in any order: which mistake it meets first is chance
    wanted, found = ([_comparable(each)] for each in (theirs, ours))
    if step.content_type == JSON_PATCH:
        unread = _WRONG if _moves(step.body) else _KINDLESS
        wanted, found = ([_in_any_order(_without(unread, one))] for [one] in (wanted, found))
    if step.content_type == STRATEGIC:  # the real server tells what its merging has made of the patch itself
        wanted, found = (_without(_PATCH, each) for each in (wanted, found))
    answers: tuple[Answers, Answers] = wanted, found
    return recordings.differences(*answers, names=("real", "embedded"))


def _comparable(shown: Tree) -> Tree:
    """Without what follows from the rest, and with several errors of a configuration in one order.

    Where there are several causes the message repeats them, among what the real server tells of its own structs.
    """
    made = {key: value for key, value in shown.items() if key not in ("sent", "request")}
    body: Any = made.get("body")
    message = str(body.get("message")) if isinstance(body, dict) else ""
    if _UNDECLARED in message:  # where the real server stops looking for more, having looked at fields in any order
        made["body"] = body | {"message": _UNDECLARED}
    elif _WITHIN.search(message):  # likewise: of several objects within one it tells of any
        made["body"] = body | {"message": _WITHIN.sub("metadata: ", message)}
    elif "errors:\n  " in message:
        head, *errors = message.split("\n  ")
        made["body"] = body | {"message": "\n  ".join([head, *sorted(errors)])}
    if isinstance(body, dict) and len((body.get("details") or {}).get("causes") or ()) > 1:
        made["body"] = body | {"message": body["message"].partition("[")[0]}
    return made


def _moves(steps: object) -> bool:
    """Whether a JSON patch takes something from one place to another."""
    return isinstance(steps, list) and any(isinstance(each, dict) and "from" in each for each in steps)


def _in_any_order(shown: Tree) -> Tree:
    """Without the order of what a JSON patch brings in that is unknown.

    The real server reads what the patch sets in the order in which the patch says it, and what it moves in that in
    which the server writes its own structs.
    """
    return shown | {"warnings": sorted(shown["warnings"])} if "warnings" in shown else shown


def _without(found: re.Pattern[str], value: Any) -> Any:
    """The value without that in all its texts."""
    if isinstance(value, dict):
        return {key: _without(found, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without(found, each) for each in value]
    return found.sub("", value) if isinstance(value, str) else value


@asynccontextmanager
async def opened(plane: Plane, word: str) -> AsyncIterator[Pair]:
    """The plane, which must have been started, and a new embedded cluster."""
    async with handlers_served() as hooks:
        theirs = OverHttp(plane.url, contexts(plane), hooks)
        try:
            yield Pair(word, InProcess(), theirs)
        finally:
            await theirs.close()
