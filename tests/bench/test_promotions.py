"""What the judge of environments counts, on histories written by hand."""

from __future__ import annotations

from bench.generations import Condition, Environment, Event, Object, Service, ServiceSpec, Status
from bench.narrow import Meta, StatefulSet
from bench.promotions import Call, Verdict, judge
from fairlead.contracts.environments.kinds import GENERATION, NAME

NAME_OF = "mzr-environmentd"


class History:
    """What happened to one environment, in the order in which it is told; at first nothing of it is there."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.calls: list[Call] = []
        self._status = Status()

    def says(self, reason: str, target: int = 0, **fields: object) -> History:
        """Its status; what is not given stays as it was."""
        condition = Condition("Unknown", reason, f"Attempting something with generation {target}")
        known = {name: getattr(self._status, name) for name in Status.__struct_fields__}
        self._status = Status(**(known | {"conditions": (condition,)} | fields))
        return self._tell(Environment(self._meta("m"), status=self._status))

    def applied(self, generation: int, *, version: int = 1) -> History:
        return self._tell(self._statefulset(generation, version))

    def told(self, generation: int) -> History:
        self.calls.append(Call(len(self.events) + 0.5, f"{NAME_OF}-{generation}-0", "/api/leader/promote", 200))
        return self

    def moved(self, generation: int, name: str = NAME_OF) -> History:
        selector = {NAME: f"{NAME_OF}-{generation}"}
        return self._tell(Service(self._meta(name), ServiceSpec(selector)))

    def deleted(self, generation: int) -> History:
        return self._tell(self._statefulset(generation, 1, deletion="2026-01-01T00:00:00Z"))

    def gone(self, generation: int) -> History:
        return self._tell(self._statefulset(generation, 1, deletion="2026-01-01T00:00:00Z"), gone=True)

    def rolled(self, generation: int) -> History:
        """The whole of a good rollout."""
        wanted = f"hash-{generation}"
        self.says("Applying", generation, requested_rollout_hash=wanted).applied(generation)
        self.says("Promoting", generation).told(generation).moved(generation)
        if generation > 1:
            self.deleted(generation - 1).gone(generation - 1)
        return self.says("Applied", active_generation=generation, last_completed_rollout_hash=wanted)

    def judged(self, serves: int) -> Verdict:
        return judge(self.events, self.calls, {"m": serves})

    def _statefulset(self, generation: int, version: int, deletion: str | None = None) -> StatefulSet:
        meta = self._meta(f"{NAME_OF}-{generation}")
        return StatefulSet(
            Meta(
                meta.name,
                meta.uid,
                meta.resource_version,
                generation=version,
                annotations={GENERATION: str(generation)},
                deletion_timestamp=deletion,
            )
        )

    def _meta(self, name: str) -> Meta:
        return Meta(name, f"uid-{name}", str(len(self.events) + 1))

    def _tell(self, found: Object, *, gone: bool = False) -> History:
        number = len(self.events) + 1
        self.events.append(Event(number, "m", found, gone, at=float(number)))
        return self


def test_good_rollouts_break_nothing() -> None:
    verdict = History().rolled(1).rolled(2).rolled(3).judged(serves=3)

    assert verdict == Verdict(promotions=3, removals=2)
    assert verdict.violations == 0


def test_events_count_in_the_order_of_their_versions_and_not_of_their_arrival() -> None:
    history = History().rolled(1).rolled(2)

    assert judge(reversed(history.events), history.calls, {"m": 2}) == history.judged(serves=2)


def test_a_generation_that_goes_before_the_next_one_is_promoted_goes_early() -> None:
    verdict = History().rolled(1).says("Applying", 2).applied(2).deleted(1).judged(serves=1)

    assert verdict == Verdict(promotions=1, removals=1, early=1)


def test_a_generation_that_goes_before_the_next_one_was_told_to_take_over_goes_early() -> None:
    verdict = History().rolled(1).applied(2).says("Promoting", 2).deleted(1).told(2).judged(serves=1)

    assert verdict == Verdict(promotions=1, removals=1, early=1)


def test_a_call_that_failed_told_nothing() -> None:
    history = History().rolled(1).applied(2).says("Promoting", 2)
    history.calls.append(Call(0.0, f"{NAME_OF}-2-0", "/api/leader/promote", 400))
    history.calls.append(Call(0.0, f"{NAME_OF}-2-0", "/api/leader/status", 200))

    assert history.deleted(1).judged(serves=1).early == 1


def test_a_generation_that_is_gone_at_once_was_removed_too() -> None:
    verdict = History().rolled(1).gone(1).judged(serves=1)

    assert verdict == Verdict(promotions=1, removals=1, early=1)


def test_the_public_service_may_lead_only_to_what_serves_or_is_being_promoted() -> None:
    verdict = History().rolled(1).applied(2).moved(2).judged(serves=1)

    assert verdict == Verdict(promotions=1, astray=1)


def test_services_of_generations_may_lead_where_they_belong() -> None:
    verdict = History().rolled(1).applied(2).moved(2, name=f"{NAME_OF}-2").moved(2, name="mzr-persist-pubsub-2")

    assert verdict.judged(serves=1) == Verdict(promotions=1)


def test_a_generation_beside_two_others_or_out_of_order_is_one_too_many() -> None:
    assert History().rolled(1).applied(2).applied(3).judged(serves=1).crowded == 1
    assert History().rolled(1).applied(3).judged(serves=1).crowded == 1


def test_a_generation_is_applied_once() -> None:
    assert History().rolled(1).applied(1).judged(serves=1).rewritten == 0
    assert History().rolled(1).applied(1, version=2).judged(serves=1).rewritten == 1


def test_the_generation_grows_by_one() -> None:
    jumped = History().rolled(1).says("Applied", active_generation=3, last_completed_rollout_hash="x")
    shrunk = History().rolled(1).says("Applied", active_generation=0)

    assert jumped.judged(serves=3).inconsistent == 1
    assert shrunk.judged(serves=0).inconsistent == 1


def test_the_hash_of_the_last_rollout_changes_with_the_generation_only() -> None:
    verdict = History().rolled(1).says("Applied", last_completed_rollout_hash="other").judged(serves=1)

    assert verdict == Verdict(promotions=1, inconsistent=1)


def test_what_is_asked_for_does_not_change_during_a_promotion() -> None:
    history = History().rolled(1).says("Applying", 2, requested_rollout_hash="two").applied(2).says("Promoting", 2)

    verdict = history.says("Promoting", 2, requested_rollout_hash="three").judged(serves=1)

    assert verdict == Verdict(promotions=1, inconsistent=1)


def test_an_environment_that_serves_another_generation_than_asked_for_was_not_asked() -> None:
    assert History().rolled(1).rolled(2).judged(serves=1).unasked == 1
    assert History().rolled(1).judged(serves=2).unasked == 1


def test_violations_of_all_kinds_are_added_up() -> None:
    verdict = Verdict(9, 9, early=1, astray=2, crowded=4, rewritten=8, inconsistent=16, unasked=32)

    assert verdict.violations == 63
