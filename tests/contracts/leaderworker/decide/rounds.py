"""What rounds of sets and groups see, for their tests, and what is to be read off their decisions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide import group_round, set_round
from fairlead.contracts.leaderworker.decide.budgets import budget
from fairlead.contracts.leaderworker.decide.groups import numbers_of, rolling_update
from fairlead.contracts.leaderworker.decide.leader_set import leader_set
from fairlead.contracts.leaderworker.decide.planner import Plan, plan
from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.decide.seen import GroupSeen, Service, SetSeen
from fairlead.contracts.leaderworker.decide.set_view import of_spec
from fairlead.contracts.leaderworker.kinds import (
    MANAGER,
    NAME,
    REVISION_KEY,
    LeaderWorkerSet,
    ManagedFields,
    Pod,
    Revision,
    StatefulSet,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.act import AnyWrite, Does
from fairlead.core.ask import Answer, Answers, Ask, Bad, Listing, Need, Read
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.apps import StatefulSetStatus
from kubeloop.objects.meta import Meta
from tests.contracts.leaderworker.decide.some import a_leader, a_revision, a_set, some_workers, the_leaders

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RECORD, APPLY, SERVICE, STATUS = Does.RECORD_REVISION, Does.APPLY_LEADERS, Does.CREATE_SERVICE, Does.REPORT_STATUS
ABSENT = Bad("absent", "not found", 404)
SHARED_SERVICE = Service(Meta(name="a", uid="service", resource_version="1", namespace="default", labels={NAME: "a"}))


def applied(given: LeaderWorkerSet, revision: Revision, **changes: Any) -> StatefulSet:
    """The leaders of a set as they are after an apply of this revision, with all that it owns."""
    allowed = budget(rolling_update(given), given.spec.replicas)
    drawn = plan(numbers_of(given, allowed, None, (), False))
    drawn = Plan(
        changes.pop("partition", drawn.partition), changes.pop("leaders", drawn.replicas), drawn.row, drawn.stage
    )
    body = leader_set(given, of_spec(given), key_of(revision), drawn, allowed, None)
    found = the_leaders(body, status=StatefulSetStatus(replicas=drawn.replicas))
    fields = _fields(body["metadata"], ("annotations", "ownerReferences"))
    owned = {"f:metadata": {"f:labels": _fields(body["metadata"]["labels"], (REVISION_KEY,)), **fields}, "f:spec": {}}
    managed = ManagedFields(manager=MANAGER, operation="Apply", fields_v1=owned)
    return replace(found, metadata=replace(found.metadata, **{"managed_fields": (managed,), **changes}))


def _fields(tree: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {f"f:{name}": {} for name in names if name in tree}


def a_set_seen(given: LeaderWorkerSet | None = None, **changes: Any) -> SetSeen:
    """A set of two groups of two that is available, with all that goes with it."""
    given = given or a_set(observed=2)
    revision = changes.pop("revision", None) or a_revision(given)
    key = key_of(revision)
    seen = {
        "leaders": applied(given, revision),
        "pods": tuple(a_leader(index, key) for index in range(2)),
        "workers": tuple(some_workers(index, key) for index in range(2)),
        "revisions": (revision,),
        "services": (SHARED_SERVICE,),
        "answers": Answers({}),
        "settings": Settings(),
        **changes,
    }
    return SetSeen(set=given, **seen)


def a_group_seen(given: LeaderWorkerSet | None = None, **changes: Any) -> GroupSeen:
    """Group 0 of such a set, whole and ready."""
    given = given or a_set()
    revision = changes.pop("revision", None) or a_revision(given)
    leader = changes.pop("leader", a_leader(0, key_of(revision)))
    seen = {
        "pods": () if leader is None else (leader,),
        "leaders": applied(given, revision),
        "leader_pods": () if leader is None else (leader,),
        "workers": some_workers(0, key_of(revision)),
        "revisions": (revision,),
        "services": (),
        "answers": Answers({}),
        "settings": Settings(),
        **changes,
    }
    return GroupSeen(set=given, leader=leader, **seen)


class Settled(Struct, frozen=True):
    """A decision, and what was asked on the way to it."""

    decision: Decision
    asked: tuple[Any, ...]

    @property
    def reason(self) -> Reason:
        return self.decision.verdict.reason

    @property
    def writes(self) -> tuple[AnyWrite, ...]:
        verdict = self.decision.verdict
        return (*(verdict.writes if isinstance(verdict, Move) else ()), *self.decision.reports)

    @property
    def does(self) -> list[Does]:
        return [each.does for each in self.writes]

    @property
    def held(self) -> Hold:
        assert isinstance(self.decision.verdict, Hold)
        return self.decision.verdict

    @property
    def told(self) -> list[str]:
        return [each.text for each in self.decision.tell]

    def body(self, does: Does) -> dict[str, Any]:
        (write,) = [each for each in self.writes if each.does is does]
        return msgspec.json.decode(write.body, type=dict[str, Any])  # type: ignore[union-attr]


def set_settled(seen: SetSeen, now: datetime = NOW, refused: Does | None = None, **live: Answer) -> Settled:
    """`live` are answers about objects by kind and name (`statefulset_a`), or lists (`pods`); others are absent."""
    return _settled(set_round.decide, seen, now, refused, live)


def group_settled(seen: GroupSeen, now: datetime = NOW, refused: Does | None = None, **live: Answer) -> Settled:
    return _settled(group_round.decide, seen, now, refused, live)


def _settled(decide: Any, seen: Any, now: datetime, refused: Does | None, live: dict[str, Answer]) -> Settled:
    known = dict(seen.answers.known)
    asked: list[Any] = []
    for _ in range(9):
        outcome = decide(replace(seen, answers=Answers(known)), now)
        if isinstance(outcome, Decision):
            found = Settled(outcome, tuple(asked))
            known |= {each: Bad("refused", "no", 422) for each in found.writes if each.does is refused}
            if refused not in found.does:
                return found
            continue
        assert isinstance(outcome, Need)
        for stage in outcome.stages:
            for question in stage:
                assert isinstance(question, Ask)
                if isinstance(question.to, Listing):
                    asked.append(question.to)
                    known[question] = live[question.to.resource.plural]
                    continue
                assert isinstance(question.to, Read)
                ref = question.to.ref
                asked.append(ref)
                known[question] = live.get(f"{ref.resource.kind.lower()}_{ref.name}".replace("-", "_"), ABSENT)
    raise AssertionError("it does not come to an end")


def going(pod: Pod) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, deletion_timestamp=NOW))


def numbers(settled: Settled) -> tuple[int, int]:
    """Partition and replicas that are applied."""
    spec = settled.body(APPLY)["spec"]
    return spec["updateStrategy"]["rollingUpdate"]["partition"], spec["replicas"]


def at_rest(**changes: Any) -> Settled:
    """What a second round makes of a set whose status is as the first reported it."""
    seen = a_set_seen(**changes)
    first = set_settled(seen)
    if STATUS not in first.does:
        return first
    status = msgspec.convert(first.body(STATUS)["status"], type(seen.set.status))
    return set_settled(replace(seen, set=replace(seen.set, status=status)))
