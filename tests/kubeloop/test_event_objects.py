"""Events that the server takes, whatever they are made from."""

from __future__ import annotations

import asyncio
import re
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.event_objects import LONGEST_NAME, LONGEST_NOTE, LONGEST_WORD, event_name, shortened, word
from kubeloop.event_series import SPACING
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response
from kubesim.time import VirtualLoop
from tests.kubeloop.scripted import Scripted, failure, pod_ref
from tests.kubeloop.test_events import events, play, recording

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
TEXTS = st.text(st.characters(codec=None), max_size=3000)
"""With lone surrogates and control characters."""


@given(TEXTS)
def test_a_note_has_as_many_bytes_as_the_server_takes_and_no_broken_character(text: str) -> None:
    note = shortened(text)

    assert len(note.encode()) <= LONGEST_NOTE
    assert "\ufffd" not in note or "\ufffd" in text


@given(TEXTS)
def test_a_word_has_as_many_bytes_as_the_server_takes(text: str) -> None:
    assert len(word(text).encode()) <= LONGEST_WORD


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_note_is_cut_between_characters(size: int) -> None:
    letter = {1: "a", 2: "é", 3: "€", 4: "𝄞"}[size]
    for before in range(4):
        note = shortened("x" * before + letter * (LONGEST_NOTE + 1))
        assert note == "x" * before + letter * ((LONGEST_NOTE - len("…".encode()) - before) // size) + "…"


def test_what_a_terminal_would_obey_becomes_spaces_and_lines_stay() -> None:
    assert shortened("a\x1b[2Jb\x00c\x9bd\x7f\n\te") == "a [2Jb c d \n\te"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web-0", "web-0.1f"),
        ("a.b-c", "a.b-c.1f"),
        ("system:controller:Job_x", "system-controller-job-x.1f"),
        ("a..b.-c", "a.b.c.1f"),
        ("-", "1f"),
        ("", "1f"),
        ("x" * 253, "x" * 250 + ".1f"),
        ("x" * 249 + "-yyy", "x" * 249 + ".1f"),
        ("x" * 249 + ".yyy", "x" * 249 + ".1f"),
    ],
)
def test_names_of_objects_become_names_of_events(name: str, expected: str) -> None:
    assert event_name(Ref(PODS, "ns", name), "1f") == expected


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_every_name_of_an_event_is_one(name: str) -> None:
    found = event_name(Ref(PODS, "ns", name), "1f")

    assert len(found) <= LONGEST_NAME
    assert SUBDOMAIN.fullmatch(found)


def test_a_reason_is_cut_by_bytes() -> None:
    async def scenario() -> None:
        api = Scripted()
        async with recording(api) as recorder:
            recorder.tell(pod_ref("web-0"), False, "é" * 100, "not ready")
            await asyncio.sleep(1)

        (event,) = events(api)
        assert event["reason"] == event["action"] == "é" * 64

    play(scenario)


def test_a_clock_that_is_set_back_makes_no_event_end_before_it_began() -> None:
    async def scenario() -> None:
        api = Scripted()
        loop = cast("VirtualLoop", asyncio.get_running_loop())
        async with recording(api) as recorder:
            recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
            await asyncio.sleep(SPACING)
            loop.jump(-3600)
            recorder.tell(pod_ref("web-0"), False, "Waiting", "not ready")
            recorder.tell(pod_ref("web-0"), False, "Other", "news")
            await asyncio.sleep(SPACING)

        waiting, other = events(api)
        assert waiting["series"] == {"count": 2, "lastObservedTime": waiting["eventTime"]}
        assert other["metadata"]["name"] > waiting["metadata"]["name"]

    play(scenario)


def test_whether_only_core_events_are_allowed_is_known_by_namespace() -> None:
    """Roles are bound by namespace, and so a right that lacks in one says nothing of another."""

    async def bound(request: Request, _when: str) -> Response | None:
        allowed = "/namespaces/new/" in request.path, "events.k8s.io" in request.path
        return failure(403) if len(set(allowed)) == 2 else None

    async def scenario() -> None:
        api = Scripted()
        api.fault = bound
        async with recording(api) as recorder:
            for number in range(2):
                for namespace in ("old", "new"):
                    recorder.tell(Ref(PODS, namespace, f"web-{number}"), False, "Waiting", "not ready")
            await asyncio.sleep(SPACING)

            assert [event["apiVersion"] for event in events(api)] == ["v1", "events.k8s.io/v1"] * 2
            assert recorder.dropped == 0

    play(scenario)
