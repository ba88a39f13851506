"""fairlead takes over what another operator of the zone contract left in the middle, as one real process after another.

What the Go program leaves is made by hand here. Where `$PEER_ROLLOUT_OPERATOR` names that program, it makes the same
states itself, and work is handed over in both directions.
"""

from __future__ import annotations

import itertools
import json
import os
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import aiohttp
import pytest

from fairlead.contracts.zones.kinds import LAST_DOWNSCALE, MIN_TIME, PREPARE_DOWNSCALE, PREPARE_PATH, PREPARE_PORT
from fairlead.core.times import format_rfc3339
from fairlead.plane.launch import free_port
from kubeloop import clock
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS, SECRETS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.endpoints import endpoints
from tests.e2e.history import Tree
from tests.e2e.pairs import SECRET, a_pair, store, stored
from tests.e2e.processes import calling, local, review, started
from tests.e2e.rollouts import FIRST, SECOND, ZONES, is_complete, is_out, roll, zones_out
from tests.e2e.scaling import NUDGE, delayed, following, replicas, shrunk, told
from tests.e2e.webhooks import CONFIG_MAPS, VALIDATING, rule
from tests.e2e.zones import PREFIX, Deeds, Zone, a_zone, change, deeds_on, remove_pod, statefulset

PEER = os.environ.get("PEER_ROLLOUT_OPERATOR", "")
"""The Go program, where there is one."""
HANDS: list[tuple[str, ...]] = [("hand", "fairlead")]
if PEER:
    HANDS += [("peer", "fairlead"), ("fairlead", "peer"), ("peer", "fairlead", "peer")]
BEFORE = ["nobody", *(["peer"] if PEER else [])]
"""Who has looked at a state, and found nothing to do, before fairlead does; and looks again after it."""
TRACKER = "rollout-operator-zone-tracker"
SHARES = (4, 8)
"""How many pods have been replaced when a hand ends that is not the last: a zone or two, and a part of the next."""


@everywhere(on=("served", "real"))
@pytest.mark.parametrize("hands", HANDS, ids="-".join)
async def test_rollout_goes_on_where_it_was(site: Site, hands: tuple[str, ...]) -> None:
    """A pod terminates or is missing, the first zone is through but its revision not recorded: no pod goes twice."""
    await zones_with_slow_pods(site)
    deeds = await deeds_on(site)
    before = site.history.events[-1].version
    await roll(site)

    for hand, share in zip(hands[:-1], SHARES, strict=False):
        await at_work(site, hand, done(deeds, share))
    unready = list(filter(out(site), site.history.objects(STATEFULSETS)))
    await at_work(site, hands[-1], lambda: is_complete(site, SECOND))

    assert unready == [f"{PREFIX}{'c' if len(hands) > 2 else 'b'}"]
    assert sorted(deeds.deletions) == [f"{letter}-{ordinal}" for letter in ZONES for ordinal in range(3)]
    assert deeds.witness.unfinished() == []
    assert zones_out(site, since=before) == 1


@everywhere(controllers=False, on=("served", "real"))
@pytest.mark.parametrize("before", BEFORE)
async def test_downscale_that_waits_for_its_time_goes_on_waiting(site: Site, before: str) -> None:
    a = await a_zone(site, "a", 2, revision="new", current="new", annotations=shrunk(hours=1), own_labels=SPACED)
    b = await a_zone(site, "b", 3, revision="new", current="new", annotations=following("a"), own_labels=SPACED)
    await looked_at(site, before, b)
    given = [(await zone.read())["metadata"]["annotations"] for zone in (a, b)]

    async with running(site, "fairlead") as port:
        await passed(port, b)
        waiting = await replicas(site, "b")
        kept = [(await zone.read())["metadata"]["annotations"] for zone in (a, b)]
        await a.annotate(**shrunk(hours=13))
        await site.until(lambda: site.history.objects(STATEFULSETS)[b.name]["spec"]["replicas"] == 2)
    await looked_at(site, before, a)

    assert waiting == 3
    assert [without_nudge(each) for each in kept] == [without_nudge(each) for each in given]
    assert (await replicas(site, "a"), await replicas(site, "b")) == (2, 2)
    assert site.history.objects(PODS).keys() == {f"{PREFIX}{name}" for name in ("a-0", "a-1", "b-0", "b-1", "b-2")}


