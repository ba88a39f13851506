"""3.12: times of downscales in a ConfigMap, which many share."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest
from msgspec import Raw

from fairlead.contracts.zones.decide.admission.prepare_downscale import prepare_downscale
from fairlead.contracts.zones.decide.admission.zone_tracker import Tracked, Tracker
from fairlead.core.act import Replace
from fairlead.core.ask import Answers, Ask, Bad, Good, Read
from tests.builders import NOW
from tests.contracts.zones.decide.reviews import TRACKER, World, a_downscale, a_prepared_zone, a_scale, ago, judged

A, B = "ingester-zone-a", "ingester-zone-b"
NAME = TRACKER.tracker_name
GET, AGAIN = f"get configmap/{NAME}", f"get configmap/{NAME} again"
CREATE, REPLACE = f"create {NAME}", f"replace configmap/{NAME}"
AT_NOW = '{"lastDownscaled":"2026-03-01T12:00:00Z"}'


def entry(when: datetime) -> str:
    return f'{{"lastDownscaled": "{when:%Y-%m-%dT%H:%M:%SZ}"}}'


def a_world(*, group: str | None = "ingester", min_time: str | None = "1h", **entries: str) -> World:
    """Zones a with 5 replicas and b; entries `a` and `b` of the tracker, no ConfigMap without any."""
    world = World(
        a_prepared_zone("a", 5, group=group, min_time=min_time), a_prepared_zone("b", group=group, min_time=min_time)
    )
    if entries:
        world.set_tracker({"data": {f"ingester-zone-{letter}": text for letter, text in entries.items()}})
    return world


def test_the_first_downscale_makes_the_configmap_and_is_denied() -> None:
    """Scenario 28, rule 42: every zone of the group counts as just downscaled."""
    world = a_world()

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert (admit.allowed, admit.word) == (False, "too-soon")
    assert B in admit.message
    assert world.tracked() == {A: AT_NOW, B: AT_NOW}
    assert not world.asked("POST")


def test_the_first_downscale_of_zones_that_need_not_wait_is_allowed() -> None:
    world = a_world(min_time=None)

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert admit.allowed
    assert world.tracked() == {A: AT_NOW, B: AT_NOW}
    assert not world.asked("replace")


def test_after_the_wait_only_this_zones_entry_moves() -> None:
    """Scenario 28, rule 44: no annotation is written."""
    world = a_world(a=entry(ago(hours=2)), b=entry(ago(hours=2)))

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert admit.allowed
    assert world.tracked() == {A: AT_NOW, B: entry(ago(hours=2))}
    assert world.last(A) is None


def test_annotations_do_not_count_with_the_tracker() -> None:
    a, b = a_prepared_zone("a", 5), a_prepared_zone("b", last=ago(minutes=1))
    world = World(a, b)
    world.set_tracker({"data": {}})

    admit = judged(prepare_downscale, world, a_downscale(a, 3), settings=TRACKER)

    assert admit.allowed
    assert world.tracked() == {A: AT_NOW}


def test_everything_else_in_the_configmap_stays_byte_for_byte() -> None:
    """H-21, rule 43: another group's entry, labels, annotations, binary data and fields nobody knows."""
    body = (
        b'{"kind":"ConfigMap", "metadata":{"name":"t","resourceVersion":"7","labels":{"x":"\\u003cy\\u003e"}},'
        b'"binaryData":{"b":"AA=="},'
        b'"data":{"store-zone-a":"{\\u0022LASTDOWNSCALED\\u0022: \\"2026-01-01T00:00:00.5+02:00\\"}"}}'
    )
    zone = a_prepared_zone("a", 5)
    tracker = Tracker("test", "t", Answers({Ask(Read(Tracker("test", "t", Answers()).ref)): Good(body)}))
    loaded = tracker.loaded((zone,), NOW)
    assert isinstance(loaded, Tracked)

    write = tracker.write(loaded, zone, NOW)

    assert isinstance(write, Replace)
    assert write.resource_version == "7"
    assert b'"metadata":{"name":"t","resourceVersion":"7","labels":{"x":"\\u003cy\\u003e"}}' in write.body
    assert b'"binaryData":{"b":"AA=="}' in write.body
    assert b'"store-zone-a":"{\\u0022LASTDOWNSCALED\\u0022: \\"2026-01-01T00:00:00.5+02:00\\"}"' in write.body
    assert msgspec.json.decode(write.body)["data"][A] == AT_NOW
    assert list(loaded.times()) == ["store-zone-a"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "{}",
        '{"lastDownscaled":3}',
        '{"lastDownscaled":"yesterday"}',
        '{"lastDownscaled":null}',
        '"x"',
    ],
)
@pytest.mark.parametrize("letter", ["a", "b", "of-another-group"])
def test_an_entry_that_cannot_be_read_denies_every_group(text: str, letter: str) -> None:
    """E-28."""
    world = a_world(**{letter: text})

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert (admit.allowed, admit.word) == (False, "tracker-unread")
    assert f"ingester-zone-{letter}" in admit.message
    assert not world.asked("POST")


def test_a_zone_without_entry_is_passed_over() -> None:
    world = a_world(a=entry(ago(hours=2)))

    assert judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER).allowed


def test_step_10_holds_with_the_tracker_too() -> None:
    """B-4."""
    world = World(a_prepared_zone("a", 5), a_prepared_zone("b", updated=2))
    world.set_tracker({"data": {}})

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert (admit.allowed, admit.word) == (False, "zone-unsettled")


