"""What people and programs get wrong in a cluster: nothing rolls, nothing is deleted, and other sets go on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    LEADER_WORKER_SETS,
    REPLICAS,
    REVISION_KEY,
    SIZE,
    WORKER_INDEX,
)
from fairlead.core.explain import Explain
from kubeloop.errors import ApiError
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, SECOND, Play, begin, image_of, key_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets
from tests.e2e.zones import change

BROKEN = ("", "x", "-1", "1.5", "+1", "\u0661", "9" * 20, "0x1")
"""Instead of the number 1; a label takes no spaces."""


async def begun(site: Site, **spec: Any) -> Play:
    """Two sets that are available, and an operator at rest."""
    play = await begin(site)
    for name in ("a", "b"):
        await play.create(a_set(name, **spec))
    for name in ("a", "b"):
        await play.available(name)
    await play.at_rest()
    return play


async def explained(play: Play, name: str = "a") -> Explain:
    manager = play.operator.manager
    assert manager is not None
    report = await manager.report("lws-manager", [play.site.namespace])
    return next(each for each in report.items if each.rollout == name)


async def rolls(play: Play, name: str = "b") -> None:
    """Another set goes on."""
    await play.give_image(SECOND, name=name)
    await play.until(lambda: play.is_available(name) and {image_of(pod) for pod in play.pods(set=name)} == {SECOND})


async def put_instead(play: Play, revision: Tree, data: Any) -> None:
    """Data is immutable, so another one takes the name, the labels and the owner."""
    await play.delete(CONTROLLER_REVISIONS, revision["metadata"]["name"])
    metadata = {key: revision["metadata"][key] for key in ("name", "labels", "ownerReferences")}
    made = {"metadata": metadata, "revision": revision["revision"]}
    await play.site.create(CONTROLLER_REVISIONS, made if data is None else {**made, "data": data})


LIST: Tree = {"spec": {"leaderWorkerTemplate": []}}


@everywhere(on=("sim",))
@pytest.mark.parametrize(
    "data",
    [{}, {"spec": {"leaderWorkerTemplate": {"size": 2}}}, LIST, {"kind": "Secret", "data": {"a": "b"}}],
    ids=["empty", "truncated", "list", "foreign"],
)
async def test_a_revision_that_cannot_be_read_holds_its_set_as_it_is(site: Site, data: Tree) -> None:
    await holds(site, data)


@with_sets(on=("real",))
async def test_so_it_is_on_a_real_cluster(site: Site) -> None:
    await holds(site, LIST)


async def holds(site: Site, data: Tree) -> None:
    """Section 3.12: a person deletes it, and what the spec says is recorded again under its key."""
    play = await begun(site)
    judged(play, lost=True)
    (revision,) = play.revisions()
    before = play.uids(0, 1)
    await play.kill()
    await put_instead(play, revision, data)
    play.start()
    await play.at_rest()
    sentence = f"ControllerRevision {revision['metadata']['name']} cannot be used: "

    (wait,) = (await explained(play)).blocked_by
    assert (wait.reason, wait.kind) == ("RevisionUnreadable", "blocked")
    assert wait.text.startswith(sentence)
    assert "delete it" in wait.text
    (logged, *_) = play.operator.log.of("revision unreadable")
    assert logged["waiting_for"] == wait.text
    await play.give_image(SECOND)
    await rolls(play)
    await play.at_rest()
    assert play.uids(0, 1) == before
    assert {image_of(pod) for pod in play.pods(set="a")} == {FIRST}
    await play.give_image(FIRST)
    await play.at_rest()

    await play.delete(CONTROLLER_REVISIONS, revision["metadata"]["name"])
    await play.available()
    await play.at_rest()
    assert play.uids(0, 1) == before
    assert [key_of(each) for each in play.revisions()] == [key_of(revision)]
    assert (await explained(play)).blocked_by == ()


@everywhere(on=("sim",))
async def test_a_revision_of_old_groups_that_cannot_be_read_lets_them_go_on(site: Site) -> None:
    """One that must be rebuilt waits until the rollout reaches it."""
    play = await begun(site)
    judged(play, budget=False, lost=True)
    await play.give_image(SECOND, hold=True)
    await play.at_group(1, SECOND)
    await play.at_rest()
    old = play.revisions()[0]
    before = play.uids(0)
    await put_instead(play, old, {"spec": None})
    await play.at_rest()
    assert play.uids(0) == before

    await play.delete(PODS, "a-0")
    text = f"ControllerRevision {old['metadata']['name']} cannot be read"
    note = f"Failed to create worker statefulset for leader pod a-0: {text}"
    await play.until(lambda: note in play.told("FailedCreate"))
    await play.release(1)
    await play.at_group(0, SECOND)
    await play.release(0)
    await play.until(lambda: play.is_available() and len(play.keys()) == 1)


async def broken(play: Play, resource: Resource, name: str, place: str, key: str) -> AsyncIterator[str | None]:
    """Each value that the server takes, once it is there."""
    for value in (*BROKEN, None):
        try:
            await change(play.site, resource, name, {"metadata": {place: {key: value}}})
        except ApiError:
            continue
        yield value


@everywhere(on=("sim",))
async def test_a_leader_without_a_usable_index_is_told_and_left_alone(site: Site) -> None:
    """Section 5.31: somebody broke the label of a pod that lives."""
    play = await begun(site)
    judged(play, budget=False)
    before, tried = play.uids(0, 1), 0

    async for value in broken(play, PODS, "a-1", "labels", GROUP_INDEX):
        sent, tried = len(play.sent), tried + 1
        await play.until(lambda: play.status().get("readyReplicas") == 1)
        await play.at_rest()
        assert {each.plural for each in play.sent[sent:]} <= {LEADER_WORKER_SETS.plural}, value
        assert play.operator.log.of("reconcile failed: label unreadable"), value
        await change(site, PODS, "a-1", {"metadata": {"labels": {GROUP_INDEX: "1"}}})
        await play.available()
        await play.until(lambda: play.uids(0, 1) == before)  # the record of pods may be behind that of sets
    assert tried > 3
    await rolls(play)


@everywhere(on=("sim",))
@pytest.mark.parametrize(
    ("resource", "name", "within", "key"),
    [
        (PODS, "a-1-1", "labels", WORKER_INDEX),
        (PODS, "a-1", "annotations", SIZE),
        (PODS, "a-1-1", "annotations", SIZE),
        (STATEFULSETS, "a", "annotations", REPLICAS),
    ],
    ids=["worker-index", "size of a leader", "size of a worker", "replicas"],
)
async def test_other_numbers_that_are_broken_change_no_group(
    site: Site, resource: Resource, name: str, within: str, key: str
) -> None:
    play = await begun(site)
    before, keys, tried = play.uids(0, 1), play.keys(), 0

    async for value in broken(play, resource, name, within, key):
        tried += 1
        await play.at_rest()
        assert play.uids(0, 1) == before, value
        assert play.is_available(), value
    await rolls(play)

    assert tried > 3
    assert play.keys() == keys
    assert not [each for level, *each in play.operator.log.records if level == "error"]


@everywhere(on=("sim",))
async def test_a_leader_whose_key_nobody_knows_keeps_its_workers(site: Site) -> None:
    play = await begun(site)
    before = play.uids(0, 1)

    await change(site, PODS, "a-1", {"metadata": {"labels": {REVISION_KEY: "nobodys"}}})
    await play.until(lambda: play.conditions().get("Available") == "False")
    await play.at_rest()
    await rolls(play)

    assert play.uids(0, 1) == before


def a_template(size: int) -> Tree:
    env = [{"name": "LONG", "value": "x" * size}]
    return {"spec": {"containers": [{"name": "main", "image": FIRST, "env": env}]}}


@with_sets(on=("real",))
async def test_a_template_of_a_megabyte_and_a_half_is_rolled_and_one_that_no_object_can_hold_is_refused(
    site: Site,
) -> None:
    play = await begin(site)
    judged(play)
    await play.create(a_set(replicas=1, template={"size": 1}))
    await play.available()
    before = play.uids(0)

    await play.change({"spec": {"leaderWorkerTemplate": {"workerTemplate": a_template(1_500_000)}}})
    await play.until(lambda: play.is_available() and not before & play.uids(0) and len(play.keys()) == 1)
    with pytest.raises(ApiError) as refused:
        await play.change({"spec": {"leaderWorkerTemplate": {"workerTemplate": a_template(3_200_000)}}})

    assert "Request entity too large: limit is 3145728" in str(refused.value)
    assert len(str(refused.value)) < 200
