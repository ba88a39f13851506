"""DisaggregatedSets to which things happen (section 6.7): deaths, edits, scalers, slices, other owners, deletion."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.contracts.leaderworker.disaggregated.kinds import DISAGGREGATED_SETS, REVISION, ROLE_SCALERS
from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from kubeloop.objects.core import SERVICES
from kubeloop.request import Request, place_of
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site, everywhere
from tests.e2e.disaggregated_play import RolePlay, a_disaggregated_set, a_role, begin, judged
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.leaderworker_play import FOLLOWED, SECOND, THIRD, Play
from tests.e2e.leaderworkers import admit, with_sets
from tests.e2e.test_leaderworker_crashes import every_write
from tests.e2e.zones import change


def of_roles(request: Request) -> bool:
    """A write of the controller of DisaggregatedSets, and none of those beside it."""
    place = place_of(request.path)
    if place.plural == SERVICES.plural:
        return place.name.endswith("-prv") or b"-prv" in (request.body or b"")
    is_status = place.subresource == "status"
    return place.plural == DISAGGREGATED_SETS.plural or (place.plural == LEADER_WORKER_SETS.plural and not is_status)


@everywhere(on=("sim",))
async def test_a_rollout_survives_any_death(site: Site, pytestconfig: pytest.Config) -> None:
    """Scenario 32; the process dies before or after any of its writes, each of them with `--soak`."""
    played = await begin(site)
    judged(played, {"prefill": 1, "decode": 1})
    await played.create(a_disaggregated_set(a_role("prefill", 1), a_role("decode", 1)))
    await played.available()

    async def rolled(_: Play, number: int) -> Callable[[], object]:
        image = f"example.test/main:{number + 1}"
        await played.give_image(image)
        return lambda: (
            played.is_available()
            and len(played.revisions()) == 1
            and len(played.services()) == 2
            and {_image(each) for each in played.children().values()} == {image}
        )

    stride = 1 if pytestconfig.getoption("--soak") else 4
    taken = await every_write(played.play, rolled, counts=of_roles, stride=stride)
    assert 12 <= taken <= 35


def _image(child: Tree) -> str:
    template = child["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    return str(template["spec"]["containers"][0]["image"])


@with_sets()
async def test_a_third_revision_comes_and_a_role_goes_in_the_middle_of_a_rollout(site: Site) -> None:
    """Scenario 32, two revisions behind."""
    played = await begin(site)
    roles = (a_role("prefill", 3), a_role("decode", 2), a_role("router", 1))
    await played.create(a_disaggregated_set(*roles))
    await played.available()
    (first,) = played.revisions()
    await played.give_image(SECOND)
    await played.until(lambda: len(_of(played, "prefill")) == 2 and min(_of(played, "prefill").values()) >= 1)

    def without_router(spec: Tree) -> None:
        del spec["roles"][2]
        for role in spec["roles"]:
            role["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["image"] = THIRD

    await played.change(without_router)
    await played.until(lambda: len(played.revisions()) == 3)
    await played.rolled()

    (last,) = played.revisions()
    assert last != first
    assert played.replicas() == {f"ds-0-{last}-prefill": 3, f"ds-0-{last}-decode": 2}
    assert played.services().keys() == {f"ds-0-{last}-prefill-prv", f"ds-0-{last}-decode-prv"}


def _of(played: RolePlay, role: str) -> dict[str, int]:
    """Replicas of a role by revision."""
    found = played.children(role=role).values()
    return {each["metadata"]["labels"][REVISION]: each["spec"]["replicas"] for each in found}


@with_sets()
async def test_a_scaler_scales_its_role_also_in_the_middle_of_a_rollout(site: Site) -> None:
    played = await begin(site)
    await played.create(a_disaggregated_set(a_role("prefill", 1, scaling="External"), a_role("decode", 2)))
    await played.available()
    scaler = played.scaler("prefill")
    assert scaler is not None
    assert scaler["spec"] == {"replicas": 1}

    await change(site, ROLE_SCALERS, "ds-prefill", {"spec": {"replicas": 3}})
    await played.until(lambda: played.is_available() and sum(_of(played, "prefill").values()) == 3)
    await played.give_image(SECOND)
    await played.until(lambda: len(_of(played, "prefill")) == 2)
    await change(site, ROLE_SCALERS, "ds-prefill", {"spec": {"replicas": 2}})
    await played.rolled()

    assert [*_of(played, "prefill").values()] == [2]
    status = (played.scaler("prefill") or {})["status"]
    assert status["replicas"] == 2
    assert {each["type"]: each["reason"] for each in status["conditions"]} == {"Ready": "Bound"}

    await played.change(lambda spec: spec["roles"][0].update(scaling={"mode": "Static"}))
    await played.until(lambda: played.scaler("prefill") is None)
    await played.until(lambda: played.is_available() and [*_of(played, "prefill").values()] == [1])


@with_sets(long=True)
async def test_roles_that_may_lose_a_percentage_are_rolled(site: Site) -> None:
    """A quarter of 4 groups is one, and of the one to three that each revision has meanwhile it is none."""
    played = await begin(site)
    quarter = {"maxUnavailable": "25%", "maxSurge": 0}
    judged(played, {"prefill": 4, "decode": 4}, surge=1, unavailable=1)
    await played.create(a_disaggregated_set(*(a_role(name, 4, update=quarter) for name in ("prefill", "decode"))))
    await played.available()

    await played.give_image(SECOND)
    await played.until(lambda: len(played.revisions()) == 2)
    await played.rolled()

    assert [*_of(played, "prefill").values(), *_of(played, "decode").values()] == [4, 4]
    assert not played.told("FailedUpdate")


@with_sets(long=True)
async def test_slices_come_and_go_with_all_their_roles(site: Site) -> None:
    played = await begin(site)
    judged(played, {"prefill": 1, "decode": 1})
    await played.create(a_disaggregated_set(a_role("prefill", 1), a_role("decode", 1)))
    await played.available()
    before = {name: each["metadata"]["uid"] for name, each in played.children().items()}

    await played.change(lambda spec: spec.update(slices=2))
    await played.until(lambda: played.is_available() and len(played.services()) == 4)
    assert len(played.children(slice="1")) == 2
    await played.give_image(SECOND)
    await played.rolled()
    assert len(played.children(slice="0")) == len(played.children(slice="1")) == 2

    await played.change(lambda spec: spec.update(slices=1))
    await played.until(lambda: len(played.children()) == 2 and len(played.services()) == 2 and played.is_available())
    assert not before.keys() & played.children().keys()
    await played.until(lambda: sum("for removed slice 1" in each for each in played.told("LWSDeleted")) == 2)


@with_sets(long=True)
async def test_a_name_of_somebody_else_is_told_and_left_alone(site: Site) -> None:
    played = await begin(site)
    await played.create(a_disaggregated_set(a_role("prefill", 1), a_role("decode", 1)))
    await played.available()
    await played.play.kill()
    (revision,) = played.revisions()
    name = f"ds-0-{revision}-decode"
    await played.play.delete(LEADER_WORKER_SETS, name)
    await played.until(lambda: name not in site.history.objects(LEADER_WORKER_SETS))
    foreign = await played.play.create({**a_set(replicas=1), "metadata": {"name": name}})

    played.play.start()
    await played.until(lambda: any(name in each for each in played.told("FailedCreate")))
    assert site.history.objects(LEADER_WORKER_SETS)[name]["metadata"]["uid"] == foreign["metadata"]["uid"]

    await played.play.delete(LEADER_WORKER_SETS, name)
    await played.until(lambda: len(played.children()) == 2 and played.is_available())


@with_sets()
async def test_a_set_that_is_deleted_in_the_middle_of_a_rollout_takes_everything_along(site: Site) -> None:
    played = await begin(site)
    await played.create(a_disaggregated_set(a_role("prefill", 2), a_role("decode", 1, scaling="External")))
    await played.available()
    await played.until(lambda: len(played.services()) == 2)
    await played.give_image(SECOND)
    await played.until(lambda: len(played.revisions()) == 2)

    await played.play.delete(DISAGGREGATED_SETS, "ds", propagation="Foreground")

    await played.until(
        lambda: not any(site.history.objects(each) for each in (DISAGGREGATED_SETS, LEADER_WORKER_SETS, ROLE_SCALERS))
    )
    await played.until(lambda: not played.services())


@with_sets()
async def test_what_is_refused_of_a_set_says_why(site: Site) -> None:
    played = await begin(site)
    both = a_disaggregated_set(
        a_role("prefill", 1, update={"maxSurge": 1, "partition": 1}),
        a_role("decode", 1, update={"maxSurge": 0, "maxUnavailable": 0}),
    )
    problem = await played.refused(both)
    assert "partition is not supported by DisaggregatedSet" in problem
    assert "must not be 0 when `maxSurge` is 0" in problem
    mixed = a_disaggregated_set(a_role("prefill", 1), a_role("decode", 0))
    assert "replicas must be zero for all non-External roles" in await played.refused(mixed)


@everywhere(on=("sim",))
async def test_without_its_kinds_everything_else_goes_on_and_later_they_are_taken_up(site: Site) -> None:
    sets, *others = definitions()
    await define(site, sets)
    await admit(site)
    for each in FOLLOWED:
        await site.history.follow(each)
    site.start_kubelet(ready_after=0.05, gone_after=0.05)
    play = Play(site)
    play.start()
    await play.create(a_set(replicas=1))
    await play.available()
    assert [record for record in play.operator.log.records if record[0] in ("error", "critical")] == []

    await define(site, *others)
    for each in (DISAGGREGATED_SETS, ROLE_SCALERS):
        await site.history.follow(each)
    played = RolePlay(play)
    await played.create(a_disaggregated_set(a_role("prefill", 1), a_role("decode", 1)))
    await played.available()
