"""Steps of a storage migration that scenarios seldom meet, decided without a cluster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.core.act import Apply, Patch
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Need, Question
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import JobSnapshot, StepResult
from fairlead.engine.decide.migration import MigrationPlan
from fairlead.engine.decide.storage_migration.journal import (
    LONGEST_CAUSE,
    MOST_CONTESTED,
    MOST_FAILURES,
    MOST_ROUNDS,
    BuiltIn,
    Counts,
    MigrationPhase,
    ObjectFailure,
    StorageJournal,
    StorageView,
    with_failures,
)
from fairlead.engine.decide.storage_migration.steps import step_of
from kubeloop.objects.meta import Resource

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NAME = "widgets.example.test"
WIDGETS = Resource("example.test", "v2", "widgets", "Widget")
SHAPE = (("v1", True, False), ("v2", True, True))
PLAN = MigrationPlan(WIDGETS, "u", ("v1", "v2"), SHAPE, 3)
VIEW = StorageView(crd=NAME, run="now", page_size=2)


def a_journal(phase: MigrationPhase, **more: Any) -> StorageJournal:
    return StorageJournal(crd=NAME, run="now", phase=phase, plan=PLAN, list_version="100", **more)


def a_definition(*, uid: str = "u", generation: int = 3, stored: tuple[str, ...] = ("v1", "v2"), **more: Any) -> Good:
    tree = {
        "metadata": {"name": NAME, "uid": uid, "resourceVersion": "7", "generation": generation, **more},
        "spec": {
            "group": "example.test",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": name, "served": served, "storage": storage} for name, served, storage in SHAPE],
        },
        "status": {"storedVersions": list(stored)},
    }
    return Good(msgspec.json.encode(tree))


def a_page(*objects: tuple[str, str], token: str = "") -> Good:
    entry = {"manager": "a", "apiVersion": "example.test/v1", "fieldsV1": {}}
    items = [
        {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": f"uid-{name}",
                "resourceVersion": version,
                "managedFields": [entry],
            }
        }
        for name, version in objects
    ]
    return Good(msgspec.json.encode({"metadata": {"resourceVersion": "200", "continue": token}, "items": items}))


def written(version: str) -> Good:
    metadata = {"name": "w", "uid": "u", "resourceVersion": version}
    return Good(msgspec.json.encode({"metadata": metadata}))


class Play:
    """Answers what a step asks for; writes are answered by the name of their object."""

    def __init__(self, definition: Answer, pages: dict[str, Answer], writes: dict[str, Answer] | None = None) -> None:
        self.definition, self.pages, self.writes = definition, pages, writes or {}
        self.asked: list[Question] = []

    def step(self, journal: StorageJournal | None, view: StorageView = VIEW, now: datetime = NOW) -> StorageJournal:
        after: StorageJournal = self.turn(journal, view, now).journal
        return after

    def turn(self, journal: StorageJournal | None, view: StorageView = VIEW, now: datetime = NOW) -> Any:
        known: dict[Question, Answer] = {}
        while isinstance(outcome := step_of()(JobSnapshot("j", Answers(known), view, journal), now), Need):
            for question in (each for stage in outcome.stages for each in stage):
                self.asked.append(question)
                known[question] = self._answer(question)
        assert isinstance(outcome, StepResult)
        return outcome

    def _answer(self, question: Question) -> Answer:
        if isinstance(question, Ask):
            return self.pages[question.to.cursor] if isinstance(question.to, Listing) else self.definition
        assert isinstance(question, Apply | Patch)
        return self.writes[question.ref.name]

    @property
    def names(self) -> list[str]:
        return [each.ref.name for each in self.asked if isinstance(each, Apply | Patch)]


def test_a_walk_whose_pages_have_expired_leaves_out_what_is_not_behind_the_cursor() -> None:
    play = Play(
        a_definition(),
        {"t1": Bad("expired", "too old", 410), "": a_page(("a", "1"), ("b", "2"), ("c", "3"))},
        {"c": written("101")},
    )
    journal = a_journal(MigrationPhase.REWRITE, token="t1", cursor="ns/b", counts=Counts(done=2))

    elsewhere = play.step(journal)
    after = play.step(elsewhere)

    assert (elsewhere.token, elsewhere.cursor) == ("", "ns/b")
    assert play.names == ["c"]
    assert (after.phase, after.rewritten.done) == (MigrationPhase.VERIFY, 3)


def test_a_token_in_the_error_is_gone_on_with() -> None:
    play = Play(a_definition(), {"t1": Bad("expired", "too old", 410, "t2")})

    assert play.step(a_journal(MigrationPhase.REWRITE, token="t1", cursor="ns/b")).token == "t2"


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        (Bad("absent", "gone", 404), Counts(skipped=1)),
        (Bad("conflict", "written", 409), Counts(skipped=1)),
        (Bad("refused", "not you", 403), Counts(failed=1)),
        (Bad("failed", "too large", 413), Counts(failed=1)),
        (Bad("timeout", "no answer"), Counts(failed=1)),
    ],
)
def test_answers_are_counted_as_what_they_say_of_the_object(answer: Bad, counts: Counts) -> None:
    play = Play(a_definition(), {"": a_page(("a", "1"))}, {"a": answer})

    after = play.step(a_journal(MigrationPhase.REWRITE))

    assert structs.replace(after.rewritten, total=None) == counts
    assert after.phase is (MigrationPhase.INCOMPLETE if counts.failed else MigrationPhase.VERIFY)


def test_versions_that_are_no_numbers_are_proven_by_a_write_that_changes_nothing() -> None:
    play = Play(
        a_definition(),
        {"": a_page(("a", "x9"), ("b", "x8"))},
        {"a": written("x9"), "b": written("x10")},
    )

    after = play.step(a_journal(MigrationPhase.VERIFY, is_walked=True))

    assert play.names == ["a", "b"]
    assert (after.phase, after.rounds) == (MigrationPhase.REWRITE, 1)


def test_what_has_a_higher_version_than_the_checkpoint_needs_no_write() -> None:
    play = Play(a_definition(), {"": a_page(("a", "101"), ("b", "99"))}, {"b": written("99")})

    assert play.step(a_journal(MigrationPhase.VERIFY)).phase is MigrationPhase.PRUNE
    assert play.names == ["b"]


def test_after_a_whole_walk_a_lower_version_is_proof_too() -> None:
    play = Play(a_definition(), {"": a_page(("a", "101"), ("b", "99"))})

    assert play.step(a_journal(MigrationPhase.VERIFY, is_walked=True)).phase is MigrationPhase.PRUNE
    assert play.names == []


@pytest.mark.parametrize(("contested", "names"), [((), []), (("ns/b",), ["b"])], ids=["answered", "conflict"])
def test_a_conflict_that_nobody_has_caused_is_no_proof(contested: tuple[str, ...], names: list[str]) -> None:
    """Somebody else's admission may say that there is a conflict and refuse the write every time."""
    conflict = Bad("conflict", "not now", 409)
    play = Play(a_definition(), {"": a_page(("a", "99"), ("b", "99"))}, {"b": conflict})

    after = play.step(a_journal(MigrationPhase.VERIFY, is_walked=True, contested=contested))

    assert play.names == names
    assert after.phase is (MigrationPhase.REWRITE if names else MigrationPhase.PRUNE)
    assert not after.contested or not names


