"""What the reference part decides: nothing is written about a workload while nobody can tell what was meant."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from fairlead.contracts.apiversions.decide.payload import PayloadVerdict, judged
from fairlead.core.act import Create, Patch
from fairlead.core.decision import Move
from kubeloop.objects.apps import STATEFULSETS
from tests.widgets.decide import Seen, Settings, decide
from tests.widgets.kinds import FINALIZER, KIND, Widget, WidgetMeta, Workload, WorkloadMeta

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COLOURS = (None, "red", "blue")
TIMES = (None, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")


def a_widget(spec: dict[str, Any], managed: tuple[Any, ...] = ()) -> Widget:
    meta = WidgetMeta(
        name="a", uid="u", resource_version="7", namespace="n", finalizers=(FINALIZER,), managed_fields=managed
    )
    return Widget(meta, spec)


def managers(old: str | None, new: str | None) -> tuple[Any, ...]:
    return tuple(
        {"apiVersion": f"example.test/{version}", "time": time, "fieldsV1": {"f:spec": owned}}
        for version, time, owned in (("v1", old, {"f:colour": {}}), ("v2", new, {"f:paint": {"f:colour": {}}}))
        if time is not None
    )


@pytest.mark.parametrize(("colour", "paint", "old", "new"), [*product(COLOURS, COLOURS, TIMES, TIMES)])
def test_i13_no_workload_is_written_while_a_payload_is_ambiguous(
    colour: str | None, paint: str | None, old: str | None, new: str | None
) -> None:
    spec = ({} if colour is None else {"colour": colour}) | ({} if paint is None else {"paint": {"colour": paint}})
    widget = a_widget({"size": 2, **spec}, managers(old, new))
    there = Workload(WorkloadMeta(name="a", uid="w", resource_version="3", namespace="n"), {"replicas": 1})
    verdict = judged(widget.tree, KIND).verdict
    contradicts = colour is not None and paint is not None and colour != paint

    for workload in (None, there):
        decision = decide(Seen(widget, workload, Settings()), NOW)
        moves = decision.verdict.writes if isinstance(decision.verdict, Move) else ()
        about = [each for each in (*moves, *decision.reports) if _is_about_workload(each)]
        assert bool(about) is (verdict is not PayloadVerdict.AMBIGUOUS)
    knows_newest = old is not None and new is not None and old != new
    assert (verdict is PayloadVerdict.AMBIGUOUS) is (contradicts and not knows_newest)


def _is_about_workload(write: Any) -> bool:
    if isinstance(write, Create):
        return write.resource == STATEFULSETS
    return isinstance(write, Patch) and write.ref.resource == STATEFULSETS
