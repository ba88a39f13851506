"""Section 3.11 steps 11 to 13: the pods are called, the time is written, and what goes wrong is undone."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.admission.downscale_marks import own_question
from fairlead.contracts.zones.decide.admission.preparation import MOST_PODS, calls_to, normal_path
from fairlead.contracts.zones.decide.admission.prepare_downscale import outpaced, prepare_downscale
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot
from fairlead.contracts.zones.settings import Settings
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Answers, Ask, Bad, Good, Http, Need, Read
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.meta import Ref
from tests.builders import NAMESPACE, NOW
from tests.contracts.zones.decide.reviews import (
    HOST,
    STAMP,
    TRACKER,
    A,
    B,
    World,
    a_downscale,
    a_prepared_zone,
    a_scale,
    a_world,
    ago,
    judged,
    judging,
    tree_of,
)


def test_a_downscale_prepares_the_pods_it_removes_then_writes_its_time() -> None:
    """Scenario 23, in this order: the mark before the lists, the time before the answer, the mark's end before it."""
    world = a_world()

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert (admit.allowed, admit.word, admit.level) == (True, "prepared", "info")
    assert "from 5 to 3 replicas" in admit.message
    assert world.last(A) == "2026-03-01T12:00:00Z"
    assert world.log == [
        "recall",
        "list statefulsets rollout-group=ingester",
        f"list pods name={B}",
        f"take {A}",
        f"note {A}-3",
        f"note {A}-4",
        f"POST {A}-3",
        f"POST {A}-4",
        STAMP,
        "end",
        "answer",
    ]
    assert world.noted() == dict.fromkeys((f"{A}-3", f"{A}-4"), "2026-03-01T12:00:00Z")


def test_a_scale_is_prepared_like_its_statefulset() -> None:
    world = a_world()

    admit = judged(prepare_downscale, world, a_scale(world.zones[A], 3))

    assert admit.allowed
    assert world.asked("POST") == [f"POST {A}-3", f"POST {A}-4"]
    assert world.last(A) is not None


def needed(to: int, settings: Settings | None = None, now: datetime = NOW) -> Need:
    """What a downscale of a zone of 5 without group asks for under the mark: calls and time."""
    zone = a_prepared_zone("a", 5, group=None)
    answers = there(zone)
    for _ in ("mark", "notes"):
        need = prepare_downscale(ReviewSnapshot(a_downscale(zone, to), answers, settings or Settings()), now)
        assert isinstance(need, Need)
        (stage,) = need.stages
        answers = Answers({**answers.known, **dict.fromkeys(stage, Good())})
    need = prepare_downscale(ReviewSnapshot(a_downscale(zone, to), answers, settings or Settings()), now)
    assert isinstance(need, Need)
    return need


def there(zone: StatefulSet) -> Answers:
    """That the zone is as the review says, and nobody is at it."""
    read = Ask(Read(Ref(STATEFULSETS, NAMESPACE, zone.metadata.name, zone.metadata.uid)))
    return Answers({own_question(zone): Good(), read: Good(msgspec.json.encode(tree_of(zone)))})


def calls_of(to: int, settings: Settings) -> list[Ask]:
    """The calls to pods that a downscale of a zone of 5 asks for."""
    need = needed(to, settings)
    assert need.stop_at_failure
    return [each for each in need.stages[0] if isinstance(each, Ask)]


def test_pods_are_called_by_their_names_in_dns_with_the_time_they_are_given() -> None:
    calls = calls_of(4, Settings(pods_timeout=2, cluster_domain="example.org"))

    url = f"http://{A}-4.ingester.test.svc.example.org:8080/ingester/prepare-downscale"
    assert calls == [Ask(Http("POST", url, subject="review-1"), effect=True, timeout=2)]


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("prepare", "/prepare"),
        ("/prepare", "/prepare"),
        ("///a//b", "/a/b"),
        ("./a/./b/../c", "/a/c"),
        ("../../a", "/a"),
        ("a/", "/a/"),
        ("/", "/"),
        (".", "/"),
        ("a/b?force=1&x=//./y", "/a/b?force=1&x=//./y"),
        ("a#b", "/a"),
        ("a b/%41/ü", "/a%20b/%41/%C3%BC"),
        ("a..b/...", "/a..b/..."),
    ],
)
def test_a_path_is_brought_to_its_normal_form(path: str, normal: str) -> None:
    """U-3."""
    assert normal_path(path) == normal


