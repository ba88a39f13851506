"""Section 3.10, step by step."""

from __future__ import annotations

import pytest
from msgspec import Raw, structs

from fairlead.contracts.zones.decide.admission.no_downscale import no_downscale
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot, log_keys
from fairlead.contracts.zones.kinds import NO_DOWNSCALE
from fairlead.core.ask import Answers, Ask, Bad, Good, Need, Read
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS, StatefulSet
from kubeloop.objects.meta import Ref
from kubeloop.objects.review import NOTHING
from tests.builders import NOW
from tests.contracts.zones.decide.reviews import World, a_prepared_zone, a_review, a_workload, judged, raw

LABELLED = {NO_DOWNSCALE: "true"}
KINDS = {"StatefulSet": "statefulsets", "Deployment": "deployments", "ReplicaSet": "replicasets"}


def labelled_zone() -> StatefulSet:
    zone = a_prepared_zone("a", 2)
    return structs.replace(zone, metadata=structs.replace(zone.metadata, labels=LABELLED))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (NOTHING, a_workload("StatefulSet", 1)),
        (a_workload("StatefulSet", 2, LABELLED), NOTHING),
        (a_workload("DaemonSet", 2, LABELLED), a_workload("DaemonSet", 1)),
        (a_workload("StatefulSet", "2", LABELLED), a_workload("StatefulSet", 1)),
        (a_workload("StatefulSet", 2, LABELLED), Raw(b"[]")),
        (a_workload("StatefulSet", 2, LABELLED), a_workload("Deployment", 1)),
        (raw({"apiVersion": "example.com/v1", "kind": "StatefulSet", "spec": {"replicas": 2}}), a_workload("Scale", 1)),
    ],
    ids=["no old", "no new", "unknown kind", "text for a number", "no object", "two kinds", "kind of another group"],
)
def test_step_1_allows_with_a_warning_what_cannot_be_decoded(old: Raw, new: Raw) -> None:
    admit = judged(no_downscale, World(), a_review(old, new))

    assert admit.allowed
    assert admit.word == "undecodable"
    assert "statefulsets/ingester-zone-a" in admit.warnings[0]


def test_step_2_allows_what_has_no_replicas_before_and_after() -> None:
    admit = judged(
        no_downscale, World(), a_review(a_workload("StatefulSet", None, LABELLED), a_workload("StatefulSet", None))
    )

    assert (admit.allowed, admit.warnings) == (True, ())


@pytest.mark.parametrize(("old", "new"), [(2, None), (None, 2)])
def test_step_3_warns_when_only_one_object_has_replicas(old: int | None, new: int | None) -> None:
    review = a_review(a_workload("StatefulSet", old, LABELLED), a_workload("StatefulSet", new, LABELLED))

    admit = judged(no_downscale, World(), review)

    assert admit.allowed
    assert "<nil>" in admit.warnings[0]


def test_scale_without_a_number_asks_for_none() -> None:
    """An API server leaves out a number of zero in a Scale."""
    zone = labelled_zone()

    down = judged(no_downscale, World(zone), a_review(a_workload("Scale", 2), a_workload("Scale", None)))
    up = judged(no_downscale, World(zone), a_review(a_workload("Scale", None), a_workload("Scale", 2)))

    assert not down.allowed
    assert "from 2 to 0 replicas" in down.message
    assert (up.allowed, up.warnings) == (True, ())


@pytest.mark.parametrize("new", [2, 3])
def test_step_4_allows_as_many_or_more(new: int) -> None:
    admit = judged(
        no_downscale, World(), a_review(a_workload("StatefulSet", 2, LABELLED), a_workload("StatefulSet", new))
    )

    assert (admit.allowed, admit.warnings, admit.level) == (True, (), "debug")


@pytest.mark.parametrize("kind", KINDS)
def test_step_5_reads_the_label_of_the_old_object(kind: str) -> None:
    """Removing the label and scaling down in one update is denied."""
    admit = judged(
        no_downscale, World(), a_review(a_workload(kind, 2, LABELLED), a_workload(kind, 1), resource=KINDS[kind])
    )

    assert not admit.allowed
    assert admit.level == "warn"