@everywhere(controllers=False, on=("served", "real"))
@pytest.mark.parametrize("before", BEFORE)
async def test_delayed_downscale_loses_no_time(site: Site, before: str) -> None:
    """zones E-21: pods were told half an hour ago; they are asked again, and their times stay."""
    zone, pods = await delayed(site, wanted=3)
    pods.age(a_3=30, a_4=30)
    since = [pods[name].since for name in ("a-3", "a-4")]
    await looked_at(site, before, zone)

    async with running(site, "fairlead") as port:
        await pods.until(lambda: pods.called("POST") == ["a-3", "a-4"])
        await passed(port, zone)
        waiting = (await replicas(site), await told(site))
        times = [pods[name].since for name in ("a-3", "a-4")]
        pods.age(a_3=70, a_4=70)
        await zone.annotate(**{NUDGE: "aged"})
        await site.until(lambda: told_and_scaled(site, 3), every=0.1)

    assert waiting == (5, 5)
    assert times == since
    assert pods.called("DELETE") == ["a-0", "a-1", "a-2"]


@everywhere(controllers=False, on=("served", "real"))
async def test_zone_tracker_is_read_and_only_the_own_entry_changes(site: Site) -> None:
    """Also where a member is written in another case, beside entries and labels of others."""
    await store(site, pair := a_pair())
    pods = await endpoints(site)
    zones = [
        await a_zone(site, name, revision="new", current="new", annotations=PREPARES, own_labels=SPACED | PREPARED)
        for name in ("a", "b")
    ]
    for zone in zones:
        await zone.write_status(updatedReplicas=3)
    pods.serve(zones[0], 3)
    entries = {zones[0].name: entry(hours=20), zones[1].name: entry(minutes=1, member="LASTDOWNSCALED")}
    entries["other"] = entry(hours=1)
    labels = {"team": "storage"}
    made = await site.create(CONFIG_MAPS, {"metadata": {"name": TRACKER, "labels": labels}, "data": entries})
    old = await zones[0].read()
    smaller = review(old, {**old, "spec": {**old["spec"], "replicas": 2}})

    async with (
        started(local(site, "-use-zone-tracker")) as process,
        calling(await process.port(), pair["ca"]) as caller,
    ):
        early = await caller.ask("prepare-downscale", smaller)
        untouched = await site.get(CONFIG_MAPS, TRACKER)
        entries[zones[1].name] = entry(hours=13, member="lastdownscaled")
        await change(site, CONFIG_MAPS, TRACKER, {"data": entries})
        late = await caller.ask("prepare-downscale", smaller)
    found = await site.get(CONFIG_MAPS, TRACKER)

    assert found is not None
    assert (early["allowed"], late["allowed"]) == (False, True), (early, late)
    assert zones[1].name in early["status"]["message"]
    assert untouched == made
    assert found["metadata"]["labels"] == labels
    moved = {name for name, value in found["data"].items() if value != entries[name]}
    assert moved == {zones[0].name}
    assert list(json.loads(found["data"][zones[0].name])) == ["lastDownscaled"]
    assert LAST_DOWNSCALE not in (await zones[0].read())["metadata"]["annotations"]


@everywhere(controllers=False, on=("served", "real"))
@pytest.mark.parametrize("before", BEFORE)
async def test_certificate_and_bundles_are_used_as_they_are(site: Site, before: str) -> None:
    """Byte for byte, and no webhook configuration is written whose bundle is right."""
    if before == "nobody":
        await store(site, a_pair())
        await configured(site, "right", (await stored(site))["ca"])
    else:
        await configured(site, "right", b"")
        await secured_by_peer(site)
    secret, right = await site.get(SECRETS, SECRET), await site.get(VALIDATING, f"right-{site.namespace}")
    authority = (await stored(site))["ca"]

    async with started(local(site)) as process, calling(await process.port(), authority) as caller:
        answer = await caller.ask("no-downscale", review(statefulset("a"), statefulset("a")))
        await configured(site, "late", b"")
        await process.said("ca bundle injected")
        await process.said("msg=ready")
    if before == "peer":
        await secured_by_peer(site)

    assert answer["allowed"]
    assert await site.get(SECRETS, SECRET) == secret
    assert await site.get(VALIDATING, f"right-{site.namespace}") == right


async def secured_by_peer(site: Site) -> None:
    """The other program serves webhooks until it has a certificate that the configurations trust."""
    _, *flags = local(site)

    async def trusted() -> bool:
        found = await site.get(VALIDATING, f"right-{site.namespace}")
        assert found is not None
        bundle = found["webhooks"][0]["clientConfig"].get("caBundle")
        secret = await site.get(SECRETS, SECRET)
        return secret is not None and bool(bundle) and bundle == secret["data"].get("ca")

    async with started((PEER, *flags)) as process:
        await site.until(trusted, every=0.1)
        await process.stop()