@pytest.mark.parametrize(
    ("start", "then", "pods"),
    [
        (10, None, ["13", "14"]),
        (0, 1, ["0", "4"]),
        (0, 2, ["0", "1"]),
        (2, 0, list("3456")),
        (10, 0, ["10", "11", "12", "13", "14"]),
        (0, 9, list("01234")),
    ],
)
def test_ordinals_begin_where_the_zone_says(start: int, then: int | None, pods: list[str]) -> None:
    """H-5, also when the same update moves them."""
    world = a_world(start=start)

    judged(prepare_downscale, world, a_downscale(world.zones[A], 3, start=then))

    assert world.asked("POST") == [f"POST {A}-{pod}" for pod in pods]


@pytest.mark.parametrize("replicas", [MOST_PODS + 1, 2**31 - 1, 10**30])
def test_more_pods_than_can_be_called_are_refused_at_once(replicas: int) -> None:
    zone = structs.replace(a_prepared_zone("a"), spec=structs.replace(a_prepared_zone("a").spec, replicas=replicas))
    world = World(pods=())

    admit = judged(prepare_downscale, world, a_downscale(zone, 0))

    assert (admit.allowed, admit.word) == (False, "too-many-pods")
    assert "10000" in admit.message
    assert world.log == ["answer"]


def test_the_most_pods_are_all_called() -> None:
    """E-30: how many at once is the driver's matter; all must answer."""
    zone = a_prepared_zone("a", MOST_PODS, group=None)
    world = World(zone, pods=())

    admit = judged(prepare_downscale, world, a_downscale(zone, 0))

    assert admit.allowed
    assert len(set(world.asked("POST"))) == MOST_PODS


def test_a_number_below_zero_calls_nobody() -> None:
    """Reviews come before validation."""
    world = a_world()

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], -1))

    assert not admit.allowed
    assert world.log == ["answer"]


@pytest.mark.parametrize("group", ["ingester", None])
@pytest.mark.parametrize("bad", [Bad("failed", "it answered with status 500", 500), Bad("timeout"), Bad("unreachable")])
def test_a_pod_that_does_not_prepare_ends_it_and_all_are_undone_before_the_answer(bad: Bad, group: str | None) -> None:
    """Scenario 24, B-4, S11: also those that were never asked; the mark ends when all have been told.

    Then it is denied: whoever tries again at once finds nothing in the way, and no late call undoes what was prepared.
    """
    world = a_world(group=group)
    world.fails[f"POST {A}-2"] = bad

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 1))

    assert (admit.allowed, admit.word, admit.level) == (False, "prepare-failed", "warn")
    assert f"{A}-2: {bad.text or bad.kind}" in admit.message
    assert (world.last(A), world.noted()) == (None, {})
    undone = world.log[world.log.index(f"DELETE {A}-1") :]
    told, forgotten = ([f"{verb} {A}-{ordinal}" for ordinal in (1, 2, 3, 4)] for verb in ("DELETE", "forget"))
    assert undone == [*told, *forgotten, "end", "answer"]

    world.fails.clear()
    again = judged(prepare_downscale, world, a_downscale(world.zones[A], 1, uid="review-2"))

    assert again.allowed
    assert world.asked("DELETE") == [f"DELETE {A}-{ordinal}" for ordinal in (1, 2, 3, 4)]


@pytest.mark.parametrize("group", ["ingester", None])
def test_what_does_not_fit_into_the_time_is_undone_after_the_answer_under_the_mark(group: str | None) -> None:
    """H-15: only the calls that were cut or not begun are made again; until they are over the mark stands."""
    world = a_world(group=group)
    world.fails = {f"POST {A}-3": Bad("timeout"), f"DELETE {A}-3": Bad("late"), f"DELETE {A}-4": Bad("late")}
    seen_meanwhile = []

    async def try_again(world: World) -> None:
        world.fails.pop(f"DELETE {A}-4")
        seen_meanwhile.append(await judging(prepare_downscale, world, a_downscale(world.zones[A], 2, uid="2")))

    async def not_now(world: World) -> None:
        """The first time comes before the answer."""
        world.meanwhile[f"DELETE {A}-4"] = try_again

    world.meanwhile[f"DELETE {A}-4"] = not_now

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 2))

    assert not admit.allowed
    assert [(each.allowed, each.word) for each in seen_meanwhile] == [(False, "in-progress")]
    after = world.log[world.log.index("answer") + 1 :]
    assert [line for line in after if line not in ("recall", "answer")] == [f"DELETE {A}-3", f"DELETE {A}-4", "end"]
    assert world.asked("DELETE").count(f"DELETE {A}-2") == 1
    assert world.noted().keys() == {f"{A}-2", f"{A}-3", f"{A}-4"}, "whoever comes after a crash must know of it"


