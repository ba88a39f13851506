"""Edge cases of section 5 that concern pods: names that are too long, placement, and webhooks that do not answer."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_WORKER_SETS,
    SUBGROUP_POLICY_TYPE,
    SUBGROUP_SIZE,
)
from fairlead.contracts.leaderworker.webhooks import DEFAULT_POD
from kubeloop.calls import Call, Handler, NoReply, Reply
from kubeloop.errors import ApiError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, create, patch
from tests.contracts.leaderworker.decide.sets import TPU, a_pod, a_set
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, Play, begin
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import admit, with_sets
from tests.e2e.test_leaderworker_20_to_28 import RACK, label_nodes

LONG = "a" * 60
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


async def warned(site: Site, request: Request) -> str:
    """What the API server warns of."""
    answer = await site.client.call(request)
    return next((value for name, value in answer.headers.items() if name.lower() == "warning"), "")


def body_of(site: Site, tree: Tree) -> bytes:
    return msgspec.json.encode({**tree, "metadata": {**tree["metadata"], "namespace": site.namespace}})


@with_sets()
async def test_a_name_that_is_too_long_is_warned_of_and_makes_no_progress(site: Site) -> None:
    """Section 5.12: pods carry the name and a hash in one label, which is refused; other sets go on."""
    play = await begin(site)
    judged(play)

    said = await warned(site, create(LEADER_WORKER_SETS, site.namespace, body_of(site, a_set(LONG))))

    assert "use a name of at most 50 characters" in said
    await play.until(lambda: play.conditions(LONG) == {"Progressing": "True"})
    await play.create(a_set("b"))
    await play.available("b")
    await play.at_rest()
    assert play.conditions(LONG) == {"Progressing": "True"}
    assert play.status(LONG)["replicas"] == 0
    assert play.group(0, LONG) == []


@with_sets(long=True)
async def test_another_placement_replaces_leaders_without_a_rollout(site: Site) -> None:
    """Section 5.15: it stands in the template and not in the revision, and whoever changes it is warned."""
    play = await begin(site)
    judged(play, budget=False)
    await label_nodes(site, "r1")
    await play.create(a_set(replicas=1, template={"size": 1}))
    await play.available()
    await play.at_rest()
    before, keys = play.uids(0), play.keys()

    for value, terms in ((RACK, 1), (None, 0)):
        change = msgspec.json.encode({"metadata": {"annotations": {EXCLUSIVE_TOPOLOGY: value}}})
        said = await warned(site, patch(Ref(LEADER_WORKER_SETS, site.namespace, "a"), MERGE_PATCH, change))
        assert f"a change of {EXCLUSIVE_TOPOLOGY} replaces leaders without a rollout" in said
        await play.until(lambda before=before: not before & play.uids(0) and play.is_whole(0, FIRST, 1))
        await play.available()
        await play.at_rest()
        before = play.uids(0)
        (leader,) = play.group(0)
        assert len(leader["spec"].get("affinity", {}).get("podAffinity", {}).get(REQUIRED, ())) == terms
        assert play.keys() == keys
        assert "UpdateInProgress" not in play.conditions()


@with_sets(controllers=False)
async def test_a_leader_with_tpus_outside_of_all_subgroups_is_refused(site: Site) -> None:
    """Section 5.18."""
    await admit(site)
    notes = {SUBGROUP_SIZE: "2", SUBGROUP_POLICY_TYPE: "LeaderExcluded"}
    pod = a_pod("a-0", size=3, notes=notes, containers=[{"name": "main", "image": FIRST, **TPU}])
    pod["metadata"]["namespace"] = site.namespace

    with pytest.raises(ApiError) as refused:
        await site.create(PODS, pod)

    assert 'admission webhook "mpod.kb.io" denied the request: ' in str(refused.value)
    assert "subgroup" in str(refused.value)
    assert await site.get(PODS, "a-0") is None


class Switch:
    """Between the API server and the webhook of pods; while it is off, nobody answers."""

    def __init__(self) -> None:
        self.on = False
        self.asked = 0

    def through(self, handler: Handler) -> Handler:
        async def answer(call: Call) -> Reply:
            if call.url.partition("?")[0] == DEFAULT_POD and not self.on:
                self.asked += 1
                raise NoReply("it is switched off")
            return await handler(call)

        return answer


@with_sets(long=True)
async def test_while_nobody_answers_for_pods_none_is_made(site: Site) -> None:
    """Section 5.19: nothing is half labelled, and the StatefulSet controller tries again."""
    switch = Switch()
    play = await begin(site, through=switch.through)
    judged(play)
    await play.create(a_set())
    await play.until(lambda: switch.asked > 3, every=0.05)
    await play.at_rest()
    assert "a" in site.history.objects(STATEFULSETS)
    assert site.history.objects(PODS) == {}
    assert play.conditions() == {"Progressing": "True"}

    switch.on = True
    await play.available()
    assert all({GROUP_INDEX, GROUP_KEY} <= set(pod["metadata"]["labels"]) for pod in made(play))


def made(play: Play) -> list[Tree]:
    """All pods there ever were."""
    return [event.object for event in play.site.history.of(PODS, "ADDED")]
