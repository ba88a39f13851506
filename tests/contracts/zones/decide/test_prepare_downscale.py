"""Section 3.11 steps 1 to 10: what keeps a downscale from being prepared at all."""

from __future__ import annotations

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.admission.live_lists import selector_text
from fairlead.contracts.zones.decide.admission.prepare_downscale import prepare_downscale
from fairlead.contracts.zones.kinds import LAST_DOWNSCALE, MIN_TIME, PREPARE_PATH, PREPARE_PORT
from fairlead.core.ask import Bad
from kubeloop.objects.apps import StatefulSet, StatefulSetSpec
from kubeloop.objects.meta import LabelSelector, LabelSelectorRequirement
from tests.builders import NOW, a_pod
from tests.contracts.zones.decide.reviews import (
    World,
    a_downscale,
    a_prepared_zone,
    a_review,
    a_scale,
    a_workload,
    ago,
    judged,
)

RECALL = "recall"
ZONES = "list statefulsets rollout-group=ingester"
PODS_OF_B = "list pods name=ingester-zone-b"
PARENT = "get statefulset/ingester-zone-a"


def two(**of_b: object) -> tuple[StatefulSet, StatefulSet]:
    """Zones a, with 5 replicas to be made 3, and b."""
    return a_prepared_zone("a", 5), a_prepared_zone("b", **of_b)  # type: ignore[arg-type]


def without_effect(world: World) -> bool:
    return not [
        line for line in world.log if line.split()[0] in ("POST", "DELETE", "patch", "take", "create", "replace")
    ]


def test_step_1_a_dry_run_leaves_no_trace() -> None:
    """Scenario 27, S13."""
    a, b = two()
    world = World(a, b)

    admit = judged(prepare_downscale, world, structs.replace(a_downscale(a, 3), dry_run=True))

    assert admit.allowed
    assert world.log == ["answer"]


def test_step_2_allows_with_a_warning_what_cannot_be_decoded() -> None:
    world = World()

    admit = judged(prepare_downscale, world, a_review())

    assert admit.allowed
    assert admit.warnings
    assert world.log == ["answer"]


def test_step_2_allows_the_write_of_the_time_that_comes_back_through_the_webhook() -> None:
    """Rule 37: it changes no replicas, so nothing is asked about it."""
    a, b = two(last=ago(minutes=1))
    world = World(a, b)

    admit = judged(prepare_downscale, world, a_downscale(a, 5))

    assert (admit.allowed, admit.warnings, admit.level) == (True, (), "debug")
    assert world.log == ["answer"]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_step_3_prepares_statefulsets_only(kind: str) -> None:
    """B-4."""
    review = a_review(a_workload(kind, 3), a_workload(kind, 1), resource=f"{kind.lower()}s", name="web")

    admit = judged(prepare_downscale, World(), review)

    assert admit.allowed
    assert f"{kind.lower()}s/web" in admit.warnings[0]


def test_step_3_allows_with_a_warning_the_scale_of_another_kind() -> None:
    review = a_review(a_workload("Scale", 3), a_workload("Scale", 1), resource="deployments")

    admit = judged(prepare_downscale, World(), review)

    assert admit.allowed
    assert admit.warnings


@pytest.mark.parametrize("bad", [Bad("absent"), Bad("refused", "forbidden"), Bad("timeout")])
def test_step_3_allows_with_a_warning_when_the_parent_cannot_be_read(bad: Bad) -> None:
    """E-23."""
    a, b = two()
    world = World(a, b)
    world.fails[PARENT] = bad

    admit = judged(prepare_downscale, world, a_scale(a, 3))

    assert admit.allowed
    assert (bad.text or bad.kind) in admit.warnings[0]
    assert without_effect(world)


@pytest.mark.parametrize("label", [None, "True", "false", ""])
def test_step_4_allows_without_exactly_this_label(label: str | None) -> None:
    zone = a_prepared_zone(label=label)
    world = World(zone)

    admit = judged(prepare_downscale, world, a_downscale(zone, 1))

    assert (admit.allowed, admit.word, admit.warnings) == (True, "not-labelled", ())
    assert world.log == ["answer"]


