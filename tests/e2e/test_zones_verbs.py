"""Pausing, resuming, restarting a group of zones and taking it back, on clusters whose own controllers act."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from msgspec import Raw

from fairlead.cli import exits
from fairlead.contracts.zones.kinds import PAUSED, ROTATE
from fairlead.contracts.zones.verbs import VERBS
from fairlead.core.verb import Nothing, Refused, VerbTable
from fairlead.engine.verbs import Acted, Unfinished
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import Forbidden, Invalid
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, Response, Transport
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.programs import finished
from tests.e2e.roles import Rights, grant
from tests.e2e.rollouts import FIRST, SECOND, ZONES, image_of, is_complete, release, roll, three_zones
from tests.e2e.verbs import Interrupted, asked, interrupted, patches, said
from tests.e2e.zones import PREFIX, begin, change

GROUP = "ingester"


def zone(site: Site, letter: str) -> Tree:
    return site.history.objects(STATEFULSETS)[f"{PREFIX}{letter}"]


async def read(site: Site, letter: str) -> Tree:
    """The zone as it is stored."""
    answer = await site.client.call(request.get(Ref(STATEFULSETS, site.namespace, f"{PREFIX}{letter}")))
    found: Tree = msgspec.json.decode(answer.body)
    return found


async def remove(site: Site, resource: Resource, name: str) -> None:
    await site.client.call(request.delete(Ref(resource, site.namespace, name)))


def is_recorded(site: Site, letter: str) -> bool:
    """Whether the controller has made a revision of a template that is not rolled out."""
    status = zone(site, letter)["status"]
    return bool(status["updateRevision"] != status["currentRevision"])


async def pauses(site: Site) -> list[str | None]:
    """The pause of each zone, as it is stored."""
    found = await site.client.list(STATEFULSETS, Raw, namespace=site.namespace)
    trees = sorted(map(msgspec.json.decode, found.items), key=lambda tree: tree["metadata"]["name"])
    return [tree["metadata"].get("annotations", {}).get(PAUSED) for tree in trees]


def images(site: Site) -> dict[str, str]:
    return {name: image_of(pod) for name, pod in site.history.objects(PODS).items()}


def uids(site: Site) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in site.history.objects(PODS).items()}


async def notes(site: Site, reason: str) -> list[tuple[str, str]]:
    found = await site.client.list(EVENTS, Raw, namespace=site.namespace)
    told = [event for event in map(msgspec.json.decode, found.items) if event["reason"] == reason]
    return sorted((event["regarding"]["name"], event["note"]) for event in told)


@everywhere(controllers=True)
async def test_a_paused_group_stays_as_it_is_until_it_is_resumed(site: Site) -> None:
    await three_zones(site)
    play = await begin(site)
    assert "is paused" in await said(site, VERBS, "pause", GROUP)

    await roll(site)
    await play.rest()
    assert play.deletions == []
    assert await pauses(site) == ["true"] * 3

    await said(site, VERBS, "resume", GROUP)

    await site.until(lambda: is_complete(site, SECOND))
    assert await pauses(site) == [None] * 3


@everywhere(controllers=True, long=True)
async def test_a_pause_in_mid_rollout_lets_pods_finish_that_are_on_their_way(site: Site) -> None:
    await three_zones(site)
    play = await begin(site)
    await roll(site, hold=True)
    await site.until(lambda: play.deletions == ["a-0"])

    await said(site, VERBS, "pause", GROUP)
    await release(site, f"{PREFIX}a-0")
    await play.rest()

    assert play.deletions == ["a-0"]
    assert await asked(site, VERBS, "pause", GROUP) == Nothing(
        f"{GROUP} is paused already: `fairlead resume {GROUP} -n {site.namespace}` lets it go on"
    )


@everywhere(controllers=True)
async def test_a_restart_replaces_every_pod_zone_after_zone(site: Site) -> None:
    await three_zones(site)
    play = await begin(site)
    before = uids(site)

    await said(site, VERBS, "restart", GROUP)

    await site.until(lambda: len(play.deletions) == 9 and is_complete(site, FIRST))
    assert play.deletions == [f"{letter}-{place}" for letter in ZONES for place in range(3)]
    assert not set(before.values()) & set(uids(site).values())
    assert not any(ROTATE in pod["metadata"]["labels"] for pod in site.history.objects(PODS).values())


@everywhere(controllers=True, long=True)
async def test_one_zone_may_be_restarted_alone(site: Site) -> None:
    await three_zones(site)
    play = await begin(site)

    await said(site, VERBS, "restart", GROUP, zone=f"{PREFIX}b")

    await site.until(lambda: len(play.deletions) == 3 and is_complete(site, FIRST))
    assert play.deletions == ["b-0", "b-1", "b-2"]


@everywhere(controllers=True, long=True)
async def test_a_pod_that_is_replaced_meanwhile_is_not_restarted_again(site: Site) -> None:
    await three_zones(site)
    name = f"{PREFIX}a-1"
    old = uids(site)[name]

    async def crash() -> None:
        await remove(site, PODS, name)
        await site.until(lambda: uids(site).get(name, old) != old)

    async with interrupted(site, 2, crash) as (client, _):
        done = await asked(site, VERBS, "restart", GROUP, client, zone=f"{PREFIX}a")

    assert isinstance(done, Acted)
    assert [write.ref.name for write in done.written] == [f"{PREFIX}a-0", f"{PREFIX}a-2"]


@everywhere(controllers=True, long=True)
async def test_going_back_in_mid_rollout_leaves_pods_that_never_moved(site: Site) -> None:
    await three_zones(site)
    play = await begin(site)
    before = uids(site)
    await roll(site, hold=True)
    first = f"{PREFIX}a-0"
    await site.until(lambda: images(site).get(first) == SECOND)

    told = await said(site, VERBS, "undo", GROUP)
    await release(site, first)

    assert f"image: {SECOND} -> {FIRST}" in told
    assert play.deletions == ["a-0"]
    await site.until(lambda: is_complete(site, FIRST))
    moved = {name for name, uid in uids(site).items() if before[name] != uid}
    assert moved == {first}


@everywhere(controllers=True)
async def test_the_history_has_a_row_per_template_and_going_back_gives_the_old_one_a_new_number(site: Site) -> None:
    await three_zones(site)
    await begin(site)
    await roll(site)
    await site.until(lambda: is_complete(site, SECOND))

    table = await asked(site, VERBS, "history", GROUP)
    assert isinstance(table, VerbTable)
    assert [(row["REVISION"], row["WANTED BY"], row["CURRENT IN"], row["PODS"]) for row in table.rows] == [
        ("2", "all zones", "all zones", "3 in each zone"),
        ("1", "-", "-", "-"),
    ]
    assert table.rows[0]["CHANGED"] == f"spec.containers[main].image: {FIRST} -> {SECOND}"

    await said(site, VERBS, "undo", GROUP)
    await site.until(lambda: is_complete(site, FIRST))

    after = await asked(site, VERBS, "history", GROUP)
    assert isinstance(after, VerbTable)
    assert [row["REVISION"] for row in after.rows] == ["3", "2"]


@everywhere(controllers=True, long=True)
async def test_what_somebody_changes_meanwhile_is_kept_and_the_verb_is_carried_out_all_the_same(site: Site) -> None:
    await three_zones(site)
    label = {"metadata": {"labels": {"seen": "yes"}}}

    async with interrupted(site, 2, lambda: change(site, STATEFULSETS, f"{PREFIX}b", label)) as (client, sent):
        done = await asked(site, VERBS, "pause", GROUP, client)

    assert isinstance(done, Acted)
    assert [write.ref.name for write in done.written] == [f"{PREFIX}{letter}" for letter in ZONES]
    assert sent.patches == 4
    assert await pauses(site) == ["true"] * 3
    assert (await read(site, "b"))["metadata"]["labels"]["seen"] == "yes"


@everywhere(controllers=True, long=True)
async def test_nothing_is_written_that_was_not_shown(site: Site) -> None:
    """Somebody gives zone b another template between the question and the answer: their change stays."""
    await three_zones(site)
    await roll(site)
    await site.until(lambda: all(is_recorded(site, letter) for letter in ZONES))
    template = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "image:3"}]}}}}

    async with interrupted(site, 2, lambda: change(site, STATEFULSETS, f"{PREFIX}b", template)) as (client, _):
        with pytest.raises(Unfinished) as unfinished:
            await asked(site, VERBS, "undo", GROUP, client)

    assert [write.ref.name for write in unfinished.value.written] == [f"{PREFIX}a"]
    assert image_of_zone(await read(site, "b")) == "image:3"
    assert image_of_zone(await read(site, "c")) == SECOND


@everywhere(controllers=True, long=True)
async def test_an_edit_that_touches_no_template_does_not_stop_going_back_half_way(site: Site) -> None:
    """Zone a is back already when zone b turns out to have changed: for a while their templates differ."""
    await three_zones(site)
    await roll(site)
    await site.until(lambda: all(is_recorded(site, letter) for letter in ZONES))
    label = {"metadata": {"labels": {"seen": "yes"}}}

    async with interrupted(site, 2, lambda: change(site, STATEFULSETS, f"{PREFIX}b", label)) as (client, _):
        done = await asked(site, VERBS, "undo", GROUP, client)

    assert isinstance(done, Acted)
    assert [write.ref.name for write in done.written] == [f"{PREFIX}{letter}" for letter in ZONES]
    assert [image_of_zone(await read(site, letter)) for letter in ZONES] == [FIRST] * 3


def image_of_zone(tree: Tree) -> str:
    return image_of(tree["spec"]["template"])


@everywhere(controllers=True, long=True)
async def test_a_zone_that_is_deleted_meanwhile_is_done_without(site: Site) -> None:
    await three_zones(site)

    async with interrupted(site, 3, lambda: remove(site, STATEFULSETS, f"{PREFIX}c")) as (client, _):
        done = await asked(site, VERBS, "pause", GROUP, client)

    assert isinstance(done, Acted)
    assert [write.ref.name for write in done.written] == [f"{PREFIX}a", f"{PREFIX}b"]


class Refusing(Interrupted):
    """Patches of one object are refused, rehearsals or not."""

    def __init__(self, site: Site, transport: Transport, name: str, *, rehearsals: bool) -> None:
        super().__init__(transport, 0, site.history.caught_up)
        self._path = f"/{name}"
        self._rehearsals = rehearsals

    async def send(self, message: Request) -> Response:
        rehearsed = ("dryRun", "All") in message.query
        if message.method == "PATCH" and message.path.endswith(self._path) and (self._rehearsals or not rehearsed):
            body = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "not today"}
            return Response(422, msgspec.json.encode(body))
        return await super().send(message)


@asynccontextmanager
async def refusing(site: Site, name: str, *, rehearsals: bool) -> AsyncIterator[Client]:
    transport = site.ground.transport("admin")
    try:
        yield Client(Refusing(site, transport, name, rehearsals=rehearsals))
    finally:
        await Client(transport).close()


@everywhere(controllers=True)
async def test_what_would_be_refused_of_one_zone_is_written_to_none(site: Site) -> None:
    await three_zones(site)

    async with refusing(site, f"{PREFIX}c", rehearsals=True) as client:
        with pytest.raises(Invalid, match="not today"):
            await asked(site, VERBS, "pause", GROUP, client)

    assert await pauses(site) == [None] * 3


@everywhere(controllers=True, long=True)
async def test_what_fails_in_the_middle_says_what_was_written(site: Site) -> None:
    await three_zones(site)

    async with refusing(site, f"{PREFIX}b", rehearsals=False) as client:
        with pytest.raises(Unfinished, match="not today") as unfinished:
            await asked(site, VERBS, "pause", GROUP, client)

    assert [write.ref.name for write in unfinished.value.written] == [f"{PREFIX}a"]
    assert await pauses(site) == ["true", None, None]

    assert isinstance(await asked(site, VERBS, "pause", GROUP), Acted)
    assert await pauses(site) == ["true"] * 3


READS: Rights = {
    ("apps", "statefulsets"): ("get", "list"),
    ("apps", "controllerrevisions"): ("list",),
    ("", "pods"): ("list",),
}


@everywhere(controllers=True)
async def test_who_may_not_patch_changes_nothing_and_is_told_the_right(site: Site) -> None:
    await three_zones(site)
    await roll(site)
    await site.until(lambda: all(is_recorded(site, letter) for letter in ZONES))
    user = await grant(site, READS, "reader")
    transport = site.ground.transport(user.name)
    client = Client(user.limits(transport))

    async def is_known() -> bool:
        try:
            await client.list(PODS, Raw, namespace=site.namespace)
        except Forbidden:
            return False
        return True

    try:
        await site.until(is_known)
        for verb, right in (("pause", "statefulsets"), ("undo", "statefulsets"), ("restart", "pods")):
            with pytest.raises(Forbidden, match=f'cannot patch resource "{right}"'):
                await asked(site, VERBS, verb, GROUP, client)
    finally:
        await Client(transport).close()

    assert await pauses(site) == [None] * 3


@everywhere(controllers=True, long=True)
async def test_a_dry_run_shows_the_patch_of_each_zone_and_writes_none(site: Site) -> None:
    await three_zones(site)

    shown = await patches(site, VERBS, "pause", GROUP)

    assert list(shown) == [f"{PREFIX}{letter}" for letter in ZONES]
    assert all(patch["metadata"]["annotations"] == {PAUSED: "true"} for patch in shown.values())
    assert await pauses(site) == [None] * 3


@everywhere(controllers=True, long=True)
async def test_edits_of_one_zone_make_going_back_a_choice(site: Site) -> None:
    await three_zones(site)
    template = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": SECOND}]}}}}
    await change(site, STATEFULSETS, f"{PREFIX}a", template)
    await site.until(
        lambda: zone(site, "a")["status"]["updateRevision"] != zone(site, "a")["status"]["currentRevision"]
    )

    refused = await asked(site, VERBS, "undo", GROUP)
    assert isinstance(refused, Refused)
    assert "do not have the same template" in refused.sentence

    done = await asked(site, VERBS, "undo", GROUP, None, to_revision="1")
    assert isinstance(done, Acted)
    assert [write.ref.name for write in done.written] == [f"{PREFIX}a"]


@everywhere(controllers=True, on=("served", "real"), long=True)
async def test_the_programs_pause_take_back_and_tell_who_and_why(site: Site) -> None:
    config, place = site.server.kubeconfig, ("-n", site.namespace)
    await three_zones(site)
    await begin(site)
    await roll(site)
    await site.until(lambda: is_complete(site, SECOND))

    paused = await finished("fairlead", "pause", GROUP, *place, "--reason", "a look first", kubeconfig=config)
    assert (paused.code, paused.err) == (0, "")
    told = await notes(site, "RolloutPaused")
    note = f"admin paused the group {GROUP} with `fairlead pause`: a look first"
    assert told == [(f"{PREFIX}{letter}", note) for letter in ZONES]

    unasked = await finished("fairlead", "undo", GROUP, *place, kubeconfig=config)
    assert (unasked.code, unasked.out) == (exits.ERROR, "")
    assert f"image: {SECOND} -> {FIRST}" in unasked.err
    assert unasked.err.endswith("nothing was changed: add --yes to write it without being asked\n")

    undone = await finished("kubectl-fairlead", "undo", GROUP, *place, "--yes", "-o", "json", kubeconfig=config)
    assert undone.code == 0
    document = msgspec.json.decode(undone.out)
    assert (document["kind"], document["verb"], document["changed"]) == ("VerbResult", "undo", True)
    assert [write["name"] for write in document["writes"]] == [f"{PREFIX}{letter}" for letter in ZONES]

    held = await finished("fairlead", "status", GROUP, *place, "--timeout", "60s", kubeconfig=config)
    assert held.code == exits.BLOCKED
    assert "is paused" in held.err
    assert (await finished("fairlead", "resume", GROUP, *place, kubeconfig=config)).code == 0
    done = await finished("fairlead", "status", GROUP, *place, "--timeout", "60s", kubeconfig=config)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == f"{GROUP}: done, 9 of 9 pods updated"
    assert is_complete(site, FIRST)

    instead = await finished("fairlead", "promote", GROUP, *place, kubeconfig=config)
    assert instead.code == exits.ERROR
    assert instead.err.startswith("fairlead: zones follow one another by themselves")
    listed = await finished("fairlead", "history", GROUP, *place, kubeconfig=config)
    assert listed.out.splitlines()[0].split("   ")[0] == "REVISION"
