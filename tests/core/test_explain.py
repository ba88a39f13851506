"""The documents that programs read: their schema is kept, and docs/explain.md names all their words."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path

import msgspec
import pytest

from fairlead.contracts.environments.decide import standing
from fairlead.contracts.environments.explain import BLOCKED, CHANGED, GONE, NEW, RETIRING, SERVING
from fairlead.contracts.leaderworker.disaggregated.explain import PHASES as DISAGGREGATED_PHASES
from fairlead.contracts.leaderworker.disaggregated.explain import SETTLING, phase_of_role
from fairlead.contracts.leaderworker.explain import PHASES as SET_PHASES
from fairlead.contracts.leaderworker.explain import phase_of as set_phase
from fairlead.contracts.leaderworker.lanes import DECIDED as DECIDED_PHASES
from fairlead.contracts.leaderworker.lanes import phase_of as group_phase
from fairlead.contracts.leaderworker.lanes import phase_of_outdated as outdated_group_phase
from fairlead.contracts.plans.explain import PHASES as PLAN_PHASES
from fairlead.contracts.plans.explain import phase_of as plan_phase
from fairlead.contracts.plans.lanes import IN_WORK, OF_WAITS, phase_of_batch
from fairlead.contracts.zones.explain import phase_of, phase_of_group, phase_of_outdated
from fairlead.core.explain import KINDS, REVISIONS, STATES, Explain, RolloutList, Stands
from fairlead.core.outcome import OUTCOMES, outcome_of
from fairlead.core.reason import Reason, ReasonKind
from tools.explain_schema import TARGET, schema

DOCS = Path(__file__).parents[2] / "docs" / "explain.md"


def a_document() -> Explain:
    return Explain(part="zones", namespace="test", rollout="ingester", stands=Stands("Current", 3, 3, "pods"))


def test_the_schema_that_is_kept_is_that_of_the_types() -> None:
    assert TARGET.read_text() == schema(), "run python -m tools.explain_schema"


def test_a_document_begins_with_its_version_and_kind_and_is_read_again() -> None:
    written = msgspec.json.encode(RolloutList(items=(a_document(),)))

    assert written.startswith(b'{"apiVersion":"fairlead.dev/v1alpha1","kind":"RolloutList","items":[{"apiVersion"')
    assert msgspec.json.decode(written, type=RolloutList).items == (a_document(),)


def test_a_document_of_another_version_is_not_taken_for_this_one() -> None:
    other = json.loads(msgspec.json.encode(a_document())) | {"apiVersion": "fairlead.dev/v2"}

    with pytest.raises(msgspec.ValidationError, match="apiVersion"):
        msgspec.json.decode(json.dumps(other), type=Explain)


def test_fields_that_a_later_release_adds_are_ignored() -> None:
    later = json.loads(msgspec.json.encode(a_document())) | {"weather": "fine"}

    assert msgspec.json.decode(json.dumps(later), type=Explain) == a_document()


def test_every_phase_of_zones_is_documented() -> None:
    functions = (phase_of, phase_of_outdated, phase_of_group)
    found = {word for function in functions for word in _returned(inspect.getsource(function))}

    assert found | {Reason.SCALING.word, Reason.SOAKING.word} == set(_first_column("## Phases of zones"))


def test_every_phase_of_environments_is_documented() -> None:
    words = {
        NEW,
        BLOCKED,
        CHANGED,
        SERVING,
        RETIRING,
        GONE,
        standing.APPLYING,
        standing.READY_TO_PROMOTE,
        standing.PROMOTING,
        standing.APPLIED,
        standing.FAILED_DEPLOY,
        standing.ROLLOUT_TIMEOUT,
    }

    assert words == set(_first_column("## Phases of environments"))


def test_every_phase_of_leader_worker_sets_is_documented() -> None:
    functions = (set_phase, group_phase, outdated_group_phase)
    found = {word for function in functions for word in _returned(inspect.getsource(function))}

    assert found | {*SET_PHASES.values(), *DECIDED_PHASES.values()} == set(
        _first_column("## Phases of LeaderWorkerSets")
    )


def test_every_phase_of_disaggregated_sets_is_documented() -> None:
    found = {*_returned(inspect.getsource(phase_of_role)), *DISAGGREGATED_PHASES.values(), SETTLING}

    assert found == set(_first_column("## Phases of DisaggregatedSets"))


def test_every_phase_of_plans_is_documented() -> None:
    functions = (plan_phase, phase_of_batch)
    found = {word for function in functions for word in _returned(inspect.getsource(function))}

    assert found | {*PLAN_PHASES.values(), *IN_WORK.values(), *OF_WAITS.values()} == set(
        _first_column("## Phases of plans")
    )


def test_kinds_and_states_are_those_of_the_reasons_and_of_the_docs() -> None:
    assert set(KINDS) == {kind.value for kind in ReasonKind} - {ReasonKind.MOVING.value, ReasonKind.DONE.value}
    assert set(KINDS) == set(_first_column("## Fields of a Rollout")[-len(KINDS) :])
    for word in (*STATES, *REVISIONS):
        assert f"`{word}`" in DOCS.read_text()


def test_every_outcome_is_documented_and_every_reason_has_one() -> None:
    assert set(_first_column("## Outcomes")) == set(OUTCOMES)
    assert {outcome_of(reason) for reason in Reason} == set(OUTCOMES)


def _returned(source: str) -> list[str]:
    """Texts that a function may return."""
    nodes = (node for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Return) for node in ast.walk(each))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _first_column(heading: str) -> list[str]:
    section = DOCS.read_text().split(f"{heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([A-Za-z]+)`", section, re.MULTILINE)