def test_conflicts_of_a_walk_are_remembered_and_where_there_are_too_many_all_is_proven() -> None:
    conflict = Bad("conflict", "written", 409)
    play = Play(a_definition(), {"": a_page(("a", "1"), ("b", "2"))}, {"a": conflict, "b": written("101")})
    many = tuple(f"ns/x-{number}" for number in range(MOST_CONTESTED))

    after = play.step(a_journal(MigrationPhase.REWRITE))
    full = play.step(a_journal(MigrationPhase.REWRITE, contested=many))

    assert (after.contested, after.is_walked) == (("ns/a",), True)
    assert (len(full.contested), full.is_walked) == (MOST_CONTESTED + 1, False)


def test_who_cannot_wait_writes_first_and_once_more_behind_the_checkpoint() -> None:
    """Check → Refs → Choose → Rewrite → Settle → Checkpoint → Verify → Prune."""
    view = structs.replace(VIEW, early=True, built_in=False)
    late = NOW + timedelta(seconds=10)
    play = Play(a_definition(), {"": a_page(("a", "1"), ("b", "250"))}, {"a": written("201"), "b": written("251")})

    phases, journal, now = [], play.step(None, view), NOW
    while journal.phase is not MigrationPhase.PRUNE:
        phases.append(journal.phase)
        now = late if journal.phase is MigrationPhase.SETTLE else now
        journal = play.step(journal, view, now)

    assert phases == [
        MigrationPhase.REFS,
        MigrationPhase.CHOOSE,
        MigrationPhase.REWRITE,
        MigrationPhase.SETTLE,
        MigrationPhase.CHECKPOINT,
        MigrationPhase.VERIFY,
    ]
    assert play.names == ["a", "b", "a"]
    assert journal.rewritten.done == 2


