"""Which replicas cannot convert yet: those that may be called count, and nobody else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.core.ask import Answers, Bad, Good
from fairlead.engine.decide.replicas import ReplicaQuestion, read, written

QUESTION = ReplicaQuestion("operator", "fairlead", "we/convertible")
NEEDED = {"widgets.example.test": ["v1", "v2"]}


def answers(endpoints: list[dict[str, Any]] | None, pods: dict[str, str]) -> Answers:
    slices = [] if endpoints is None else [{"metadata": {"name": "s"}, "endpoints": endpoints}]
    trees = [{"metadata": {"name": name, "annotations": {"we/convertible": text}}} for name, text in pods.items()]
    first, second = QUESTION.asks
    return Answers({first: _good(slices), second: _good(trees)})


def _good(items: list[Any]) -> Good:
    return Good(msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items}))


def endpoint(pod: str, **conditions: bool) -> dict[str, Any]:
    return {"addresses": ["10.0.0.1"], "conditions": conditions, "targetRef": {"kind": "Pod", "name": pod}}


BOTH, ONE = written({"widgets.example.test": ["v2", "v1"]}), written({"widgets.example.test": ["v1"]})


@pytest.mark.parametrize(
    ("endpoints", "pods", "behind"),
    [
        (None, {}, ()),
        ([endpoint("a"), endpoint("b")], {"a": BOTH, "b": BOTH}, ()),
        ([endpoint("a"), endpoint("b")], {"a": BOTH, "b": ONE}, ("b",)),
        ([endpoint("a"), endpoint("b")], {"a": BOTH, "b": "no JSON"}, ("b",)),
        ([endpoint("a"), endpoint("b")], {"a": BOTH}, ("b",)),
        ([endpoint("a"), endpoint("b", ready=False)], {"a": BOTH}, ()),
        ([{"addresses": ["10.0.0.9"], "conditions": {}}], {}, ("10.0.0.9",)),
        (None, {"b": ONE}, ()),
    ],
    ids=[
        "a Service without slices counts nobody else",
        "all can",
        "one lacks a version",
        "one says something unreadable",
        "one says nothing",
        "one that is not ready is not called",
        "what is no pod says nothing",
        "a pod that is no endpoint does not count",
    ],
)
def test_replicas_behind(endpoints: list[dict[str, Any]] | None, pods: dict[str, str], behind: tuple[str, ...]) -> None:
    assert QUESTION.behind(answers(endpoints, pods), NEEDED) == behind


def test_what_cannot_be_listed_is_told_and_not_taken_for_nobody() -> None:
    first, second = QUESTION.asks
    refused = Bad("refused", "forbidden", 403)

    assert QUESTION.behind(Answers({first: refused, second: _good([])}), NEEDED) == refused


def test_what_a_replica_writes_is_the_same_for_the_same_facts() -> None:
    assert written({"b": ["v2", "v1"], "a": ["v1"]}) == written({"a": ["v1"], "b": ["v1", "v2"]})
    assert read(written({"a": ["v1"]})) == {"a": ["v1"]}