def test_a_repetition_leaves_the_entry_as_it_is() -> None:
    """H-4."""
    world = a_world(a=entry(ago(seconds=20)))

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert admit.allowed
    assert world.tracked() == {A: entry(ago(seconds=20))}


def test_a_configmap_that_another_made_meanwhile_is_read() -> None:
    world = a_world()

    async def made(world: World) -> None:
        world.set_tracker({"data": {B: entry(ago(hours=2))}})

    world.meanwhile[CREATE] = made
    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert admit.allowed
    assert world.tracked() == {A: AT_NOW, B: entry(ago(hours=2))}
    assert AGAIN in world.log


def written_by_others(times: int) -> World:
    """Somebody else adds an entry just before each of our writes, so many times."""
    world = a_world(a=entry(ago(hours=2)))

    async def changed(world: World) -> None:
        assert world.tracker is not None
        data = world.tracked()
        world.set_tracker(world.tracker | {"data": data | {f"store-zone-{len(data)}": entry(ago(hours=3))}})
        if len(data) < times:
            world.meanwhile[REPLACE] = changed

    world.meanwhile[REPLACE] = changed
    return world


@pytest.mark.parametrize("times", [1, 2])
def test_a_conflict_is_retried_on_what_the_others_wrote(times: int) -> None:
    """H-21: a group of the same namespace writes at the same time."""
    world = written_by_others(times)

    admit = judged(prepare_downscale, world, a_scale(world.zones[A], 3), settings=TRACKER)

    assert admit.allowed
    tracked = world.tracked()
    assert tracked[A] == AT_NOW
    assert len(tracked) == 1 + times
    assert world.asked("POST") == [f"POST {A}-3", f"POST {A}-4"]


def test_the_longest_way_a_request_can_take_ends_well() -> None:
    """Of a Scale, with a ConfigMap that another makes first and then changes twice."""
    world = written_by_others(2)
    tree, world.tracker = world.tracker, None

    async def made(world: World) -> None:
        assert tree is not None
        world.set_tracker(tree)

    world.meanwhile[CREATE] = made
    admit = judged(prepare_downscale, world, a_scale(world.zones[A], 3), settings=TRACKER)

    assert admit.allowed
    assert len(world.asked(AGAIN)) == 3


def test_conflicts_without_end_deny_and_undo() -> None:
    world = written_by_others(9)

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert (admit.allowed, admit.word) == (False, "unrecorded")
    assert world.asked("DELETE") == [f"DELETE {A}-3", f"DELETE {A}-4"]
    assert world.log[-4:] == [f"forget {A}-3", f"forget {A}-4", "end", "answer"]


@pytest.mark.parametrize(
    ("told", "word"), [(GET, "tracker-unread"), (CREATE, "tracker-unread"), (REPLACE, "unrecorded")]
)
def test_a_configmap_that_cannot_be_used_denies(told: str, word: str) -> None:
    """E-23."""
    world = a_world() if told == CREATE else a_world(a=entry(ago(hours=2)))
    world.fails[told] = Bad("refused", "forbidden")

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert (admit.allowed, admit.word) == (False, word)
    assert "forbidden" in admit.message
    assert bool(world.asked("POST")) is bool(world.asked("DELETE")) is (told == REPLACE)


def test_a_zone_without_group_makes_the_configmap_with_its_own_entry() -> None:
    """H-21, rule 41: not denied, after its pods have prepared."""
    world = a_world(group=None)

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert admit.allowed
    assert world.tracked() == {A: AT_NOW}
    calls = [f"take {A}", f"note {A}-3", f"note {A}-4", f"POST {A}-3", f"POST {A}-4", CREATE, "end"]
    assert world.log == ["recall", f"get statefulset/{A}", GET, *calls, "answer"]


def test_a_zone_without_group_keeps_the_entries_of_others() -> None:
    world = a_world(group=None, b=entry(ago(minutes=1)), c="nonsense")

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert admit.allowed
    assert world.tracked() == {A: AT_NOW, B: entry(ago(minutes=1)), "ingester-zone-c": "nonsense"}


def test_a_zone_without_group_adds_to_what_another_made_meanwhile() -> None:
    world = a_world(group=None)

    async def made(world: World) -> None:
        world.set_tracker({"data": {B: "whatever"}})

    world.meanwhile[CREATE] = made
    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3), settings=TRACKER)

    assert admit.allowed
    assert world.tracked() == {A: AT_NOW, B: "whatever"}


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"metadata":{"resourceVersion":"1"},"data":"x"}', b"\xff"])
def test_what_is_no_configmap_denies(body: bytes) -> None:
    zone = a_prepared_zone("a", 5)
    tracker = Tracker("test", "t", Answers({Ask(Read(Tracker("test", "t", Answers()).ref)): Good(body)}))

    assert isinstance(tracker.loaded((zone,), NOW), str)


def test_the_last_member_of_any_case_is_the_time() -> None:
    """As the Go program reads it."""
    text = '{"other":1,"LastDownscaled":"2020-01-01T00:00:00Z","lastdownscaled":"2026-03-01T12:00:00Z"}'
    tracked = Tracked({}, {A: Raw(msgspec.json.encode(text))}, "1")

    assert tracked.times() == {A: NOW}