def test_the_clusters_own_migration_is_asked_for_by_whoever_wants_it() -> None:
    play = Play(a_definition(), {})

    after = play.step(a_journal(MigrationPhase.CHOOSE), structs.replace(VIEW, built_in=False))

    assert (after.phase, play.asked) == (MigrationPhase.REWRITE, [])


@pytest.mark.parametrize("ahead", [timedelta(), timedelta(days=400)])
def test_a_migration_of_the_cluster_that_nobody_runs_is_given_up_also_when_a_clock_was_ahead(ahead: timedelta) -> None:
    waiting = Good(msgspec.json.encode({"metadata": {"name": "theirs", "uid": "u"}}))
    begun = a_journal(MigrationPhase.BUILT_IN, built_in=BuiltIn("theirs", "v1", False, NOW + ahead))

    after = Play(waiting, {}).step(begun)
    last = Play(waiting, {}).step(after, now=NOW + timedelta(seconds=60))

    assert (after.phase, last.phase) == (MigrationPhase.BUILT_IN, MigrationPhase.REWRITE)
    assert last.built_in_failed == "theirs was not begun within 60 seconds"


def test_it_settles_for_no_longer_than_it_takes_whatever_the_clock_says() -> None:
    settling = timedelta(seconds=VIEW.settle_seconds)
    journal = a_journal(MigrationPhase.SETTLE, settled=NOW + settling)

    for now in (NOW, NOW - timedelta(days=1)):
        turn = Play(a_definition(), {}).turn(journal, now=now)
        assert turn.decision.verdict == Hold(Reason.STORAGE_SETTLING, now + settling)
    assert Play(a_definition(), {}).step(journal, now=NOW + settling).phase is MigrationPhase.CHECKPOINT


def test_it_is_given_up_when_others_are_always_faster() -> None:
    play = Play(a_definition(), {"": a_page(("a", "1"))}, {"a": Bad("conflict", "written", 409)})

    again = play.step(a_journal(MigrationPhase.VERIFY))
    last = play.step(a_journal(MigrationPhase.VERIFY, rounds=MOST_ROUNDS - 1))

    assert (again.phase, again.rounds) == (MigrationPhase.REWRITE, 1)
    assert last.phase is MigrationPhase.INCOMPLETE


def test_another_generation_of_the_same_versions_is_proven_anew_and_only_so_often() -> None:
    play = Play(a_definition(generation=4), {})

    again = play.step(a_journal(MigrationPhase.PRUNE))
    last = play.step(a_journal(MigrationPhase.PRUNE, changes=MOST_ROUNDS))

    assert (again.phase, again.changes, again.settled) == (MigrationPhase.SETTLE, 1, NOW + timedelta(seconds=10))
    assert last.phase is MigrationPhase.INCOMPLETE


