"""Reading decisions in tests: what a decision does to the world, without its wrapping."""

from __future__ import annotations

from datetime import datetime

import msgspec

from fairlead.contracts.zones.decide import Snapshot, decide
from fairlead.core.act import Delete, Replace
from fairlead.core.ask import Answer, Answers, Ask, Good, Need, Question, Read
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref
from tests.builders import NOW, body_of


def settled(snapshot: Snapshot, now: datetime = NOW) -> Decision:
    """The decision when every question is answered from the very objects that were seen."""
    outcome = decide(snapshot, now)
    if isinstance(outcome, Need):
        live = {zone.metadata.name: body_of(zone) for zone in snapshot.statefulsets}
        answers: dict[Question, Answer] = {
            ask: Good(live[ref_in(ask).name]) for stage in outcome.stages for ask in stage
        }
        outcome = decide(msgspec.structs.replace(snapshot, answers=Answers(answers)), now)
    assert isinstance(outcome, Decision)
    return outcome


def waits_for(decision: Decision) -> Reason:
    """Why the decision holds, whenever it wants to look again."""
    assert isinstance(decision.verdict, Hold), decision
    return decision.verdict.reason


def deleted(decision: Decision) -> list[str]:
    """Pods that the decision deletes, with the common part of their names left out."""
    if not isinstance(decision.verdict, Move):
        return []
    names = [write.ref.name for write in decision.verdict.writes if isinstance(write, Delete)]
    return [name.removeprefix("ingester-zone-") for name in names]


def completed(decision: Decision) -> list[str]:
    """Zones whose revision the decision records."""
    if not isinstance(decision.verdict, Move):
        return []
    names = [write.ref.name for write in decision.verdict.writes if isinstance(write, Replace)]
    return [name.removeprefix("ingester-zone-") for name in names]


def ref_in(question: Question) -> Ref:
    """What a live read is about; fails for any other question."""
    assert isinstance(question, Ask)
    assert isinstance(question.to, Read)
    return question.to.ref
