"""Reviews are not signed: what prepare-downscale calls, it reads from the cluster; a review only says what is asked."""

from __future__ import annotations

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.admission.prepare_downscale import prepare_downscale
from fairlead.contracts.zones.kinds import PREPARE_PATH, PREPARE_PORT
from fairlead.core.ask import Ask, Http, Question
from kubeloop.objects.apps import Ordinals, StatefulSet
from tests.contracts.zones.decide.reviews import World, a_downscale, a_prepared_zone, judged

A = "ingester-zone-a"
GROUPS = pytest.mark.parametrize("group", ["ingester", None])


class Called(World):
    """Keeps the addresses of all calls."""

    def __init__(self, *zones: StatefulSet) -> None:
        super().__init__(*zones)
        self.urls: set[str] = set()

    def answer(self, question: Question):  # type: ignore[no-untyped-def]
        if isinstance(question, Ask) and isinstance(question.to, Http):
            self.urls.add(question.to.url)
        return super().answer(question)


def with_annotations(zone: StatefulSet, **changes: str) -> StatefulSet:
    annotations = {**zone.metadata.annotations, **changes}
    return structs.replace(zone, metadata=structs.replace(zone.metadata, annotations=annotations))


def with_spec(zone: StatefulSet, **changes: object) -> StatefulSet:
    return structs.replace(zone, spec=structs.replace(zone.spec, **changes))


@GROUPS
def test_service_port_and_path_are_those_of_the_cluster(group: str | None) -> None:
    zone = a_prepared_zone("a", 5, group=group)
    world = Called(zone, a_prepared_zone("b", group=group))
    forged = with_annotations(zone, **{PREPARE_PORT: "9999", PREPARE_PATH: "shutdown"})
    forged = with_spec(forged, service_name="database")

    admit = judged(prepare_downscale, world, a_downscale(forged, 4))

    assert admit.allowed
    assert world.urls == {f"http://{A}-4.ingester.test.svc.cluster.local.:8080/ingester/prepare-downscale"}


@GROUPS
@pytest.mark.parametrize("said", [4, 500])
def test_pods_are_those_that_the_zone_has(group: str | None, said: int) -> None:
    """However many it had by the review; if that is not made up, the API server asks again with what there is."""
    zone = a_prepared_zone("a", 5, group=group)
    world = World(zone, a_prepared_zone("b", group=group))

    judged(prepare_downscale, world, a_downscale(with_spec(zone, replicas=said), 3))

    assert world.asked("POST") == [f"POST {A}-3", f"POST {A}-4"]


@GROUPS
def test_where_the_zone_is_no_larger_nothing_is_done(group: str | None) -> None:
    """Somebody was faster: what the API server stores must be of what it has, so it asks again."""
    zone = a_prepared_zone("a", 3, group=group)
    world = World(zone, a_prepared_zone("b", group=group))

    admit = judged(prepare_downscale, world, a_downscale(with_spec(zone, replicas=5), 3))

    assert admit.allowed
    assert not [line for line in world.log if line.split()[0] not in ("recall", "list", "get", "answer")]


def test_ordinals_begin_where_the_cluster_says() -> None:
    zone = a_prepared_zone("a", 5, group=None, start=10)
    world = World(zone)

    judged(prepare_downscale, world, a_downscale(with_spec(zone, ordinals=Ordinals(0)), 3, start=10))

    assert world.asked("POST") == [f"POST {A}-13", f"POST {A}-14"]


def test_a_zone_of_a_group_is_not_passed_off_as_one_without() -> None:
    """Its neighbours would not be minded."""
    zone = a_prepared_zone("a", 5)
    labels = {key: value for key, value in zone.metadata.labels.items() if key != "rollout-group"}
    forged = structs.replace(zone, metadata=structs.replace(zone.metadata, labels=labels))
    world = World(zone, a_prepared_zone("b", updated=0))

    admit = judged(prepare_downscale, world, a_downscale(forged, 3))

    assert (admit.allowed, admit.word) == (False, "group-changed")
    assert world.asked("POST") == []


def test_what_the_cluster_cannot_be_called_by_is_denied() -> None:
    """The review has a port that the StatefulSet lacks."""
    zone = a_prepared_zone("a", 5, port=None)
    world = World(zone, a_prepared_zone("b"))

    admit = judged(prepare_downscale, world, a_downscale(with_annotations(zone, **{PREPARE_PORT: "8080"}), 3))

    assert (admit.allowed, admit.word) == (False, "port-missing")
    assert world.asked("POST") == []
