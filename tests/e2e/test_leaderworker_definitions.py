"""Definitions of the kind that are older or newer than ours: Helm leaves them as they are when an image is swapped."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS, NAME
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, patch
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.leaderworker_play import FIRST, FOLLOWED, SECOND, Play, image_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import admit


def ours() -> Tree:
    kind = LEADER_WORKER_SETS.kind
    return deepcopy(next(each for each in definitions() if each["spec"]["names"]["kind"] == kind))


def schema_of(definition: Tree) -> Tree:
    schema: Tree = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return schema


def older() -> Tree:
    """As 0.5 had it: no partition, no claims, no generation that is observed, no columns."""
    definition = ours()
    schema = schema_of(definition)
    del schema["status"]["properties"]["observedGeneration"]
    template = schema["spec"]["properties"]["leaderWorkerTemplate"]["properties"]
    for name in ("volumeClaimTemplates", "persistentVolumeClaimRetentionPolicy"):
        del template[name]
    strategy = schema["spec"]["properties"]["rolloutStrategy"]["properties"]["rollingUpdateConfiguration"]
    del strategy["properties"]["partition"]
    definition["spec"]["versions"][0].pop("additionalPrinterColumns")
    return definition


def newer(*, in_template: bool = False) -> Tree:
    """With fields, values and defaults that nobody knows yet, by wish one `in_template`."""
    definition = ours()
    schema = schema_of(definition)
    schema["spec"]["properties"]["groupIdentity"] = {"type": "string", "default": "Ordinal"}
    schema["status"]["properties"]["phase"] = {"type": "string", "default": "Unknown"}
    template = schema["spec"]["properties"]["leaderWorkerTemplate"]["properties"]
    template["scheduling"] = {"type": "string", **({"default": "Gang"} if in_template else {})}
    template["restartPolicy"]["enum"].append("RestartInPlace")
    return definition


async def begun(site: Site, definition: Tree) -> Play:
    await define(site, definition)
    await admit(site)
    for each in FOLLOWED:
        await site.history.follow(each)
    site.start_kubelet(ready_after=0.05, gone_after=0.05)
    play = Play(site)
    play.start()
    return play


def is_rolled(play: Play, image: str) -> bool:
    available = play.conditions().get("Available") == "True"
    return available and {image_of(pod) for pod in play.pods(set="a")} == {image} and len(play.keys()) == 1


@everywhere()
@pytest.mark.parametrize("definition", [older, newer])
async def test_a_set_is_rolled_and_rests_whatever_the_definition_has(
    site: Site, definition: Callable[[], Tree]
) -> None:
    """S9: a status that the server drops a part of is not written again and again."""
    play = await begun(site, definition())
    judged(play)
    await play.create(a_set())
    await play.until(lambda: is_rolled(play, FIRST))

    await play.give_image(SECOND)
    await play.until(lambda: is_rolled(play, SECOND))
    await play.at_rest()
    sent = len(play.sent)
    for _ in range(3):
        play.rounds_again()
        await play.at_rest()

    assert [str(each) for each in play.sent[sent:]] == []
    assert play.told("InvalidAnnotation") == []


@everywhere(on=("sim",))
async def test_what_a_newer_definition_adds_is_kept_and_rolls_nothing_by_itself(site: Site) -> None:
    """The definition is changed under a set that is there: its defaults appear in it."""
    play = await begun(site, ours())
    judged(play)
    await play.create(a_set())
    await play.available()
    await play.at_rest()
    before, keys = play.uids(0, 1), play.keys()
    await play.kill()
    await replaced(site, newer())
    await site.write_status(LEADER_WORKER_SETS, "a", {"phase": "Theirs"})

    play.start()
    await play.at_rest()
    await play.change({"spec": {"replicas": 3}})
    await play.available()
    await play.at_rest()

    assert play.uids(0, 1) == before
    assert play.keys() == keys
    assert play.status()["phase"] == "Theirs"

    await play.give_image(SECOND, restartPolicy="RestartInPlace", scheduling="Gang")
    await play.until(lambda: is_rolled(play, SECOND))
    (revision,) = play.revisions()
    template: dict[str, Any] = revision["data"]["spec"]["leaderWorkerTemplate"]
    assert (template["restartPolicy"], template["scheduling"]) == ("RestartInPlace", "Gang")


@everywhere()
async def test_a_default_that_appears_in_a_template_rolls_nothing(site: Site) -> None:
    """Section 3.13 point 4: nobody edited the set, so what differs is no change."""
    play = await begun(site, ours())
    judged(play)
    await play.create(a_set())
    await play.available()
    await play.at_rest()
    before, keys = play.uids(0, 1), play.keys()
    await replaced(site, newer(in_template=True))
    for restarts in (False, True):
        if restarts:
            await play.kill()
            play.start()
        await play.change({"metadata": {"labels": {"example.test/mark": str(restarts)}}})
        await play.at_rest()

    shown = await site.get(LEADER_WORKER_SETS, "a")
    assert shown is not None
    assert shown["spec"]["leaderWorkerTemplate"]["scheduling"] == "Gang"
    assert play.uids(0, 1) == before
    assert play.keys() == keys


async def replaced(site: Site, definition: Tree) -> None:
    """Returns when the server has it in force: what its schema fills in shows."""
    name = definition["metadata"]["name"]
    body = msgspec.json.encode({"spec": definition["spec"]})
    await site.client.call(patch(Ref(CUSTOM_RESOURCES, "", name), MERGE_PATCH, body))

    async def is_in_force() -> bool:
        found = await site.get(LEADER_WORKER_SETS, "a")
        return found is not None and found["spec"].get("groupIdentity") == "Ordinal"

    await site.until(is_in_force, every=0.1)


def loose() -> Tree:
    """Somebody took the types out of it."""
    definition = ours()
    fields = schema_of(definition)["spec"]["properties"]
    for name in ("rolloutStrategy", "networkConfig"):
        fields[name] = {"x-kubernetes-preserve-unknown-fields": True}
    return definition


@everywhere(on=("sim",))
async def test_a_set_that_cannot_be_read_is_told_by_its_field_and_others_go_on(site: Site) -> None:
    await define(site, loose())
    update = {"rollingUpdateConfiguration": {"maxUnavailable": {"most": 1}}}
    for name, spec in (("c", {"rolloutStrategy": update}), ("d", {"networkConfig": "Shared"})):
        await site.create(LEADER_WORKER_SETS, {**a_set(name, **spec), "metadata": {"name": name}})
    await admit(site)
    for each in FOLLOWED:
        await site.history.follow(each)
    site.start_kubelet(ready_after=0.05, gone_after=0.05)
    play = Play(site)
    play.start()

    await play.create(a_set())
    await play.until(lambda: is_rolled(play, FIRST))

    told = {each["object"].partition("/")[2]: each["error"] for each in play.operator.log.of("object cannot be read")}
    assert told["c"].endswith("at `$.spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable`")
    assert told["d"].endswith("at `$.spec.networkConfig`")
    assert {pod["metadata"]["labels"][NAME] for pod in site.history.objects(PODS).values()} == {"a"}