def test_a_client_that_has_gone_is_undone_before_the_time_is_written() -> None:
    """The API server cannot have heard the answer, so the downscale does not happen; with and without a group."""
    for group in ("ingester", None):
        world = a_world(group=group)
        world.fails = {"awaited": Bad("unreachable", "the connection was closed")}

        admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

        assert (admit.allowed, admit.word) == (False, "unheard")
        assert world.last(A) is None
        assert world.asked("POST") == [f"POST {A}-3", f"POST {A}-4"]
        undone = [f"{verb} {A}-{ordinal}" for verb in ("DELETE", "forget") for ordinal in (3, 4)]
        assert world.log[-6:] == [*undone, "end", "answer"]


def test_nobody_is_called_when_the_api_server_does_not_answer_to_notes() -> None:
    world = a_world()
    world.fails[f"note {A}-3"] = Bad("timeout", "no answer within 3 seconds")

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert (admit.allowed, admit.word) == (False, "unnoted")
    assert "no answer within 3 seconds" in admit.message
    assert world.log[-4:] == [f"note {A}-3", f"note {A}-4", "end", "answer"]


@pytest.mark.parametrize(
    "bad",
    [
        Bad("refused", "forbidden", 403),
        Bad("absent", "not found", 404),
        Bad("failed", "failed calling webhook", 500),
        Bad("conflict", "", 409),
    ],
)
def test_a_note_that_is_refused_holds_nobody_up(bad: Bad) -> None:
    """It is for crashes only, and the right to patch pods is optional; the other pods are noted all the same."""
    world = a_world()
    world.fails[f"note {A}-3"] = bad

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert (admit.allowed, admit.word) == (True, "prepared")
    assert world.noted().keys() == {f"{A}-4"}
    assert world.asked("POST") == [f"POST {A}-3", f"POST {A}-4"]


def test_a_note_that_could_not_be_written_is_not_taken_away() -> None:
    world = a_world()
    world.fails = {f"note {A}-3": Bad("refused", "forbidden", 403), f"POST {A}-3": Bad("failed")}

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert (admit.allowed, admit.word) == (False, "prepare-failed")
    assert world.asked("forget") == [f"forget {A}-4"]
    assert world.asked("DELETE") == [f"DELETE {A}-3", f"DELETE {A}-4"]


def test_a_note_that_cannot_be_taken_away_changes_no_denial() -> None:
    world = a_world()
    world.fails = {f"POST {A}-3": Bad("failed", "no", 500), f"forget {A}-4": Bad("late")}

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert (admit.allowed, admit.word) == (False, "prepare-failed")
    assert world.log[-2:] == ["end", "answer"]
    assert world.noted().keys() == {f"{A}-4"}


@pytest.mark.parametrize("settings", [Settings(), TRACKER], ids=["annotations", "tracker"])
@pytest.mark.parametrize("group", ["ingester", None])
def test_a_denial_has_changed_nothing_of_the_statefulset(group: str | None, settings: Settings) -> None:
    """An API server repeats a review whose object has changed, and answers a PUT with a conflict."""
    world = a_world(group=group)
    world.set_tracker({"data": {}})
    world.fails[f"POST {A}-3"] = Bad("failed")
    before = dict(world.zones)

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=settings)

    assert (admit.allowed, admit.word) == (False, "prepare-failed")
    assert world.zones == before
    assert world.asked("note") == [f"note {A}-3", f"note {A}-4"]


def test_who_is_outpaced_is_denied_in_the_words_of_every_denial() -> None:
    world = a_world()

    admit = outpaced(ReviewSnapshot(a_downscale(world.zones[A], 3)))

    assert not admit.allowed
    assert f"statefulsets/{A} in namespace test from 5 to 3 replicas" in admit.message
    assert "try again" in admit.message