SPACED = {MIN_TIME: "12h"}
PREPARED = {PREPARE_DOWNSCALE: "true"}
PREPARES = {PREPARE_PATH: "prepare", PREPARE_PORT: "8080"}


async def zones_with_slow_pods(site: Site) -> None:
    """Three zones, complete; a pod takes a second to go, so that whoever starts then meets it."""
    site.start_kubelet(ready_after=0.02, gone_after=1.0)
    for letter in ZONES:
        tree = statefulset(f"{PREFIX}{letter}")
        tree["spec"]["podManagementPolicy"] = "Parallel"
        await site.create(STATEFULSETS, tree)
    await site.until(lambda: is_complete(site, FIRST))
    await site.history.caught_up()


def done(deeds: Deeds, share: int) -> Callable[[], bool]:
    return lambda: len(deeds.deletions) >= share


async def at_work(site: Site, hand: str, over: Callable[[], object]) -> None:
    """Lets one operator work until so much is done; then it is gone, whatever it was doing."""
    if hand == "hand":
        await by_hand(site)
        return
    async with running(site, hand):
        await site.until(over, within=120)


async def by_hand(site: Site) -> None:
    """What the Go program does before it is stopped: the pods of the first zone one by one, then one of the second."""
    await site.until(lambda: all(map(is_seen, site.history.objects(STATEFULSETS).values())))
    for letter, ordinal in (*((ZONES[0], ordinal) for ordinal in range(3)), (ZONES[1], 0)):
        await site.until(lambda: not any(map(out(site), site.history.objects(STATEFULSETS))))
        await remove_pod(site, site.history.objects(PODS)[f"{PREFIX}{letter}-{ordinal}"])
        await site.history.caught_up()


def is_seen(zone: Tree) -> bool:
    """Whether its controller knows the new template."""
    status = zone["status"]
    return bool(status["updateRevision"] != status["currentRevision"])


def out(site: Site) -> Callable[[str], bool]:
    return lambda name: is_out(site.history.objects(STATEFULSETS)[name], site.history.objects(PODS))


@asynccontextmanager
async def running(site: Site, who: str) -> AsyncIterator[int]:
    """One operator, `fairlead` or `peer`; the port of its metrics. It is told to end, and ends."""
    flags = (
        f"-kubernetes.api-url={site.server.url}",
        f"-kubernetes.config-file={site.server.kubeconfig}",
        f"-kubernetes.namespace={site.namespace}",
        f"-server.port={(port := free_port())}",
    )
    async with started(("rollout-operator" if who == "fairlead" else PEER, *flags)) as process:
        yield port
        assert await process.stop() == 0, process.lines[-20:]


async def looked_at(site: Site, who: str, zone: Zone) -> None:
    """Has that operator decide on what is so now."""
    if who != "nobody":
        async with running(site, who) as port:
            await passed(port, zone)


async def passed(port: int, zone: Zone) -> None:
    """Returns when the operator has begun and ended a pass from now on: the one under way may have begun before."""
    for _ in range(2):
        before = await passes(port)
        await zone.annotate(**{NUDGE: f"{next(_nudges)}"})

        async def more(before: int = before) -> bool:
            return await passes(port) > before

        await zone.site.until(more, every=0.1)


async def passes(port: int) -> int:
    """How many have ended; none while it does not answer yet."""
    name = 'rollout_operator_group_reconcile_duration_seconds_count{rollout_group="ingester"} '
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as answer:
            lines = (await answer.text()).splitlines()
    except aiohttp.ClientError:
        return 0
    return sum(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))


async def told_and_scaled(site: Site, count: int) -> bool:
    return (await replicas(site), await told(site)) == (count, count)


def without_nudge(annotations: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key != NUDGE}


def entry(member: str = "lastDownscaled", **ago: float) -> str:
    """Of a zone in the tracker that was scaled down so long ago; words of a timedelta."""
    return json.dumps({member: format_rfc3339((clock.now() - timedelta(**ago)).replace(microsecond=0))})


async def configured(site: Site, name: str, bundle: bytes) -> Tree:
    """A labelled webhook configuration about nothing that exists, with this bundle."""
    hook = {
        "name": "hook.fairlead.test",
        "clientConfig": {"url": "https://localhost:1/", "caBundle": b64encode(bundle).decode()},
        "rules": [rule("CREATE", "nothing", "fairlead.test")],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    labels = {"grafana.com/inject-rollout-operator-ca": "true", "grafana.com/namespace": site.namespace}
    metadata = {"name": f"{name}-{site.namespace}", "labels": labels}
    return await site.create(VALIDATING, {"metadata": metadata, "webhooks": [hook]})


_nudges = itertools.count(1)
