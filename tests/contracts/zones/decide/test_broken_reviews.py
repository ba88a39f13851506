"""Whatever a review and the answers to it contain, a webhook answers; it never raises."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, structs

from fairlead.contracts.zones.decide.admission.no_downscale import no_downscale
from fairlead.contracts.zones.decide.admission.prepare_downscale import prepare_downscale
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot, log_keys
from fairlead.contracts.zones.kinds import (
    LAST_DOWNSCALE,
    MIN_TIME,
    NO_DOWNSCALE,
    PREPARE_DOWNSCALE,
    PREPARE_PATH,
    PREPARE_PORT,
)
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answer, Answers, Bad, Good, Need, Question, StartOver
from fairlead.core.decision import Admit
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.review import Review
from tests.builders import NOW
from tests.contracts.zones.decide.reviews import (
    Judge,
    World,
    a_downscale,
    a_prepared_zone,
    a_review,
    a_scale,
    told_of,
    tree_of,
)
from tests.examples import examples

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.lists(st.none(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)
KEYS = (NO_DOWNSCALE, PREPARE_DOWNSCALE, PREPARE_PATH, PREPARE_PORT, MIN_TIME, LAST_DOWNSCALE, "rollout-group")
VALUES = st.one_of(
    st.sampled_from(["true", "8080", "1h", "2026-03-01T11:59:00Z", "a", "", "../?#%"]), st.text(max_size=8)
)
PLACES = (
    ("kind",),
    ("apiVersion",),
    ("metadata",),
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("metadata", "name"),
    ("metadata", "uid"),
    ("metadata", "deletionTimestamp"),
    ("spec",),
    ("spec", "replicas"),
    ("spec", "ordinals"),
    ("spec", "ordinals", "start"),
    ("spec", "serviceName"),
    ("spec", "selector"),
    ("spec", "template"),
    ("status",),
    ("status", "replicas"),
    ("status", "updatedReplicas"),
)


@st.composite
def objects(draw: st.DrawFn, scale: bool = False) -> bytes:
    """A zone with values set or taken away at a few places, or no object at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([b"null", b"[]", b"3", b'"x"', b"{}"]))
    tree = msgspec.json.decode(msgspec.json.encode(tree_of(a_prepared_zone(replicas=draw(st.integers(0, 5))))))
    for key in draw(st.lists(st.sampled_from(KEYS), max_size=3)):
        tree["metadata"][draw(st.sampled_from(["labels", "annotations"]))][key] = draw(VALUES)
    if scale:
        tree |= {"kind": "Scale", "apiVersion": "autoscaling/v1"}
    for place in draw(st.one_of(st.just([]), st.lists(st.sampled_from(PLACES), max_size=2))):
        _set(tree, place, draw(st.one_of(st.just(...), ODD)))
    return msgspec.json.encode(tree)


def _set(tree: object, place: tuple[str, ...], value: object) -> None:
    for step in place[:-1]:
        tree = tree.get(step) if isinstance(tree, dict) else None
    if isinstance(tree, dict):
        if value is ...:
            tree.pop(place[-1], None)
        else:
            tree[place[-1]] = value


@st.composite
def reviews(draw: st.DrawFn) -> Review:
    scale = draw(st.booleans())
    old, new = draw(objects(scale)), draw(objects(scale))
    review = a_review(Raw(old), Raw(new), dry_run=draw(st.sampled_from([None, False, True])))
    resource = structs.replace(
        review.resource, resource=draw(st.sampled_from(["statefulsets", "deployments", "", "x"]))
    )
    return structs.replace(review, resource=resource, name=draw(st.sampled_from(["", "ingester-zone-a"])))


BODIES = st.one_of(
    st.sampled_from([b"", b"null", b"[]", b"{}", b'{"items":null}', b'{"items":[null]}', b'{"items":[]}', b"\xff"]),
    objects(),
    st.lists(objects(), max_size=2).map(lambda found: b'{"items":[' + b",".join(found) + b"]}"),
)
ANSWERS: st.SearchStrategy[Answer] = st.one_of(
    st.builds(Good, BODIES, st.sampled_from(["", "7"])),
    st.builds(Bad, st.sampled_from(["absent", "refused", "unreachable", "timeout", "limited", "conflict", "failed"])),
)


@examples(100)
@given(reviews(), st.data(), st.booleans(), st.sampled_from([no_downscale, prepare_downscale]))
def test_every_review_is_answered(review: Review, data: st.DataObject, tracker: bool, judge: Judge) -> None:
    known: dict[Question, Answer] = {}

    def answer(question: Question) -> Answer:
        known[question] = data.draw(ANSWERS)
        return known[question]

    outcome = played(judge, review, Settings(use_zone_tracker=tracker), answer)

    if isinstance(outcome, Admit):
        assert outcome.allowed or outcome.message
        assert not (review.is_dry_run and judge is prepare_downscale and known)
    assert log_keys(ReviewSnapshot(review))["request.uid"] == "review-1"


@examples(100)
@given(st.data(), st.booleans(), st.sampled_from([a_downscale, a_scale]), st.sampled_from([None, "1ns"]))
def test_a_downscale_is_answered_whatever_is_answered_to_it(
    data: st.DataObject, tracker: bool, kind: Callable[[StatefulSet, int], Review], min_time: str | None
) -> None:
    """It is allowed only after every pod it removes has prepared, and undone when a pod was asked and it is denied."""
    world = World(a_prepared_zone("a", 4, min_time=min_time), a_prepared_zone("b", min_time=min_time))
    if data.draw(st.booleans()):
        world.set_tracker({"data": {"ingester-zone-b": '{"lastDownscaled":"2026-01-01T00:00:00Z"}'}})
    posts: list[Answer] = []
    undone: list[str] = []

    def answer(question: Question) -> Answer:
        given = data.draw(ANSWERS) if data.draw(st.integers(0, 9)) == 0 else world.answer(question)
        told = told_of(question)
        if told.startswith("POST"):
            posts.append(given)
        elif told.startswith("DELETE"):
            undone.append(told)
        return given

    review = kind(world.zones["ingester-zone-a"], 2)
    outcome = played(prepare_downscale, review, Settings(use_zone_tracker=tracker), answer)

    if isinstance(outcome, Admit) and outcome.allowed and not outcome.warnings and outcome.word != "not-labelled":
        assert len(posts) == 2
        assert all(isinstance(each, Good) for each in posts)
    elif isinstance(outcome, Admit) and posts:
        assert undone == ["DELETE ingester-zone-a-2", "DELETE ingester-zone-a-3"]


def played(
    judge: Judge, review: Review, given_settings: Settings, answer: Callable[[Question], Answer]
) -> Admit | StartOver:
    """Asks as the driver does, each question once."""
    known: dict[Question, Answer] = {}
    for _ in range(16):
        outcome = judge(ReviewSnapshot(review, Answers(dict(known)), given_settings), NOW + timedelta(microseconds=1))
        if not isinstance(outcome, Need):
            return outcome
        assert outcome.stages
        failed = False
        for question in (each for stage in outcome.stages for each in stage):
            known[question] = Bad("not-sent") if failed else answer(question)
            failed = outcome.stop_at_failure and isinstance(known[question], Bad)
    raise AssertionError("it asks without end")