def test_undoing_goes_on_when_a_pod_does_not_answer() -> None:
    world = a_world()
    world.fails = {f"POST {A}-3": Bad("failed"), f"DELETE {A}-3": Bad("unreachable")}

    judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert world.asked("DELETE") == [f"DELETE {A}-3", f"DELETE {A}-4"]
    assert world.log[-2:] == ["end", "answer"]
    assert world.noted() == {f"{A}-3": "2026-03-01T12:00:00Z"}, "it hears it later"


def test_a_message_names_the_first_pods_that_failed_and_counts_the_rest() -> None:
    zone = a_prepared_zone("a", 5, group=None)
    preparation = calls_to(zone, range(5), Settings(), "review-1")

    told = preparation.failures(Answers(dict.fromkeys(preparation.posts, Bad("failed", "no"))))

    assert told == f"{A}-0: no; {A}-1: no; {A}-2: no; 2 more"


@pytest.mark.parametrize("bad", [Bad("refused", "forbidden"), Bad("absent", "not found"), Bad("timeout", "too late")])
def test_a_time_that_cannot_be_written_denies_and_undoes(bad: Bad) -> None:
    """Section 3.11 step 12."""
    world = a_world()
    world.fails[STAMP] = bad

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert (admit.allowed, admit.word, admit.level) == (False, "unrecorded", "warn")
    assert bad.text in admit.message
    assert world.asked("DELETE") == [f"DELETE {A}-3", f"DELETE {A}-4"]
    assert world.log[-2:] == ["end", "answer"]


def test_the_time_is_a_patch_of_one_annotation_without_a_version() -> None:
    need = needed(3, now=NOW + timedelta(milliseconds=700))

    (stamp,) = need.stages[-1]
    assert isinstance(stamp, Patch)
    assert (stamp.does, stamp.kind, stamp.ref.uid) == (Does.STAMP_DOWNSCALE, PatchKind.MERGE, f"uid-{A}")
    assert msgspec.json.decode(stamp.body) == {
        "metadata": {"annotations": {"grafana.com/last-downscale": "2026-03-01T12:00:00Z"}}
    }


@pytest.mark.parametrize(
    ("of_a", "kept"),
    [
        ({"last": ago(seconds=29)}, True),
        ({"last": ago(seconds=30)}, False),
        ({"last": ago(seconds=4), "min_time": "10s"}, True),
        ({"last": ago(seconds=5), "min_time": "10s"}, False),
        ({"last": ago(seconds=29), "min_time": None}, True),
        ({"last": ago(seconds=29), "min_time": "0"}, True),
        ({"last": ago(seconds=29), "min_time": "nonsense"}, True),
        ({"last": ago(seconds=-2)}, True),
        ({"last": ago(days=-2)}, False),
        ({"last": "nonsense"}, False),
    ],
    ids=[
        "within 30 s",
        "after 30 s",
        "within half its min-time",
        "after half its min-time",
        "without min-time",
        "min-time of nothing",
        "min-time that is none",
        "a little ahead: another replica's clock",
        "far ahead",
        "no time",
    ],
)
def test_a_repetition_leaves_the_time_as_it_is(of_a: dict[str, object], kept: bool) -> None:
    """H-4, E-10."""
    world = a_world(**of_a)
    before = world.last(A)

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert admit.allowed
    assert world.asked("POST") == [f"POST {A}-3", f"POST {A}-4"]
    assert world.last(A) == (before if kept else "2026-03-01T12:00:00Z")


def test_a_repetition_that_comes_with_the_answer_is_allowed() -> None:
    """E-10, scenario 29: the object changed under the request, so the API server or the client repeats it at once."""
    world = a_world()

    first = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))
    again = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), now=NOW + timedelta(seconds=5))

    assert first.allowed
    assert first.afterwards == ()
    assert again.allowed
    assert world.asked("patch") == [STAMP]
    assert world.noted() == dict.fromkeys((f"{A}-3", f"{A}-4"), "2026-03-01T12:00:05Z")


def test_the_time_is_compared_with_what_was_read_last() -> None:
    """The old object of the review is older than the list: the zone was stamped in between."""
    world = a_world()
    review = a_downscale(world.zones[A], 3)
    world.zones[A] = a_prepared_zone("a", 5, last=ago(seconds=3))

    admit = judged(prepare_downscale, world, review)

    assert admit.allowed
    assert not world.asked("patch")


def test_host_is_where_scenarios_expect_it() -> None:
    (call,) = calls_of(4, Settings())

    assert isinstance(call.to, Http)
    assert call.to.url.startswith(f"http://{A}-4.{HOST}:8080/")