@pytest.mark.parametrize("port", [None, "", " "])
def test_step_5_denies_without_a_port(port: str | None) -> None:
    zone = a_prepared_zone(port=port)

    admit = judged(prepare_downscale, World(zone), a_downscale(zone, 1))

    assert not admit.allowed
    assert PREPARE_PORT in admit.message


@pytest.mark.parametrize("port", ["http", "0", "65536", "-1", "+80", "8080/x@evil"])
def test_step_5_denies_what_is_no_port(port: str) -> None:
    zone = a_prepared_zone(port=port)
    world = World(zone)

    admit = judged(prepare_downscale, world, a_downscale(zone, 1))

    assert not admit.allowed
    assert PREPARE_PORT in admit.message
    assert without_effect(world)


@pytest.mark.parametrize("path", [None, ""])
def test_step_6_denies_without_a_path(path: str | None) -> None:
    zone = a_prepared_zone(path=path)

    admit = judged(prepare_downscale, World(zone), a_downscale(zone, 1))

    assert not admit.allowed
    assert PREPARE_PATH in admit.message


def test_step_7_denies_without_a_service() -> None:
    zone = a_prepared_zone(service="")

    admit = judged(prepare_downscale, World(zone), a_downscale(zone, 1))

    assert not admit.allowed
    assert "spec.serviceName" in admit.message


ELSEWHERE = ["169.254.169.254/latest/meta-data?", "x:y@evil.example/", "a#b", "[::1]", "a b", "a..b", "A", "", "é"]


@pytest.mark.parametrize("service", ["evil.example/latest?", "evil.example:80#", *filter(None, ELSEWHERE)])
@pytest.mark.parametrize("group", [None, "ingester"])
def test_step_7_denies_a_service_that_would_lead_elsewhere(service: str, group: str | None) -> None:
    zone = a_prepared_zone(service=service, group=group)
    world = World(zone)

    admit = judged(prepare_downscale, world, a_downscale(zone, 1))

    assert (admit.allowed, admit.word) == (False, "name-invalid")
    assert "spec.serviceName is no name of a Service" in admit.message
    assert world.log == ["answer"]


@pytest.mark.parametrize("field", ["name", "namespace"])
@pytest.mark.parametrize("name", [*ELSEWHERE, "x" * 254])
def test_step_7_denies_a_made_up_object_whose_name_would_lead_elsewhere(field: str, name: str) -> None:
    zone = a_prepared_zone()
    forged = structs.replace(zone, metadata=structs.replace(zone.metadata, **{field: name}))
    world = World(zone)

    admit = judged(prepare_downscale, world, a_downscale(forged, 1))

    assert (admit.allowed, admit.word) == (False, "name-invalid")
    assert world.log == ["answer"]


@pytest.mark.parametrize("group", [None, "ingester"])
@pytest.mark.parametrize("field", ["uid", "name", "namespace"])
def test_a_made_up_object_that_is_not_there_has_nobody_called(field: str, group: str | None) -> None:
    zone = a_prepared_zone("a", 5, group=group)
    forged = structs.replace(zone, metadata=structs.replace(zone.metadata, **{field: "another"}))
    world = World(zone)
    review = structs.replace(a_downscale(forged, 3), name=zone.metadata.name)

    admit = judged(prepare_downscale, world, review)

    assert (admit.allowed, admit.word) == (False, "not-there")
    assert without_effect(world)


@pytest.mark.parametrize(("bad", "word"), [(Bad("absent"), "not-there"), (Bad("timeout", "too late"), "zone-unread")])
def test_a_zone_without_group_must_be_there_to_be_prepared(bad: Bad, word: str) -> None:
    zone = a_prepared_zone("a", 5, group=None)
    world = World(zone)
    world.fails[PARENT] = bad

    admit = judged(prepare_downscale, world, a_downscale(zone, 3))

    assert (admit.allowed, admit.word) == (False, word)
    assert bad.text in admit.message
    assert without_effect(world)


