"""Rights of section 2.14 that are missing, one at a time: one sentence says so, and other sets go on.

Nothing rolls that could not be rolled to its end, and nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import pytest
import structlog

from fairlead.contracts.leaderworker.contract import CONTRACT
from fairlead.contracts.leaderworker.install.values import CHART
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_SCOPE,
    EXCLUSIVE_TOPOLOGY,
    PARALLEL_TEARDOWN,
    TEARDOWN,
    WITHIN_SET,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.explain import Explain
from fairlead.engine.assembly import assemble
from fairlead.engine.charts import data_of
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop.errors import Forbidden
from kubeloop.objects.core import PODS
from kubesim.pods.behaviour import CRASH_AFTER, CRASH_TIMES, HANG_TERMINATING
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, SECOND, Play, begin
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets
from tests.e2e.roles import allow
from tests.e2e.test_leaderworker_20_to_28 import RACK, label_nodes
from tests.e2e.zones import change

USER = "lws-manager"
CRASH = {"metadata": {"annotations": {CRASH_AFTER: "10ms", CRASH_TIMES: "1"}}}


def rules_without(verb: str, resource: str) -> list[Tree]:
    """What the chart grants, but for this."""
    granted: dict[str, list[Tree]] = data_of(CHART, "permissions.yaml")
    everything = (*granted["manager"], *granted["leaderElection"])
    return [rule for each in everything for rule in _but(each, verb, resource)]


def _but(rule: Tree, verb: str, resource: str) -> Iterator[Tree]:
    for each in rule["resources"]:
        verbs = [one for one in rule["verbs"] if (one, each) != (verb, resource)]
        yield {"apiGroups": rule["apiGroups"], "resources": [each], "verbs": verbs}


def test_each_right_is_taken_away_alone() -> None:
    left = rules_without("delete", "pods")

    verbs = {each["resources"][0]: each["verbs"] for each in left if each["apiGroups"] == [""]}
    assert "delete" not in verbs["pods"]
    assert "delete" in verbs["services"]


# What a person does that needs the right.


async def image(play: Play) -> None:
    await play.give_image(SECOND)


async def image_and_back(play: Play) -> None:
    await play.give_image(SECOND, hold=True)
    await play.at_group(1, SECOND)
    await play.give_image(FIRST)


async def scale(play: Play) -> None:
    await play.change({"spec": {"replicas": 3}})


async def crash(play: Play) -> None:
    await change(play.site, PODS, "a-1-1", CRASH)


async def tear_down(play: Play) -> None:
    await play.change({"metadata": {"annotations": {TEARDOWN: PARALLEL_TEARDOWN}}})
    await change(play.site, PODS, "a-1", {"metadata": {"annotations": {HANG_TERMINATING: "true"}}})
    await play.delete(PODS, "a-1")


async def another_set(play: Play) -> None:
    await play.create(a_set("c", replicas=1))


async def another_set_of_its_own(play: Play) -> None:
    await play.create(a_set("c", replicas=1, networkConfig={"subdomainPolicy": "UniquePerReplica"}))


async def another_set_on_racks(play: Play) -> None:
    await label_nodes(play.site, "r1")
    tree = a_set("c", replicas=1)
    tree["metadata"]["annotations"] = {EXCLUSIVE_TOPOLOGY: RACK, EXCLUSIVE_SCOPE: WITHIN_SET}
    await play.create(tree)


async def lose(play: Play) -> None:
    await play.hold(1)


Deed = Callable[[Play], Awaitable[None]]
CASES: list[tuple[str, str, Deed, bool]] = [
    ("patch", "statefulsets", image, True),
    ("create", "statefulsets", scale, True),
    ("get", "statefulsets", another_set, True),
    ("delete", "statefulsets", tear_down, False),
    ("create", "controllerrevisions", image, True),
    ("patch", "controllerrevisions", image_and_back, False),
    ("delete", "controllerrevisions", image, False),
    ("delete", "pods", crash, True),
    ("create", "services", another_set, True),
    ("create", "services", another_set_of_its_own, True),
    ("get", "services", another_set, True),
    ("get", "services", another_set_of_its_own, True),
    ("get", "nodes", another_set_on_racks, True),
    ("patch", "leaderworkersets/status", lose, True),
]
"""Whether all pods of the set stay."""
REAL = (("delete", "pods"),)


async def shown(play: Play) -> dict[str, Explain]:
    """As the operator tells it, by set."""
    manager = play.operator.manager
    assert manager is not None
    report = await manager.report("lws-manager", [play.site.namespace])
    return {each.rollout: each for each in report.items}


def said(found: Explain) -> list[str]:
    waits = (*found.blocked_by, *(each for lane in found.stands.lanes for each in lane.waits))
    return [each.text for each in waits if each.kind == "failed"]


async def meets(site: Site, verb: str, resource: str, deed: Deed, stays: bool) -> None:
    play = await begin(site)
    judged(play, budget=False)
    await play.create(a_set())
    await play.create(a_set("b"))
    await play.available()
    await play.available("b")
    await play.at_rest()
    await play.kill()
    user = f"{USER}-{site.namespace}"
    await allow(site, user, rules_without(verb, resource), everywhere=True)
    play.start(site.ground.transport(user))
    await play.at_rest()
    before = play.uids(0, 1)
    sentence = f'cannot {verb} resource "{resource}"'

    await deed(play)
    about = "c" if deed.__name__.startswith("another") else "a"

    async def is_explained() -> bool:
        found = await shown(play)
        return about in found and any(sentence in text for text in said(found[about]))

    await play.until(is_explained, every=0.1)
    logged = [str(keys) for level, _, keys in play.operator.log.records if level in ("warning", "error")]
    assert any(sentence in each for each in logged)
    assert not [each for level, *each in play.operator.log.records if level == "error"]
    assert play.uids(0, 1) >= before or not stays

    if resource == "leaderworkersets/status":
        return
    await play.hold(1, name="b")
    await play.until(lambda: play.status("b")["readyReplicas"] == 1)
    await play.release(1, name="b")
    await play.available("b")
    assert said((await shown(play))["b"]) == []


def named(case: tuple[str, str, Deed, bool]) -> str:
    verb, resource, deed, _ = case
    return f"{verb} {resource} {deed.__name__}"


@everywhere(on=("sim",))
@pytest.mark.parametrize("case", CASES, ids=named)
async def test_a_right_that_is_missing_is_told_with_the_set_that_needs_it(
    site: Site, case: tuple[str, str, Deed, bool]
) -> None:
    await meets(site, *case)


@with_sets(on=("real",))
@pytest.mark.parametrize("case", [each for each in CASES if each[:2] in REAL], ids=named)
async def test_a_real_server_refuses_alike(site: Site, case: tuple[str, str, Deed, bool]) -> None:
    await meets(site, *case)


@everywhere(on=("sim",))
@pytest.mark.parametrize("resource", ["leaderworkersets", "statefulsets", "controllerrevisions", "pods", "services"])
async def test_who_may_not_watch_is_told_and_goes_on_by_lists(site: Site, resource: str) -> None:
    play = await begin(site)
    judged(play)
    await play.create(a_set())
    await play.available()
    await play.kill()
    user = f"{USER}-{site.namespace}"
    await allow(site, user, rules_without("watch", resource), everywhere=True)
    play.start(site.ground.transport(user))

    await play.until(lambda: play.operator.log.of("watch failed"), every=0.1)
    (told, *_) = play.operator.log.of("watch failed")
    assert f'cannot watch resource "{resource}"' in told["error"]
    await play.give_image(SECOND)
    await play.until(lambda: play.is_whole(0, SECOND) and play.is_available(), within=600, every=1)


@everywhere(on=("sim",))
@pytest.mark.parametrize("resource", ["leaderworkersets", "statefulsets", "controllerrevisions", "pods", "services"])
async def test_who_may_not_list_does_not_start(site: Site, resource: str) -> None:
    """The process ends with this sentence."""
    play = await begin(site)
    await play.kill()
    user = f"{USER}-{site.namespace}"
    await allow(site, user, rules_without("list", resource), everywhere=True)
    options = OperatorOptions(
        process="lws-manager",
        identity="lws-1",
        namespaces=(),
        parts=(PartOptions(CONTRACT, Settings()),),
        lease="fairlead",
    )

    with pytest.raises(Forbidden) as refused:
        await assemble(options, site.namespace, site.ground.transport(user), Metrics(), structlog.get_logger())

    assert f'cannot list resource "{resource}"' in str(refused.value)


@everywhere(on=("sim",))
@pytest.mark.parametrize("verb", ["create", "patch"])
async def test_nothing_waits_for_events_that_are_refused(site: Site, verb: str) -> None:
    play = await begin(site)
    judged(play)
    await play.create(a_set())
    await play.available()
    await play.kill()
    user = f"{USER}-{site.namespace}"
    await allow(site, user, rules_without(verb, "events"), everywhere=True)
    play.start(site.ground.transport(user))

    await play.give_image(SECOND)
    await play.until(lambda: play.is_whole(0, SECOND) and play.is_available())

    if verb == "create":
        await play.until(lambda: play.operator.log.of("an Event was refused"), every=0.1)
        (told, *_) = play.operator.log.of("an Event was refused")
        assert "allow create and patch of events" in told["help"]
