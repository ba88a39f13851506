"""Exclusive placement: every group, or subgroup, whole in one domain of nodes, and no two in one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec
import pytest

from fairlead.cli.documents_of import explain_all
from fairlead.contracts import CONTRACTS
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_SCOPE,
    EXCLUSIVE_TOPOLOGY,
    GROUP_KEY,
    NAME,
    SUBGROUP_EXCLUSIVE_TOPOLOGY,
    SUBGROUP_KEY,
    WITHIN_SET,
)
from kubeloop.objects.core import NODES, PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, patch
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, SECOND, Play, begin
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets

RACK, ROW = "exclusive.example.test/rack", "exclusive.example.test/row"
Layout = Sequence[tuple[str, str]]
"""Row and rack of each node."""
TWO_RACKS: Layout = (("x", "x1"), ("x", "x1"), ("y", "y1"), ("y", "y1"))
THREE_RACKS: Layout = (*TWO_RACKS, ("z", "z1"), ("z", "z1"))
FOUR_RACKS: Layout = (("x", "x1"), ("x", "x2"), ("y", "y1"), ("y", "y2"))
REFUSED = "node(s) didn't match pod anti-affinity rules"


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONTRACTS, "leaderworker", "fairlead.contracts.leaderworker.contract")


async def begin_on(site: Site, layout: Layout, *, budget: bool = True) -> Play:
    """Nodes are as laid out; no `budget` is judged where a person takes back what the set has asked for."""
    play = await begin(site, nodes=len(layout))
    await site.until(lambda: len(site.history.objects(NODES)) >= len(layout), following=[NODES])
    for number, (row, rack) in enumerate(layout):
        body = msgspec.json.encode({"metadata": {"labels": {ROW: row, RACK: rack}}})
        await site.client.call(patch(Ref(NODES, "", f"sim-node-{number}"), MERGE_PATCH, body))
    judged(play, budget=budget)
    return play


def exclusively(tree: Tree, **more: str) -> Tree:
    notes = {EXCLUSIVE_TOPOLOGY: RACK, **more}
    return {**tree, "metadata": {**tree["metadata"], "annotations": notes}}


def keeps_apart(
    play: Play, layout: Layout, *, topology: str = RACK, key: str = GROUP_KEY, sets: Sequence[str] = ("a",)
) -> None:
    """At the end it is judged that at every moment each group was in one domain, and each domain had one group."""
    play.site.judges.append(lambda: _judge(play, layout, topology, key, sets))


def _judge(play: Play, layout: Layout, topology: str, key: str, sets: Sequence[str]) -> None:
    place = 0 if topology == ROW else 1
    domains = {f"sim-node-{number}": each[place] for number, each in enumerate(layout)}
    seen = 0
    for event, world in play.site.history.replay():
        if event.resource != PODS:
            continue
        found = defaultdict(set)
        for pod in world[PODS].values():
            labels, node = pod["metadata"].get("labels", {}), pod["spec"].get("nodeName")
            if node and labels.get(NAME) in sets and key in labels:
                found[labels[key]].add(domains[node])
        taken = [domain for each in found.values() for domain in each]
        assert len(taken) == len(found) == len(set(taken)), f"{event.name}: {dict(found)}"
        seen = max(seen, len(found))
    assert seen > 1


def unschedulable(play: Play, name: str) -> str:
    """What the scheduler says of the pod; empty where nothing."""
    pod = play.site.history.objects(PODS).get(name, {})
    conditions = pod.get("status", {}).get("conditions", ())
    return next((each.get("message", "") for each in conditions if each.get("reason") == "Unschedulable"), "")


def waiting(play: Play, groups: int) -> list[str]:
    """Leaders that have no node."""
    return [name for index in range(groups) if unschedulable(play, name := f"a-{index}")]


async def waits(play: Play, outcome: str = "waiting") -> list[tuple[str, str, tuple[str, ...]]]:
    """What is waited for, in words, as the command and the operator say alike: the object, the sentence, the advice."""
    await play.at_rest()
    manager = play.operator.manager
    assert manager is not None
    (told,) = (await manager.report("lws-manager", [play.site.namespace])).items
    (shown,) = await explain_all(play.site.client, [play.site.namespace])
    found, same = (
        [(block.object, block.text, tuple(block.advice)) for block in each.blocked_by] for each in (shown, told)
    )
    assert found == same
    assert (shown.outcome, told.outcome) == (outcome, outcome)
    return found


def domains(play: Play, layout: Layout, name: str = "a", topology: str = RACK) -> dict[str, str]:
    """Where the pods of a set are, by their names."""
    found = {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in play.pods(set=name)}
    return {pod: layout[int(node[-1])][topology == RACK] if node else "" for pod, node in found.items()}


@with_sets()
async def test_groups_are_each_alone_in_their_rack(site: Site) -> None:
    play = await begin_on(site, THREE_RACKS)
    keeps_apart(play, THREE_RACKS)
    await play.create(exclusively(a_set(replicas=3, template={"size": 3})))
    await play.available()

    where = domains(play, THREE_RACKS)
    assert len(where) == 9
    assert sorted({where[f"a-{index}"] for index in range(3)}) == ["x1", "y1", "z1"]


@with_sets()
async def test_a_group_without_a_rack_waits_for_one_and_explain_says_so(site: Site) -> None:
    play = await begin_on(site, TWO_RACKS, budget=False)
    keeps_apart(play, TWO_RACKS)
    await play.create(exclusively(a_set(replicas=3)))
    await play.until(lambda: sum(play.is_whole(index, FIRST) for index in range(3)) == 2)
    await play.until(lambda: waiting(play, 3))
    (late,) = waiting(play, 3)

    ((about, text, advice),) = await waits(play)
    assert about == f"pod/{late}"
    assert text == (
        f"{late} is not ready: no node is found for it (0/4 nodes are available: 4 {REFUSED}.): "
        f"its group needs nodes of one {RACK} that no other group uses"
    )
    assert advice == (
        f"give it nodes of a further {RACK}, or take some from others; or ask for fewer groups",
        f"kubectl -n {site.namespace} describe pod {late}",
    )

    await play.change({"spec": {"replicas": 2}})
    await play.until(lambda: play.is_available() and not play.group(2))
    assert sorted(set(domains(play, TWO_RACKS).values())) == ["x1", "y1"]


@with_sets()
async def test_a_group_that_waits_takes_the_rack_that_another_set_leaves(site: Site) -> None:
    play = await begin_on(site, TWO_RACKS, budget=False)
    keeps_apart(play, TWO_RACKS, sets=("a", "b"))
    await play.create(exclusively(a_set("b", replicas=1)))
    await play.available("b")
    await play.create(exclusively(a_set(replicas=2)))
    await play.until(lambda: any(play.is_whole(index, FIRST) for index in range(2)) and waiting(play, 2))

    await play.change({"spec": {"replicas": 0}}, "b")
    await play.available()

    assert sorted(set(domains(play, TWO_RACKS).values())) == ["x1", "y1"]


@with_sets()
async def test_a_rollout_without_surge_needs_no_rack_beside(site: Site) -> None:
    play = await begin_on(site, TWO_RACKS)
    keeps_apart(play, TWO_RACKS)
    await play.create(exclusively(a_set(replicas=2)))
    await play.available()
    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and play.is_whole(0, SECOND) and play.is_whole(1, SECOND))

    assert sorted(set(domains(play, TWO_RACKS).values())) == ["x1", "y1"]


@with_sets()
async def test_a_rollout_with_surge_says_that_the_group_of_the_surge_has_no_rack(site: Site) -> None:
    """What it advises lets it go on."""
    play = await begin_on(site, TWO_RACKS, budget=False)
    keeps_apart(play, TWO_RACKS)
    await play.create(exclusively(a_set(replicas=2, update={"maxSurge": 1, "maxUnavailable": 0})))
    await play.available()
    await play.give_image(SECOND)
    await play.until(lambda: unschedulable(play, "a-2"))

    ((about, text, advice),) = await waits(play)
    assert about == "pod/a-2"
    assert text.endswith(f"4 {REFUSED}.): its group needs nodes of one {RACK} that no other group uses")
    assert play.is_whole(0, FIRST)
    assert play.is_whole(1, FIRST)
    command = next(each for each in advice if "roll without a surge" in each)

    await play.change(msgspec.json.decode(command.partition(" -p ")[2].strip("'")))
    await play.until(lambda: play.is_available() and play.is_whole(0, SECOND) and play.is_whole(1, SECOND))

    assert sorted(domains(play, TWO_RACKS)) == ["a-0", "a-0-1", "a-1", "a-1-1"]


@with_sets()
async def test_subgroups_are_each_alone_in_their_rack_within_the_row_of_their_group(site: Site) -> None:
    """The leader has two terms each way, and a second group waits for a row."""
    play = await begin_on(site, FOUR_RACKS)
    keeps_apart(play, FOUR_RACKS, topology=ROW)
    keeps_apart(play, FOUR_RACKS, key=SUBGROUP_KEY)
    template = {"size": 4, "subGroupPolicy": {"subGroupSize": 2}}
    notes = {EXCLUSIVE_TOPOLOGY: ROW, SUBGROUP_EXCLUSIVE_TOPOLOGY: RACK}
    await play.create(exclusively(a_set(replicas=2, template=template), **notes))
    await play.available()

    where = domains(play, FOUR_RACKS)
    assert {pod: where[pod] for pod in where if pod.startswith("a-0")} in (
        {"a-0": one, "a-0-1": one, "a-0-2": other, "a-0-3": other}
        for one, other in (("x1", "x2"), ("x2", "x1"), ("y1", "y2"), ("y2", "y1"))
    )
    rows = domains(play, FOUR_RACKS, topology=ROW)
    assert {rows[pod] for pod in rows if pod.startswith("a-0")} != {rows[pod] for pod in rows if pod.startswith("a-1")}

    await play.change({"spec": {"replicas": 3}})
    await play.until(lambda: unschedulable(play, "a-2"))
    ((about, text, _),) = await waits(play)
    assert about == "pod/a-2"
    assert text.endswith(
        f": its group needs nodes of one {ROW} that no other group uses, "
        f"and its subgroup needs nodes of one {RACK} that no other subgroup uses"
    )


@with_sets()
async def test_a_subgroup_of_workers_without_a_rack_is_named(site: Site) -> None:
    play = await begin_on(site, TWO_RACKS)
    template = {"size": 6, "subGroupPolicy": {"subGroupSize": 2}}
    notes = {EXCLUSIVE_TOPOLOGY: "", SUBGROUP_EXCLUSIVE_TOPOLOGY: RACK}
    keeps_apart(play, TWO_RACKS, key=SUBGROUP_KEY)
    await play.create(exclusively(a_set(replicas=1, template=template), **notes))
    await play.until(lambda: len([pod for pod in play.group(0) if unschedulable(play, pod["metadata"]["name"])]) == 2)

    found = await waits(play)
    assert len(found) == 2
    for about, text, advice in found:
        assert text.startswith(f"{about.partition('/')[2]} is not ready: no node is found for it (0/4 nodes are")
        assert text.endswith(f": its subgroup needs nodes of one {RACK} that no other subgroup uses")
        assert advice[0].startswith(f"give it nodes of a further {RACK}")


@with_sets()
async def test_sets_that_keep_only_their_own_groups_apart_share_racks(site: Site) -> None:
    play = await begin_on(site, TWO_RACKS)
    for name in ("a", "b"):
        keeps_apart(play, TWO_RACKS, sets=(name,))
        await play.create(exclusively(a_set(name, replicas=2), **{EXCLUSIVE_SCOPE: WITHIN_SET}))
    for name in ("a", "b"):
        await play.available(name)

    assert sorted(set(domains(play, TWO_RACKS).values())) == ["x1", "y1"]
    assert sorted(set(domains(play, TWO_RACKS, "b").values())) == ["x1", "y1"]
    await play.change({"spec": {"replicas": 3}})
    await play.until(lambda: unschedulable(play, "a-2"))
    found = play.site.history.objects(PODS)["a-2"]
    assert found["status"]["phase"] == "Pending"