@pytest.mark.parametrize(
    ("told", "word"), [(RECALL, "record-unread"), (ZONES, "zones-unread"), (PODS_OF_B, "zone-unsettled")]
)
@pytest.mark.parametrize("bad", [Bad("refused", "forbidden"), Bad("timeout", "too late")])
def test_steps_8_and_10_deny_what_cannot_be_read(told: str, word: str, bad: Bad) -> None:
    """E-23: unlike the parent, the group must be known."""
    a, b = two()
    world = World(a, b)
    world.fails[told] = bad

    admit = judged(prepare_downscale, world, a_downscale(a, 3))

    assert (admit.allowed, admit.word, admit.level) == (False, word, "warn")
    assert bad.text in admit.message
    assert without_effect(world)


@pytest.mark.parametrize("group", [None, ""])
def test_step_8_is_for_zones_with_a_group(group: str | None) -> None:
    """E-4."""
    a, b = a_prepared_zone("a", 5, group=group), a_prepared_zone("b", last=NOW, group=group)
    world = World(a, b)

    admit = judged(prepare_downscale, world, a_downscale(a, 3))

    assert admit.allowed
    assert not world.asked("list")


def test_an_excluded_zone_has_no_group_and_holds_nobody_back() -> None:
    a, b = two(last=NOW, updated=0, excluded=True)

    held_by_b = judged(prepare_downscale, World(a, b), a_downscale(a, 3))
    own = World(a, b)
    of_b = judged(prepare_downscale, own, a_downscale(b, 1))

    assert held_by_b.allowed
    assert of_b.allowed
    assert not own.asked("list")


def test_every_denial_says_what_was_asked_for() -> None:
    a, b = two(last=ago(minutes=1))

    admit = judged(prepare_downscale, World(a, b), a_scale(a, 3))

    for part in ("statefulsets/ingester-zone-a", "namespace test", "from 5 to 3 replicas"):
        assert part in admit.message


def test_step_9_denies_naming_zone_time_and_wait() -> None:
    """Scenario 25."""
    a, b = two(last=ago(minutes=1))
    world = World(a, b)

    admit = judged(prepare_downscale, world, a_downscale(a, 3))

    assert not admit.allowed
    assert admit.level == "warn"
    for part in ("ingester-zone-b", "2026-03-01T11:59:00Z", "12h0m0s", "11h59m0s"):
        assert part in admit.message
    assert without_effect(world)
    assert PODS_OF_B not in world.log


def test_a_zone_does_not_hold_itself_back() -> None:
    """Rule 38, scenario 25: it may be downscaled again, while not ready and while outdated."""
    a, b = two(last=ago(minutes=1), updated=0)

    admit = judged(prepare_downscale, World(a, b), a_downscale(b, 1))

    assert admit.allowed


@pytest.mark.parametrize(
    ("of_b", "allowed"),
    [
        ({"last": ago(hours=12)}, True),
        ({"last": ago(hours=11, minutes=59, seconds=59)}, False),
        ({"last": None}, True),
        ({"last": ago(minutes=1), "min_time": None}, True),
        ({"last": ago(hours=-1)}, False),
        ({"last": ago(hours=-1), "min_time": None}, True),
        ({"last": ago(minutes=1), "min_time_annotation": "30s"}, True),
        ({"last": ago(minutes=1), "min_time": None, "min_time_annotation": "2m"}, False),
        ({"last": "2026-03-01T12:59:00+01:00"}, False),
        ({"last": None, "min_time": "nonsense"}, True),
    ],
    ids=[
        "just long enough",
        "a second too early",
        "never before",
        "nobody has to wait",
        "in the future (E-19)",
        "in the future and nobody has to wait",
        "the annotation before the label (U-2)",
        "the annotation alone (U-2)",
        "another offset",
        "nothing to wait after",
    ],
)
def test_step_9_compares_the_times_of_the_other_zone(of_b: dict[str, object], allowed: bool) -> None:
    a, b = two(**of_b)

    assert judged(prepare_downscale, World(a, b), a_downscale(a, 3)).allowed is allowed


def test_e_19_a_time_that_lies_ahead_is_told_with_what_helps() -> None:
    a, b = two(last=ago(days=-400))

    admit = judged(prepare_downscale, World(a, b), a_downscale(a, 3))

    assert not admit.allowed
    assert admit.message.endswith(", or correct that time, which lies ahead, in its annotation or in the zone tracker")


