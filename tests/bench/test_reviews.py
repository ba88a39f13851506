"""What is asked under load, and which answers are right."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import msgspec
import pytest
from msgspec import Raw, structs

from bench.replay import Event
from bench.reviews import MIX, SLACK, UID, Asked, Kind, Sample, Workload, World, absences, fault, read, stream

OBJECT = Raw(b'{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a"},"spec":{"replicas":3,"x":1}}')
WORLD = World("ns", (Workload("a", OBJECT, 3, False), Workload("b", OBJECT, 3, True)), ("a-0", "a-1"), ("g-0",))


def asked(kind: Kind) -> Asked:
    return next(each for each in stream(WORLD) if each.kind is kind)


def request_of(kind: Kind) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(asked(kind).body)["request"]
    return found


def answer(uid: str = UID, **response: object) -> bytes:
    return msgspec.json.encode({"response": {"uid": uid, "allowed": True, **response}})


def a_sample(kind: Kind, *, about: str = "a-0", **fields: Any) -> Sample:
    return structs.replace(Sample(kind, about, due=10.0, received=10.1, status=200), **fields)


def test_half_of_the_requests_are_about_downscales_and_half_about_evictions() -> None:
    kinds = Counter(each.path for each in islice(stream(WORLD), 10 * len(MIX)))

    assert kinds == {"/admission/no-downscale": 100, "/admission/pod-eviction": 100}
    assert set(MIX) == set(Kind)


def test_each_kind_takes_its_objects_in_turn() -> None:
    outside = [each.about for each in islice(stream(WORLD), len(MIX)) if each.kind is Kind.OUTSIDE]

    assert outside[:4] == ["a-0", "a-1", "a-0", "a-1"]


def test_a_whole_object_is_sent_as_it_was_and_with_other_replicas() -> None:
    request = request_of(Kind.SHRINK_KEPT)

    assert (request["name"], request["operation"]) == ("b", "UPDATE")
    assert request["oldObject"]["spec"] == {"replicas": 3, "x": 1}
    assert request["object"]["spec"] == {"replicas": 2, "x": 1}
    assert "subResource" not in request


def test_a_scale_names_its_parent_and_has_none_of_its_labels() -> None:
    request = request_of(Kind.SCALE)

    assert (request["name"], request["subResource"], request["resource"]["resource"]) == ("a", "scale", "statefulsets")
    assert request["object"]["kind"] == "Scale"
    assert (request["oldObject"]["spec"], request["object"]["spec"]) == ({"replicas": 3}, {"replicas": 2})


def test_an_eviction_is_the_creation_of_a_subresource() -> None:
    request = request_of(Kind.GUARDED)

    assert (request["name"], request["operation"], request["subResource"]) == ("g-0", "CREATE", "eviction")


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b"oops"), (200, b"oops"), (200, answer("another"))],
    ids=["failed", "no JSON", "mixed up"],
)
def test_what_is_no_answer_to_the_request_is_wrong(status: int, body: bytes) -> None:
    sample = read(asked(Kind.GROW), UID, 1.0, 2.0, status, body)

    assert fault(sample, {}).startswith("no verdict")


def test_an_answer_is_read_with_its_code_text_and_warnings() -> None:
    body = answer(allowed=False, status={"code": 429, "message": "later"}, warnings=["careful"])

    sample = read(asked(Kind.GUARDED), UID, 1.0, 2.5, 200, body)

    assert (sample.allowed, sample.code, sample.text, sample.warned) == (False, 429, "later", True)
    assert sample.seconds == 1.5


@pytest.mark.parametrize("kind", [Kind.GROW, Kind.SHRINK, Kind.SCALE])
def test_what_may_be_done_must_be_allowed_without_a_warning(kind: Kind) -> None:
    assert not fault(a_sample(kind, allowed=True), {})
    assert fault(a_sample(kind, allowed=True, warned=True), {})
    assert fault(a_sample(kind, allowed=False), {})


@pytest.mark.parametrize("kind", [Kind.SHRINK_KEPT, Kind.SCALE_KEPT])
def test_what_is_kept_must_be_denied_in_the_right_words(kind: Kind) -> None:
    words = "from 3 to 2 replicas"

    assert not fault(a_sample(kind, text=f"downscale {words}", words=words), {})
    assert fault(a_sample(kind, text="no", words=words), {})
    assert fault(a_sample(kind, allowed=True, words=words), {})


def test_a_guarded_pod_may_be_refused_for_now_and_for_nothing_else() -> None:
    assert not fault(a_sample(Kind.GUARDED, allowed=True), {})
    assert not fault(a_sample(Kind.GUARDED, code=429), {})
    assert fault(a_sample(Kind.GUARDED, code=403), {})
    assert fault(a_sample(Kind.GUARDED, code=500), {})


@pytest.mark.parametrize("kind", [Kind.OUTSIDE, Kind.GUARDED])
def test_a_pod_may_be_unknown_only_while_there_is_none(kind: Kind) -> None:
    sample = a_sample(kind, code=400)

    assert fault(sample, {})
    assert fault(sample, {"a-1": [(10.0, 10.1)]})
    assert fault(sample, {"a-0": [(1.0, 10.0 - SLACK - 1.0)]})
    assert not fault(sample, {"a-0": [(9.9, 10.2)]})


def test_a_pod_is_absent_from_its_end_until_its_successor_appears() -> None:
    def event(version: int, pod: str, at: float, *, gone: bool = False) -> Event:
        return Event(version, "a", pod, "uid", "r", ready=not gone, terminating=False, gone=gone, at=at)

    events = [
        event(3, "a-0", 6.0),
        event(1, "a-0", 1.0),
        event(2, "a-0", 5.0, gone=True),
        event(4, "a-1", 7.0, gone=True),
    ]

    assert absences(events, end=9.0) == {"a-0": [(5.0, 6.0)], "a-1": [(7.0, 9.0)]}