@pytest.mark.parametrize(
    "definition",
    [a_definition(uid="another"), a_definition(stored=("v0", "v1", "v2"))],
    ids=["made again", "stored in yet another version"],
)
def test_another_definition_is_a_conflict(definition: Good) -> None:
    assert Play(definition, {}).step(a_journal(MigrationPhase.PRUNE)).phase is MigrationPhase.CONFLICT


def test_a_run_goes_on_where_another_was_cut_off() -> None:
    before = structs.replace(
        a_journal(MigrationPhase.REWRITE, token="t1", cursor="ns/b"), run="earlier", problem="stopped"
    )

    after = Play(a_definition(), {}).step(before)

    assert after == structs.replace(before, run="now", problem="")


def test_a_run_that_goes_on_waits_for_api_servers_where_the_definition_was_written_since() -> None:
    """Its storage version may have been another one meanwhile, so what was heard before does not count."""
    fields: dict[str, Any] = {"f:spec": {"f:versions": {}}}
    young = {"manager": "m", "time": "2029-12-31T23:59:57Z", "fieldsV1": fields}
    before = structs.replace(
        a_journal(MigrationPhase.REWRITE, is_early=True, settled=NOW - timedelta(hours=1)), run="earlier"
    )

    flipped = Play(a_definition(generation=5, managedFields=[young]), {}).step(before)
    unchanged = Play(a_definition(managedFields=[young]), {}).step(before)

    assert (flipped.phase, flipped.settled) == (MigrationPhase.REWRITE, NOW + timedelta(seconds=7))
    assert unchanged.settled == before.settled


@pytest.mark.parametrize("place", [-1, 1])
def test_a_journal_that_somebody_edited_is_begun_anew(place: int) -> None:
    before = structs.replace(a_journal(MigrationPhase.REWRITE, cursor="ns/b"), place=place)

    for each in (before, structs.replace(before, run="earlier")):
        after = Play(a_definition(), {}).step(each)
        assert (after.phase, after.cursor, after.place) == (MigrationPhase.SETTLE, "", 0)


@pytest.mark.parametrize("phase", [MigrationPhase.CLEAN, MigrationPhase.INCOMPLETE, MigrationPhase.CONFLICT])
def test_a_run_that_ended_is_followed_by_another_from_the_start(phase: MigrationPhase) -> None:
    before = structs.replace(a_journal(phase, cursor="ns/b"), run="earlier")

    after = Play(a_definition(), {}).step(before)

    assert (after.phase, after.cursor) == (MigrationPhase.SETTLE, "")


def test_it_waits_only_as_long_as_the_versions_are_young() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:versions": {}}}
    old = {"manager": "m", "time": "2029-12-31T23:59:57Z", "fieldsV1": fields}

    young = Play(a_definition(managedFields=[old]), {}).step(None)
    unknown = Play(a_definition(), {}).step(None)
    waiting = Play(a_definition(), {}).turn(unknown)

    early = Play(a_definition(managedFields=[old]), {}).step(None, structs.replace(VIEW, early=True))

    assert young.settled == NOW + timedelta(seconds=7)
    assert early.settled == NOW + timedelta(seconds=10)
    assert unknown.settled == NOW + timedelta(seconds=10)
    assert waiting.decision.verdict == Hold(waiting.decision.verdict.reason, NOW + timedelta(seconds=10))


def test_the_journal_stays_small_whatever_fails() -> None:
    many = [ObjectFailure(f"ns/w-{number}", "x" * 100_000) for number in range(3 * MOST_FAILURES)]

    after = with_failures(a_journal(MigrationPhase.REWRITE), many)

    assert (len(after.failures), after.truncated) == (MOST_FAILURES, True)
    assert len(after.failures[0].cause) == LONGEST_CAUSE
    assert len(msgspec.json.encode(after)) < 900 * 1024


