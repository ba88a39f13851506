"""Acceptance scenario 31: a process that starts with everything at rest writes nothing but its Lease."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.leaderworker.kinds import MAX_GROUP_RESTARTS, PAUSED, REVISION_HISTORY_LIMIT
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS, SERVICES
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site, everywhere
from tests.e2e.leaderworker_play import Play, begin
from tests.e2e.leaderworkers import with_sets

SHAPES: tuple[dict[str, Any], ...] = (
    {"template": {"size": 1}},
    {"template": {"size": 2}},
    {"replicas": 0},
    {"networkConfig": {"subdomainPolicy": "UniquePerReplica"}},
    {"update": {"partition": 3}},
    {"update": {"maxSurge": "50%", "maxUnavailable": "25%"}},
    {"startupPolicy": "LeaderReady"},
    {"template": {"restartPolicy": "Default", "size": 3, "subGroupPolicy": {"subGroupSize": 3}}},
)
NOTES: tuple[dict[str, str], ...] = ({}, {PAUSED: "true"}, {MAX_GROUP_RESTARTS: "3"}, {REVISION_HISTORY_LIMIT: "many"})


def versions(play: Play) -> dict[str, dict[str, str]]:
    return {
        each.plural: {
            name: tree["metadata"]["resourceVersion"] for name, tree in play.site.history.objects(each).items()
        }
        for each in (STATEFULSETS, CONTROLLER_REVISIONS, SERVICES, PODS)
    }


async def rests(site: Site, count: int) -> None:
    play = await begin(site)
    names = [f"set-{number}" for number in range(count)]
    for number, name in enumerate(names):
        shape = {"replicas": 1, **SHAPES[number % len(SHAPES)]}
        tree = a_set(name, **shape)
        tree["metadata"]["annotations"] = NOTES[number % len(NOTES)]
        await play.create(tree)
    await play.until(lambda: all(map(play.is_available, names)), within=120)
    await play.at_rest()
    await play.kill()
    await site.history.caught_up()
    before, sent = versions(play), len(play.sent)

    play.start()
    await play.at_rest()
    play.rounds_again()
    await play.at_rest()

    assert [str(each) for each in play.sent[sent:]] == []
    assert versions(play) == before
    assert len(before[STATEFULSETS.plural]) > count


@everywhere(on=("sim",))
async def test_31_a_process_that_starts_writes_nothing_to_a_hundred_sets_at_rest(site: Site) -> None:
    await rests(site, 100)


@with_sets(on=("real",))
async def test_31_nor_to_sets_on_a_real_cluster(site: Site) -> None:
    await rests(site, 16)


@with_sets(on=("real",), timing=True)
async def test_31_nor_to_a_hundred_of_them(site: Site) -> None:
    await rests(site, 100)
