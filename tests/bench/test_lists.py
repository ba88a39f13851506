"""Lists that are converted, and which answers are right."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bench.lists import BYTES, NEW, OLD, UID, converted, environment, newer_faults, older_faults, review
from fairlead.contracts.environments.conversion_rules import RULES
from fairlead.engine.conversion.review import answer

COUNT = 3
OLDS = [environment(index) for index in range(COUNT)]


def through(objects: list[bytes], desired: str) -> list[bytes]:
    return converted(answer(review(objects, desired), RULES).body)


def changed(encoded: bytes, part: str, **fields: object) -> bytes:
    tree: dict[str, Any] = msgspec.json.decode(encoded)
    tree[part] = {**tree[part], **fields}
    return msgspec.json.encode(tree)


def test_every_object_has_the_size_and_is_another_one() -> None:
    made = [environment(index) for index in (0, 1, 9, 99_999)]

    assert {len(each) for each in made} == {BYTES}
    assert len(set(made)) == len(made)


def test_what_the_webhook_makes_of_them_is_right() -> None:
    news = through(OLDS, NEW)
    olds = through(news, OLD)

    assert newer_faults(OLDS, news) == 0
    assert older_faults(news, olds) == 0
    assert through(olds, NEW) == news


def test_objects_out_of_order_missing_or_not_converted_are_wrong() -> None:
    news = through(OLDS, NEW)
    olds = through(news, OLD)

    assert newer_faults(OLDS, [news[1], news[0], news[2]]) == 2
    assert newer_faults(OLDS, news[:-1]) == 1
    assert newer_faults(OLDS, [*news, news[0]]) == 1
    assert newer_faults(OLDS, OLDS) == COUNT
    assert older_faults(news, [olds[1], olds[0], olds[2]]) == 2
    assert older_faults(news, news) == COUNT


@pytest.mark.parametrize("hashes", [{"lastCompletedRolloutHash": ""}, {"requestedRolloutHash": "f" * 64}])
def test_an_object_without_both_hashes_is_wrong(hashes: dict[str, str]) -> None:
    first, *rest = through(OLDS, NEW)

    assert newer_faults(OLDS, [changed(first, "status", **hashes), *rest]) == 1


def test_an_object_that_is_not_done_with_what_was_asked_for_is_wrong() -> None:
    news = through(OLDS, NEW)
    first, *rest = through(news, OLD)

    assert older_faults(news, [changed(first, "spec", requestRollout=UID), *rest]) == 1


def test_a_review_that_failed_is_told_in_its_own_words() -> None:
    refused = answer(review([b'{"kind":"Other"}'], NEW), RULES).body

    with pytest.raises(ValueError, match="it has no apiVersion"):
        converted(refused)
