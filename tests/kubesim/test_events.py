"""Events of their own group are held to stricter rules than those of the core."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kubesim.desk import Desk, Tree, decoded, played

OWN = "/apis/events.k8s.io/v1/namespaces/default/events"
CORE = "/api/v1/namespaces/default/events"
OTHER = '{"Kind":"Pod","Namespace":"default","Name":"q","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}'
MOMENT = "2026-01-01T00:00:00.000000Z"
UNSET = 'Invalid value: "": needs to be unset'


def an_event(**more: Any) -> Tree:
    told = {
        "metadata": {"name": "one"},
        "eventTime": MOMENT,
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Started",
        "note": "It has started.",
        "type": "Normal",
        "action": "Starting",
        "reportingController": "example.com/c",
        "reportingInstance": "c-0",
    }
    return told | more


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"eventTime": None}, "eventTime: Required value"),
        ({"note": "x" * 1025}, 'message: Invalid value: "": can have at most 1024 characters'),
        ({"type": "Odd"}, 'type: Invalid value: "": has invalid value: Odd'),
        ({"deprecatedCount": 3}, f"count: {UNSET}"),
        ({"deprecatedFirstTimestamp": "2026-01-01T00:00:00Z"}, f"firstTimestamp: {UNSET}"),
        ({"deprecatedSource": {"component": "x"}}, f"source: {UNSET}"),
        ({"series": {"count": 1, "lastObservedTime": MOMENT}}, 'series.count: Invalid value: "": should be at least 2'),
        ({"series": {"count": 2}}, "series.lastObservedTime: Required value"),
        (
            {"reportingController": "a b"},
            'reportingController: Invalid value: "a b": name part must consist of alphanumeric characters',
        ),
    ],
)
def test_a_new_event_says_all_that_its_group_wants(more: Tree, words: str) -> None:
    answer = played(lambda desk: desk.send("POST", OWN, an_event(**more)))

    assert answer.status == 422
    assert decoded(answer)["message"].startswith(f'Event "one" is invalid: {words}')


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"note": "Other."}, 'message: Invalid value: "Other.": field is immutable'),
        ({"type": "Warning"}, 'type: Invalid value: "Warning": field is immutable'),
        ({"deprecatedCount": 3}, "count: Invalid value: 3: field is immutable"),
        ({"eventTime": None}, "eventTime: Invalid value: null: field is immutable"),
        ({"reportingController": "b.io/c"}, 'reportingController: Invalid value: "b.io/c": field is immutable'),
        (
            {"regarding": {"name": "q"}},
            f"involvedObject: Invalid value: {OTHER}: field is immutable",
        ),
        ({"series": {"count": 1}}, 'series.count: Invalid value: "": should be at least 2'),
    ],
)
def test_only_the_series_of_an_event_goes_on(change: Tree, words: str) -> None:
    async def script(desk: Desk) -> Any:
        await desk.send("POST", OWN, an_event())
        going_on = await desk.merge({"series": {"count": 2, "lastObservedTime": MOMENT}}, path=f"{OWN}/one")
        return going_on.status, await desk.merge(change, path=f"{OWN}/one")

    status, answer = played(script)

    assert status == 200
    assert answer.status == 422
    assert decoded(answer)["message"] == f'Event "one" is invalid: {words}'


def test_the_core_takes_events_that_say_less_and_change() -> None:
    async def script(desk: Desk) -> list[int]:
        made = await desk.send("POST", CORE, {"metadata": {"name": "one"}, "involvedObject": {}, "count": 1})
        changed = await desk.merge({"count": 2, "message": "x"}, path=f"{CORE}/one")
        return [made.status, changed.status]

    assert played(script) == [201, 200]
