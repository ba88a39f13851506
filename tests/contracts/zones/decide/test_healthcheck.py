"""The health check before a zone starts: who is held, by what, and what is asked."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from fairlead.contracts.zones.decide import Snapshot
from fairlead.contracts.zones.decide.healthchecks.healthcheck import EVERY
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import HealthCheck
from fairlead.contracts.zones.explain import explain
from fairlead.contracts.zones.kinds import GROUP_LABEL, HEALTH_CHECK_STARTED, ZONE_SOAK
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Answer, Ask, Bad, Http
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.apps import StatefulSet
from tests.builders import EARLIER, NOW, a_pod, a_zone, pods_of, seen
from tests.contracts.zones.decide.checking import STARTED, Server, a_check, a_checked_zone, settled_by, unreachable
from tests.contracts.zones.decide.judging import completed, deleted
from tests.prometheus_answers import scalar, value, vector

A, B, C = a_zone("a", current="new"), a_checked_zone("b"), a_zone("c", current="new")
FAILING = Hold(Reason.HEALTH_CHECK_FAILING, again=NOW + timedelta(seconds=EVERY))


def watched(*parts: object, check: HealthCheck | None = None) -> Snapshot:
    """With zone a rolled and zone b next, unless other parts are given."""
    given = parts or (A, B, pods_of(A, "new"), pods_of(B))
    return msgspec.structs.replace(seen(*given), checks=(check or a_check(),))  # type: ignore[arg-type]


def stamps(decision: Decision) -> dict[str, str]:
    """What the decision records as starts, by zone."""
    writes = decision.verdict.writes if isinstance(decision.verdict, Move) else ()
    found = {}
    for write in writes:
        if isinstance(write, Patch):
            assert (write.does, write.kind, write.refusable) == (Does.STAMP_HEALTH_CHECK, PatchKind.MERGE, True)
            metadata = msgspec.json.decode(write.body)["metadata"]
            assert metadata["uid"] == write.ref.uid == write.scope
            found[write.ref.name.removeprefix("ingester-zone-")] = metadata["annotations"][HEALTH_CHECK_STARTED]
    return found


def test_a_check_that_passes_lets_the_zone_start() -> None:
    server = Server()

    decision = settled_by(watched(), server)

    assert deleted(decision) == ["b-0"]
    assert server.asked == [
        ('sum(rate(errors{namespace="test",pod=~"ingester-zone-a-[0-9]+"}[5m]))', "2026-03-01T12:00:00Z"),
        ('sum(rate(errors{namespace="test",pod=~"ingester-zone-b-[0-9]+"}[10m]))', STARTED),
        ("(1) <= bool 2 * (1)", "2026-03-01T12:00:00Z"),
    ]


def test_queries_are_tried_and_timed_as_the_check_says_and_have_no_effect() -> None:
    server = Server()

    settled_by(watched(check=a_check({"queryRetries": 2, "queryTimeout": "3s"})), server)

    assert {(ask.timeout, ask.effect, ask.max_age) for ask in server.asks} == {(3.0, False, EVERY)}
    calls = [ask.to for ask in server.asks if isinstance(ask.to, Http)]
    assert {(call.method, call.retry.tries, call.url.partition("?")[0]) for call in calls} == {
        ("GET", 3, "http://prometheus:9090/api/v1/query")
    }


def test_passes_within_half_a_minute_ask_the_same() -> None:
    one, other, later = Server(), Server(), Server()

    for server, seconds in ((one, 0.2), (other, 29.9), (later, 30.1)):
        settled_by(watched(), server, NOW + timedelta(seconds=seconds))

    assert one.asks == other.asks != later.asks


BAD: dict[str, Server] = {
    "the success query says no": Server(success=scalar("0")),
    "the success query is empty": Server(success=vector()),
    "the success query is refused": Server(success=Bad("failed", "it answered with status 400", 400)),
    "the current value is refused": Server(current=Bad("failed", "", 503)),
    "the current value is many": Server(current=vector("1", "2")),
    "the baseline times out": Server(baseline=Bad("timeout")),
}
EMPTY: dict[str, Server] = {
    "no current value": Server(current=vector()),
    "no baseline": Server(baseline=vector()),
    "a baseline that is not a number": Server(baseline=value("NaN")),
}


@pytest.mark.parametrize("server", [*BAD.values(), *EMPTY.values()], ids=[*BAD, *EMPTY])
def test_by_default_whatever_is_not_success_holds_the_zone(server: Server) -> None:
    decision = settled_by(watched(), server)

    assert decision.verdict == FAILING
    (told,) = decision.tell
    assert (told.reason, told.warning, told.about.name) == ("RolloutBlocked", True, "ingester-zone-b")
    assert "check-0" in told.text


@pytest.mark.parametrize(("servers", "field"), [(BAD, "onFailure"), (EMPTY, "onNoData")], ids=["failure", "no data"])
@pytest.mark.parametrize("then", ["Warn", "Disabled"])
def test_a_check_may_only_warn_or_say_nothing(servers: dict[str, Server], field: str, then: str) -> None:
    for server in servers.values():
        decision = settled_by(watched(check=a_check({field: then})), server)

        assert deleted(decision) == ["b-0"]
        assert [tell.reason for tell in decision.tell] == (["HealthCheckFailing"] if then == "Warn" else [])


def test_each_kind_of_answer_has_its_own_policy() -> None:
    check = a_check({"onFailure": "Warn", "onNoData": "Pause"})

    assert settled_by(watched(check=check), Server(current=vector())).verdict == FAILING
    assert deleted(settled_by(watched(check=check), unreachable)) == ["b-0"]


def test_one_check_of_several_is_enough_to_hold() -> None:
    check = a_check(
        {}, {"successQuery": "${current} < bool 5"}, {"successQuery": "${current} < bool 5", "onFailure": "Warn"}
    )

    class Picky(Server):
        def __call__(self, ask: Ask) -> Answer:
            answer = super().__call__(ask)
            return scalar("0") if "< bool 5" in self.asked[-1][0] else answer

    decision = settled_by(watched(check=check), Picky())

    assert decision.verdict == FAILING
    assert [("check-1" in tell.text, "check-2" in tell.text) for tell in decision.tell] == [
        (True, False),
        (False, True),
    ]


def test_a_check_without_baseline_asks_for_none() -> None:
    server = Server()

    decision = settled_by(watched(check=a_check({"successQuery": "${current} < bool 5"})), server)

    assert deleted(decision) == ["b-0"]
    assert [time for _, time in server.asked] == ["2026-03-01T12:00:00Z"] * 2


def test_a_disabled_check_is_not_asked() -> None:
    server = Server(success=scalar("0"))

    assert deleted(settled_by(watched(check=a_check({"disabled": True})), server)) == ["b-0"]
    assert server.asked == []


BEFORE = a_checked_zone("b", f"new={(EARLIER + timedelta(seconds=1)).isoformat()}")
"""Its rollout began when the pods of the other zones were there."""
UNHELD = {
    "a zone whose rollout began after the others were done": (
        watched(A, BEFORE, pods_of(A, "new"), pods_of(B)),
        ["b-0"],
    ),
    "the first zone": (watched(a_checked_zone("a"), B, pods_of(a_zone("a")), pods_of(B)), ["a-0"]),
    "a zone that is rolling": (watched(A, B, pods_of(A, "new"), pods_of(B, _0="ready new")), ["b-1"]),
    "a zone without the annotation": (watched(A, a_zone("b"), pods_of(A, "new"), pods_of(B)), ["b-0"]),
}


@pytest.mark.parametrize(("snapshot", "goes"), UNHELD.values(), ids=UNHELD.keys())
def test_nothing_is_asked_for(snapshot: Snapshot, goes: list[str]) -> None:
    server = Server(success=scalar("0"))

    assert deleted(settled_by(snapshot, server)) == goes
    assert server.asked == []


@pytest.mark.parametrize(("success", "goes"), [("0", []), ("1", ["b-0"])])
def test_a_start_by_a_clock_that_was_ahead_skips_no_check(success: str, goes: list[str]) -> None:
    """The pods of zone a are from after the true start, and all of them seem to be from before it."""
    ahead = (NOW + timedelta(days=1)).isoformat()
    b, server = a_checked_zone("b", f"new={ahead}"), Server(success=scalar(success))

    decision = settled_by(watched(A, b, pods_of(A, "new"), pods_of(b)), server)

    assert deleted(decision) == goes
    assert [time for _, time in server.asked] == ["2026-03-01T12:00:00Z"] * 3


def test_zones_that_have_nothing_to_do_with_the_rollout_are_not_measured() -> None:
    c, server = a_zone("c"), Server()
    rolling = (*pods_of(c, _0="missing"), a_pod(c, 0, "new"))

    settled_by(watched(A, BEFORE, c, pods_of(A, "new"), pods_of(B), rolling), server)

    assert server.asked[0][0] == 'sum(rate(errors{namespace="test",pod=~"ingester-zone-c-0"}[5m]))'


def test_a_zone_that_is_held_is_passed_by() -> None:
    c = a_zone("c")

    decision = settled_by(watched(A, B, c, pods_of(A, "new"), pods_of(B), pods_of(c)), unreachable)

    assert deleted(decision) == ["c-0"]


def test_a_zone_that_is_held_and_not_ready_holds_the_others() -> None:
    b, c = a_checked_zone("b", max_unavailable="2"), a_zone("c")

    decision = settled_by(watched(A, b, c, pods_of(A, "new"), pods_of(b, _0="notReady"), pods_of(c)), unreachable)

    assert decision.verdict == FAILING


def test_a_soak_comes_before_any_question() -> None:
    a, server = a_zone("a", current="new", annotations={ZONE_SOAK: "1h"}), Server()

    decision = settled_by(watched(a, B, pods_of(a, "new"), pods_of(B)), server)

    assert decision.verdict.reason is Reason.SOAKING
    assert server.asked == []


UNUSABLE = {
    "no such object": (seen(A, B, pods_of(A, "new"), pods_of(B)), "there is no valid"),
    "another's": (watched(check=a_check(labels={GROUP_LABEL: "other"})), "does not select"),
}


@pytest.mark.parametrize(("snapshot", "why"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_without_a_usable_check_the_zone_starts_and_it_is_said_once(snapshot: Snapshot, why: str) -> None:
    decision, again = (settled_by(snapshot, unreachable) for _ in range(2))

    assert deleted(decision) == ["b-0"]
    (told,) = decision.tell
    assert (told.reason, told.about.name, decision.tell) == ("InvalidAnnotation", "ingester-zone-b", again.tell)
    assert why in told.text


def test_before_the_first_pod_goes_the_start_is_recorded_on_every_zone_to_be_judged() -> None:
    a, b, c, d = (a_checked_zone(letter, None) for letter in "abcd")
    snapshot = watched(a, b, c, a_zone("d"), *map(pods_of, (a, b, c, d)))

    decision = settled_by(snapshot, unreachable)

    assert stamps(decision) == dict.fromkeys(("a", "b", "c"), "new=2026-03-01T12:00:00Z")
    assert (deleted(decision), decision.verdict.reason) == ([], Reason.ROLLING)


def test_records_of_revisions_go_before_the_start() -> None:
    a, b = a_zone("a"), a_checked_zone("b", None)

    decision = settled_by(watched(a, b, pods_of(a, "new"), pods_of(b)), unreachable)

    assert (completed(decision), stamps(decision)) == (["a"], {"b": "new=2026-03-01T12:00:00Z"})


@pytest.mark.parametrize("text", [f"old={STARTED}", "new", "new=yesterday", STARTED, "", "="])
def test_a_start_of_another_revision_or_without_a_time_is_none(text: str) -> None:
    b = a_checked_zone("b", text)

    decision = settled_by(watched(A, b, pods_of(A, "new"), pods_of(b)), unreachable)

    assert stamps(decision) == {"b": "new=2026-03-01T12:00:00Z"}


def leaving(zone: StatefulSet) -> StatefulSet:
    metadata = msgspec.structs.replace(zone.metadata, deletion_timestamp=NOW)
    return msgspec.structs.replace(zone, metadata=metadata)


NO_START = {
    "a zone that has begun": a_checked_zone("b", None),
    "a paused zone": a_checked_zone("b", None, paused="true"),
    "a zone that is being deleted": leaving(a_checked_zone("b", None)),
    "a zone at rest": a_checked_zone("b", None, update="old"),
    "a zone with a stale status": a_checked_zone("b", None, generation=2),
}


@pytest.mark.parametrize("b", NO_START.values(), ids=NO_START.keys())
def test_no_start_is_recorded_where_none_is_awaited(b: object) -> None:
    a = a_zone("a")
    pods = pods_of(B, _0="ready new") if b is NO_START["a zone that has begun"] else pods_of(B)

    decision = settled_by(watched(a, b, pods_of(a), pods), unreachable)

    assert (stamps(decision), deleted(decision)) == ({}, ["a-0"])


def test_a_start_that_may_not_be_written_does_not_keep_the_first_zone_from_rolling() -> None:
    """H-6: without the permission the judgement has no baseline, which is a lack of data."""
    b = a_checked_zone("b", None)
    first = watched(a_zone("a"), b, pods_of(a_zone("a")), pods_of(b))
    later = watched(A, b, pods_of(A, "new"), pods_of(b))

    for snapshot, wanted in ((first, ["a-0"]), (later, [])):
        verdict = settled_by(snapshot, unreachable).verdict
        assert isinstance(verdict, Move)
        refused = msgspec.structs.replace(
            snapshot, answers=msgspec.structs.replace(snapshot.answers, known={verdict.writes[-1]: Bad("refused")})
        )

        # In a later round the write would name a later time.
        decision = settled_by(refused, Server(), NOW + timedelta(seconds=5))

        assert deleted(decision) == wanted
    assert decision.verdict.reason is Reason.HEALTH_CHECK_FAILING


def test_a_look_that_does_not_ask_says_so() -> None:
    decision = settled_by(watched(), lambda ask: Bad("not-sent"))

    assert decision.verdict.reason is Reason.HEALTH_CHECK_UNASKED
    assert decision.tell == ()


def test_the_explanation_shows_what_was_measured_and_the_event_does_not() -> None:
    """Numbers differ from look to look, and an event each time would tell nothing new."""
    snapshot = watched()
    server = Server(current=value("7"), baseline=value("0.5"), success=scalar("0"))
    answers: dict[Ask, Answer] = {}

    def remembered(ask: Ask) -> Answer:
        return answers.setdefault(ask, server(ask))

    decision = settled_by(snapshot, remembered)
    known = msgspec.structs.replace(snapshot.answers, known=answers)
    shown = explain(msgspec.structs.replace(snapshot, answers=known), decision, NOW)

    assert "current 7, baseline 0.5" not in decision.tell[0].text
    assert "current 7, baseline 0.5" in shown.stands.lanes[1].waits[0].text
    assert (shown.stands.phase, shown.stands.lanes[1].phase) == ("Blocked", "Pending")
    assert shown.again == FAILING.again
