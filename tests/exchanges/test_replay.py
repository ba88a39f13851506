"""The embedded cluster answers as the real API server did when it was recorded."""

from __future__ import annotations

import asyncio
from functools import cache

import pytest

from fairlead.plane.build import KUBERNETES
from kubeloop.request import path_of
from kubesim.cluster import Cluster
from kubesim.kinds.registry import KINDS
from kubesim.server import serve
from tests.exchanges import recordings
from tests.exchanges.case import Case, digest
from tests.exchanges.cases import AREAS
from tests.exchanges.cases.samples import SAMPLES
from tests.exchanges.recordings import Answers
from tests.exchanges.running import play
from tests.exchanges.worlds import OverHttp
from tools.exchanges import embedded

ALL = [(area, case) for area, cases in AREAS.items() for case in cases]
OVER_HTTP = (
    "a list from the future",
    "a list of metadata",
    "a body that is too large",
    "a field twice is warned of",
    "a finalizer keeps an object",
    "a generated name does not replace a given one",
    "a method that is not allowed",
    "a name with a slash",
    "a watch from now on",
    "a watch of what is there",
    "an eviction against a budget",
    "an unknown field is warned of",
    "an unknown path",
    "applying conflicts with who applied",
    "labels of a set",
)
"""Of whose answers the headers, the paths or the lines of a watch could be lost between a handler and its server."""


@cache
def _recorded(area: str) -> tuple[str, dict[str, Answers]]:
    return recordings.load(area)


def _name(value: str | Case) -> str:
    return value if isinstance(value, str) else value.name


@pytest.mark.parametrize(("area", "case"), ALL, ids=_name)
def test_answers_are_those_of_the_real_server(area: str, case: Case) -> None:
    recorded = _recorded(area)[1][case.name]

    difference = recordings.differences(recorded, embedded(case))

    assert not difference, f"\n{difference}"


@pytest.mark.parametrize(("area", "case"), [each for each in ALL if each[1].name in OVER_HTTP], ids=_name)
def test_answers_over_http_are_the_same(area: str, case: Case) -> None:
    async def served() -> Answers:
        async with serve(Cluster(), anonymous="admin") as server:
            world = OverHttp(server.url, lambda _user, _groups: True)
            try:
                return await play(case, world)
            finally:
                await world.close()

    difference = recordings.differences(_recorded(area)[1][case.name], asyncio.run(served()))

    assert not difference, f"\n{difference}"


def test_the_cases_over_http_exist() -> None:
    names = {case.name for _, case in ALL}

    assert not [name for name in OVER_HTTP if name not in names]


@pytest.mark.parametrize("area", AREAS)
def test_what_is_recorded_is_what_is_asked(area: str) -> None:
    """Whoever changes a case records it again: `make record`."""
    release, cases = _recorded(area)

    assert release == f"v{KUBERNETES}"
    asked = {case.name: [digest(step) for step in case.recorded] for case in AREAS[area]}
    assert {name: [answer["sent"] for answer in answers] for name, answers in cases.items()} == asked


def test_every_kind_has_a_life() -> None:
    """Whoever adds a kind adds an object of it to the samples."""
    paths = {sample.path.replace("/namespaces/{ns}", "") for sample in SAMPLES.values()}

    assert not [kind.resource.kind for kind in KINDS if not kind.answered and path_of(kind.resource) not in paths]


def test_no_two_cases_share_a_namespace() -> None:
    names = [case.namespace for _, case in ALL]

    assert sorted(set(names)) == sorted(names)
