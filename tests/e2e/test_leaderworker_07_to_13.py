"""Acceptance scenarios 7 to 13: groups are rebuilt from their own revision, and nothing rolls that was not changed."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.contracts.leaderworker.decide.budgets import budget
from fairlead.contracts.leaderworker.decide.groups import numbers_of, rolling_update
from fairlead.contracts.leaderworker.decide.leader_set import leader_set
from fairlead.contracts.leaderworker.decide.planner import plan
from fairlead.contracts.leaderworker.decide.revisions import data_of
from fairlead.contracts.leaderworker.decide.set_view import of_spec
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS, NAME, REVISION_KEY, SIZE, LeaderWorkerSet
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, apply, place_of
from kubeloop.safe_hash import safe_hash
from kubesim.faults import Fault, Faulty
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site, long
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, SECOND, THIRD, Play, begin, image_of, key_of, owner_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets
from tests.e2e.rollouts import is_ready

FULL: Tree = {
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": FIRST,
                "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            }
        ],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }
}


def unchanging(play: Play) -> Tree:
    """UIDs of pods, generations of StatefulSets, names of revisions."""
    history = play.site.history
    return {
        "pods": {name: tree["metadata"]["uid"] for name, tree in history.objects(PODS).items()},
        "statefulsets": {name: tree["metadata"]["generation"] for name, tree in history.objects(STATEFULSETS).items()},
        "revisions": sorted(history.objects(CONTROLLER_REVISIONS)),
    }


@with_sets()
@pytest.mark.parametrize("new_size", [long(4), 2])
async def test_an_old_group_is_rebuilt_from_its_own_revision(site: Site, new_size: int) -> None:
    """Scenarios 7 and 8: the old image, and the old size."""
    play = await begin(site)
    judged(play, budget=False)
    await play.create(a_set(replicas=4, template={"size": 4}))
    await play.available()
    old = play.keys()[0]
    await play.give_image(SECOND, hold=True, size=new_size)
    await play.at_group(3, SECOND, new_size)
    await play.at_rest()
    untouched, before = play.uids(1, 2), play.uids(0)

    await play.delete(PODS, "a-0")
    await play.until(lambda: not play.uids(0) & before)
    await play.until(lambda: play.is_whole(0, FIRST, 4))
    await play.at_rest()

    workers = play.workers(0)
    assert workers is not None
    assert (key_of(workers), workers["spec"]["replicas"]) == (old, 3)
    template = workers["spec"]["template"]
    assert template["spec"]["containers"][0]["image"] == FIRST
    assert template["metadata"]["annotations"][SIZE] == "4"
    assert {key_of(pod) for pod in play.group(0)} == {old}
    assert play.uids(1, 2) == untouched
    assert len(play.keys()) == 2
    assert play.status()["updatedReplicas"] == 1


@with_sets(long=True)
async def test_a_key_without_a_revision_is_recorded_and_kept(site: Site) -> None:
    """Scenario 9: leaders of a controller that knew no revisions."""
    play = await begin(site)
    judged(play, lost=True)
    await play.kill()
    tree = await play.create(a_set())
    given = msgspec.convert(tree, LeaderWorkerSet)
    view, allowed = of_spec(given), budget(rolling_update(given), 2)
    drawn = plan(numbers_of(given, allowed, None, (), False))
    body = leader_set(given, view, "template-hash", drawn, allowed, None)
    ref = Ref(STATEFULSETS, site.namespace, "a")
    await site.client.call(apply(ref, msgspec.json.encode(body), manager="lws"))
    await play.until(lambda: [is_ready(pod) for pod in play.pods(set="a")] == [True, True])
    before, generation = play.uids(0, 1), play.leaders()["metadata"]["generation"]

    play.start()
    await play.available()
    await play.at_rest()

    (made,) = play.revisions()
    hashed = safe_hash(data_of(given))
    assert (key_of(made), made["metadata"]["name"], made["revision"]) == ("template-hash", f"a-{hashed}-1", 1)
    assert key_of(play.leaders()) == "template-hash"
    assert play.leaders()["metadata"]["generation"] == generation
    assert play.uids(0, 1) >= before
    assert not play.writes(STATEFULSETS.plural, "patch")
    note = "Creating missing revision with key template-hash for existing LeaderWorkerSet"
    await play.until(lambda: play.told("CreatingRevision") == [note])
    assert "UpdateInProgress" not in play.conditions()


@with_sets(long=True)
async def test_a_lost_revision_of_the_current_key_is_recorded_again(site: Site) -> None:
    """Section 5.7."""
    play = await begin(site)
    judged(play, lost=True)
    await play.create(a_set())
    await play.available()
    await play.at_rest()
    (revision,) = play.revisions()
    before, sent = unchanging(play), len(play.sent)

    await play.delete(CONTROLLER_REVISIONS, revision["metadata"]["name"])
    await play.until(lambda: play.revisions() and play.revisions()[0]["metadata"]["uid"] != revision["metadata"]["uid"])
    await play.at_rest()

    (made,) = play.revisions()
    assert (key_of(made), made["data"]) == (key_of(revision), revision["data"])
    assert unchanging(play) == before
    assert [str(each) for each in play.sent[sent:]] == ["create controllerrevisions 201"]


@with_sets()
@pytest.mark.parametrize("spelt", ["as ours", long("as of old releases")])
async def test_a_restart_rolls_nothing_and_writes_nothing(site: Site, spelt: str) -> None:
    """Scenario 10, and 31 for one set."""
    play = await begin(site)
    judged(play, lost=True)
    await play.create(a_set(template={"workerTemplate": FULL}))
    await play.available()
    await play.at_rest()
    await play.kill()
    if spelt == "as of old releases":
        await respelt(play)
    await site.history.caught_up()
    before, sent = unchanging(play), len(play.sent)
    versions = {name: tree["metadata"]["resourceVersion"] for name, tree in site.history.objects(STATEFULSETS).items()}

    play.start()
    await play.at_rest()
    play.rounds_again()
    await play.at_rest()

    assert unchanging(play) == before
    assert play.sent[sent:] == []
    after = {name: tree["metadata"]["resourceVersion"] for name, tree in site.history.objects(STATEFULSETS).items()}
    assert after == versions


async def respelt(play: Play) -> None:
    """The revision as releases before 0.9 wrote it: with a creation time of null in its templates."""
    (revision,) = play.revisions()
    await play.delete(CONTROLLER_REVISIONS, revision["metadata"]["name"])
    template = revision["data"]["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    template.setdefault("metadata", {})["creationTimestamp"] = None
    metadata = {key: revision["metadata"][key] for key in ("name", "labels", "ownerReferences")}
    made = {"metadata": metadata, "revision": 1, "data": revision["data"]}
    await play.site.create(CONTROLLER_REVISIONS, made)


@with_sets(long=True)
async def test_a_second_update_begins_again_from_above(site: Site) -> None:
    """Scenario 11."""
    play = await begin(site)
    judged(play)
    await play.create(a_set(replicas=4))
    await play.available()
    await play.give_image(SECOND, hold=True)
    for index in (3, 2):
        await play.at_group(index, SECOND)
        await play.release(index)
    await play.at_group(1, SECOND)
    await play.at_rest()
    assert play.numbers() == "1/4"

    await play.give_image(THIRD, hold=True)
    await play.until(lambda: len(play.keys()) == 3 and key_of(play.leaders()) == play.keys()[2])
    await play.at_rest()
    assert play.numbers() == "4/4"
    assert play.status()["updatedReplicas"] == 0
    assert play.conditions() == {"Available": "False", "Progressing": "True", "UpdateInProgress": "True"}

    await play.release(1)
    for index in (3, 2, 1, 0):
        await play.at_group(index, THIRD)
        await play.at_rest()
        assert play.numbers() == f"{index}/4"
        await play.release(index)
    await play.available()
    await play.until(lambda: len(play.keys()) == 1)
    assert {image_of(pod) for pod in play.pods(set="a")} == {THIRD}
    assert play.numbers_so_far()[-6:] == ["1/4", "4/4", "3/4", "2/4", "1/4", "0/4"]


@with_sets(long=True)
async def test_a_crash_after_the_revision_leaves_no_second_one(site: Site) -> None:
    """Scenario 12 and section 5.1."""
    play = await begin(site)
    judged(play)
    await play.create(a_set(replicas=4))
    await play.available()
    await play.at_rest()
    await play.kill()
    is_dead = False

    def dying(request: Request, _: int) -> Fault | None:
        """Once a revision is stored, nothing of the process reaches the cluster any more."""
        nonlocal is_dead
        if is_dead:
            return Fault("timeout")
        is_dead = request.verb == "create" and place_of(request.path).plural == CONTROLLER_REVISIONS.plural
        return Fault("lost-answer") if is_dead else None

    await play.give_image(SECOND)
    play.start(Faulty(site.ground.transport("admin"), dying))
    await play.until(lambda: len(play.keys()) == 2)
    await play.kill()
    assert is_dead
    assert play.numbers() == "0/4"
    assert {image_of(pod) for pod in play.pods(set="a")} == {FIRST}

    play.start()
    await play.available()
    await play.at_rest()
    made = [event.name for event in site.history.of(CONTROLLER_REVISIONS, "ADDED") if _is_ours(event.object)]
    assert len(made) == 2
    assert play.numbers_so_far() == ["0/4", "4/4", "3/4", "2/4", "1/4", "0/4"]
    assert {image_of(pod) for pod in play.pods(set="a")} == {SECOND}


def _is_ours(revision: Tree) -> bool:
    return owner_of(revision).get("kind") == LEADER_WORKER_SETS.kind


def has_moved(play: Play, groups: int) -> bool:
    return play.is_available() and play.status()["updatedReplicas"] == groups


@with_sets()
async def test_a_partition_holds_the_lower_groups_back(site: Site) -> None:
    """Scenario 13."""
    play = await begin(site)
    judged(play)
    await play.create(a_set(replicas=6, update={"partition": 4}))
    await play.available()
    stays = play.uids(0, 1)
    await play.give_image(SECOND)
    await play.until(lambda: play.is_whole(4, SECOND) and play.is_available())
    await play.at_rest()
    assert play.status()["updatedReplicas"] == 2
    assert play.numbers() == "4/6"
    assert len(play.keys()) == 2
    assert [play.is_whole(index, FIRST) for index in range(6)] == [True] * 4 + [False] * 2

    for partition, moved in ((2, 4), (0, 6)):
        await play.change({"spec": {"rolloutStrategy": {"rollingUpdateConfiguration": {"partition": partition}}}})
        await play.until(lambda moved=moved: has_moved(play, moved))
        await play.at_rest()
        assert play.numbers() == f"{partition}/6"
        assert play.uids(0, 1) == stays or partition == 0
    await play.until(lambda: len(play.keys()) == 1)
    assert {each["metadata"]["labels"][REVISION_KEY] for each in play.pods(set="a")} == set(play.keys())
    assert {each["metadata"]["labels"][NAME] for each in play.revisions()} == {"a"}