def test_step_5_reads_the_parent_of_a_scale_live() -> None:
    world = World(labelled_zone())

    admit = judged(no_downscale, world, a_review(a_workload("Scale", 2), a_workload("Scale", 1)))

    assert not admit.allowed
    assert world.log == ["get statefulset/ingester-zone-a", "answer"]


def test_step_5_asks_for_the_parent_that_the_resource_names() -> None:
    review = a_review(a_workload("Scale", 2), a_workload("Scale", 1), resource="deployments", name="web")

    outcome = no_downscale(ReviewSnapshot(review), NOW)

    assert outcome == Need(((Ask(Read(Ref(DEPLOYMENTS, "test", "web"))),),))


@pytest.mark.parametrize("bad", [Bad("absent", "not found"), Bad("refused", "forbidden"), Bad("timeout")])
def test_step_5_allows_with_a_warning_when_the_parent_cannot_be_read(bad: Bad) -> None:
    world = World(labelled_zone())
    world.fails["get statefulset/ingester-zone-a"] = bad

    admit = judged(no_downscale, world, a_review(a_workload("Scale", 2), a_workload("Scale", 1)))

    assert admit.allowed
    assert (bad.text or bad.kind) in admit.warnings[0]


def test_step_5_allows_with_a_warning_when_the_parent_is_not_understood() -> None:
    review = a_review(a_workload("Scale", 2), a_workload("Scale", 1))
    question = Ask(Read(Ref(STATEFULSETS, "test", "ingester-zone-a")))

    admit = no_downscale(ReviewSnapshot(review, Answers({question: Good(b'{"metadata": 3}')})), NOW)

    assert not isinstance(admit, Need)
    assert admit.allowed
    assert admit.warnings


def test_step_5_allows_with_a_warning_a_scale_of_an_unknown_resource() -> None:
    admit = judged(no_downscale, World(), a_review(a_workload("Scale", 2), a_workload("Scale", 1), resource="rockets"))

    assert admit.allowed
    assert "rockets/ingester-zone-a" in admit.warnings[0]


@pytest.mark.parametrize("labels", [{}, {NO_DOWNSCALE: "True"}, {NO_DOWNSCALE: "false"}, {NO_DOWNSCALE: ""}])
def test_step_6_allows_without_exactly_this_label(labels: dict[str, str]) -> None:
    admit = judged(no_downscale, World(), a_review(a_workload("StatefulSet", 2, labels), a_workload("StatefulSet", 1)))

    assert (admit.allowed, admit.word, admit.warnings) == (True, "not-labelled", ())


@pytest.mark.parametrize("dry_run", [True, False, None])
def test_step_7_denies_with_all_that_the_user_needs_to_know(dry_run: bool | None) -> None:
    old, new = a_workload("StatefulSet", 2, LABELLED), a_workload("StatefulSet", 1, LABELLED)

    admit = judged(no_downscale, World(), a_review(old, new, dry_run=dry_run))

    assert not admit.allowed
    for part in ("statefulsets/ingester-zone-a", "test", "from 2 to 1 replicas", "grafana.com/no-downscale=true"):
        assert part in admit.message
    assert admit.code == 0


def test_log_keys_name_the_object_the_request_and_its_replicas() -> None:
    review = a_review(a_workload("StatefulSet", 2), a_workload("StatefulSet", None))

    keys = log_keys(ReviewSnapshot(review))

    assert keys == {
        "object.name": "ingester-zone-a",
        "object.namespace": "test",
        "object.resource": "statefulsets",
        "request.uid": "review-1",
        "object.old_replicas": "2",
        "object.new_replicas": "<nil>",
    }


def test_log_keys_of_what_cannot_be_read_leave_the_replicas_out() -> None:
    assert "object.old_replicas" not in log_keys(ReviewSnapshot(a_review()))