def test_managed_fields_that_somebody_wrote_meanwhile_are_looked_at_again() -> None:
    gone = {"manager": "a", "operation": "Apply", "apiVersion": "example.test/v0", "fieldsV1": {"f:spec": {}}}
    page = msgspec.json.decode(a_page(("a", "1")).value)
    page["items"][0]["metadata"]["managedFields"] = [gone]
    play = Play(a_definition(), {"": Good(msgspec.json.encode(page))}, {"a": Bad("conflict", "written", 409)})

    again = play.step(a_journal(MigrationPhase.REFS))
    last = play.step(a_journal(MigrationPhase.REFS, rounds=MOST_ROUNDS - 1))

    assert (again.phase, again.rounds) == (MigrationPhase.REFS, 1)
    assert last.phase is MigrationPhase.CHOOSE


LISTED = {"": a_page(("a", "1"))}
NO_PAGE = {"": Bad("absent", "no page", 404)}
GONE = Bad("absent", "gone", 404)
BUSY = {"": Bad("failed", "busy", 500)}


@pytest.mark.parametrize(
    ("phase", "pages", "definition", "told"),
    [
        (MigrationPhase.REWRITE, NO_PAGE, GONE, "it was deleted meanwhile"),
        (MigrationPhase.REWRITE, NO_PAGE, a_definition(uid="v"), "it was deleted and made again"),
        (MigrationPhase.VERIFY, BUSY, a_definition(uid="v"), "it was deleted and made again"),
        (MigrationPhase.CHECKPOINT, NO_PAGE, GONE, "it was deleted meanwhile"),
        (MigrationPhase.PRUNE, LISTED, GONE, "it was deleted meanwhile"),
    ],
    ids=["gone", "another one", "another one, and a server that fails", "gone at a checkpoint", "gone at the end"],
)
def test_a_run_whose_definition_was_deleted_meanwhile_is_a_conflict(
    phase: MigrationPhase, pages: dict[str, Answer], definition: Answer, told: str
) -> None:
    """apiversions section 5.2: the world changed, and nothing has failed."""
    after = Play(definition, pages).step(a_journal(phase))

    assert after.phase is MigrationPhase.CONFLICT
    assert after.problem.startswith(told)


@pytest.mark.parametrize("definition", [a_definition(), Bad("timeout", "no answer")], ids=["there", "nobody can say"])
def test_objects_that_cannot_be_listed_stop_a_run_that_has_its_definition(definition: Answer) -> None:
    after = Play(definition, {"": Bad("absent", "no page", 404)}).step(a_journal(MigrationPhase.REWRITE))

    assert (after.phase, after.problem) == (MigrationPhase.REWRITE, "the objects cannot be listed: no page")


@pytest.mark.parametrize(
    "bad", [Bad("failed", "continue key is not valid", 400), Bad("timeout", "Too large resource version", 504)]
)
def test_a_token_that_the_server_does_not_take_is_not_sent_by_the_next_run(bad: Bad) -> None:
    """Of a cluster that was restored meanwhile, say: else no run would ever come past it."""
    play = Play(a_definition(), {"t1": bad, "": a_page(("b", "2"), ("c", "3"))}, {"c": written("101")})

    stopped = play.step(a_journal(MigrationPhase.REWRITE, token="t1", cursor="ns/b"))
    resumed = play.step(structs.replace(stopped, run="earlier"))
    after = play.step(resumed)

    assert stopped.problem == f"the objects cannot be listed: {bad.text}"
    assert (resumed.token, resumed.cursor) == ("", "ns/b")
    assert play.names == ["c"]
    assert after.phase is MigrationPhase.VERIFY


def test_versions_of_more_digits_than_numbers_have_say_nothing() -> None:
    endless = "9" * 5000
    play = Play(a_definition(), {"": a_page(("a", "1"))}, {"a": written("1")})

    after = play.step(structs.replace(a_journal(MigrationPhase.VERIFY), list_version=endless))

    assert play.names == ["a"]
    assert after.phase is MigrationPhase.PRUNE