@pytest.mark.parametrize(
    ("of_b", "key"),
    [
        ({"last": "yesterday"}, LAST_DOWNSCALE),
        ({"last": "yesterday", "min_time": None}, LAST_DOWNSCALE),
        ({"last": ago(days=9), "min_time": "1d"}, MIN_TIME),
        ({"last": ago(days=9), "min_time_annotation": ""}, MIN_TIME),
    ],
)
def test_step_9_denies_what_cannot_be_parsed(of_b: dict[str, object], key: str) -> None:
    a, b = two(**of_b)
    world = World(a, b)

    admit = judged(prepare_downscale, world, a_downscale(a, 3))

    assert not admit.allowed
    assert key in admit.message
    assert "ingester-zone-b" in admit.message
    assert without_effect(world)


def test_step_10_denies_while_another_zone_is_not_updated() -> None:
    """Scenario 26."""
    a, b = two(updated=2)
    world = World(a, b)

    admit = judged(prepare_downscale, world, a_downscale(a, 3))

    assert (admit.allowed, admit.word) == (False, "zone-unsettled")
    assert "ingester-zone-b has 1 non-updated and 0 non-ready replicas" in admit.message
    assert without_effect(world)


@pytest.mark.parametrize("state", ["notReady", "terminating", "stuck", "missing"])
def test_step_10_counts_the_ready_pods_live(state: str) -> None:
    """The status still says that all are ready and updated."""
    a, b = two()
    pods = [a_pod(b, ordinal, "new") for ordinal in (0, 1)]
    third = [] if state == "missing" else [a_pod(b, 2, "new", state=state)]
    world = World(a, b, pods=(*pods, *third))

    admit = judged(prepare_downscale, world, a_downscale(a, 3))

    assert not admit.allowed
    assert "ingester-zone-b has 0 non-updated and 1 non-ready replicas" in admit.message


def test_step_10_denies_while_the_status_counts_more_pods_than_are_ready() -> None:
    """A pod is on its way out or in: the status knows of 4, and 3 are updated and ready."""
    a, b = two()
    b = structs.replace(b, status=structs.replace(b.status, replicas=4))

    admit = judged(prepare_downscale, World(a, b), a_downscale(a, 3))

    assert not admit.allowed
    assert "ingester-zone-b has 1 non-updated and 1 non-ready replicas" in admit.message


def test_step_10_counts_no_pods_of_others() -> None:
    """H-10: a pod with the zone's label that another object controls does not stand in for one that is missing."""
    a, b = two()
    pods = (a_pod(b, 0, "new"), a_pod(b, 1, "new"), a_pod(b, name="stray", owner="somebody"))

    assert not judged(prepare_downscale, World(a, b, pods=pods), a_downscale(a, 3)).allowed


def test_step_10_finds_pods_by_the_selector_where_there_is_no_name_label() -> None:
    """H-9."""
    a, b = two()
    labels = {"app": "ingester", "zone": "b"}
    spec: StatefulSetSpec = structs.replace(
        b.spec, template=type(b.spec.template)(), selector=structs.replace(b.spec.selector, match_labels=labels)
    )
    b = structs.replace(b, spec=spec)
    world = World(a, b, pods=tuple(a_pod(b, ordinal, "new", labels=labels) for ordinal in range(3)))

    admit = judged(prepare_downscale, world, a_downscale(a, 3))

    assert admit.allowed
    assert world.asked("list pods") == ["list pods app=ingester,zone=b"]


def test_a_selector_is_written_as_the_api_takes_it() -> None:
    selector = LabelSelector(
        {"b": "2", "a": "1"},
        (
            LabelSelectorRequirement("c", "In", ("x", "y")),
            LabelSelectorRequirement("d", "NotIn", ("z",)),
            LabelSelectorRequirement("e", "Exists"),
            LabelSelectorRequirement("f", "DoesNotExist"),
        ),
    )

    assert selector_text(selector) == "a=1,b=2,c in (x,y),d notin (z),e,!f"
