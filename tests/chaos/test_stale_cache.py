"""Our programs on a real API server whose answers come late to them, and processes that stand still for too long.

The programs run as processes of their own behind a proxy. What they did is judged from the outside, by the events of
an independent watch and by the requests that the proxy has seen.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import LEASES, PODS
from tests import invariants
from tests.chaos.proxy import Freezer, Proxy, proxied
from tests.e2e.clusters import RealGround, Site, everywhere
from tests.e2e.programs import running
from tests.e2e.rollouts import SECOND, ZONES, is_complete, roll, three_zones
from tests.e2e.zones import PREFIX

PODS_PER_ZONE = 4
NAMES = [f"{PREFIX}{letter}-{ordinal}" for letter in ZONES for ordinal in range(PODS_PER_ZONE)]


@everywhere(on=("real",))
async def test_at_full_speed_on_a_stale_cache_no_invariant_breaks(site: Site, tmp_path: Path) -> None:
    """Passes follow each other within a millisecond, and the pod watch stands still again and again."""
    assert isinstance(site.ground, RealGround)
    await three_zones(site, PODS_PER_ZONE)
    judged = Judged(site)
    async with proxied(site.ground.plane.config()) as proxy:
        freezer = Freezer(proxy, seed=12)
        flags = (
            f"-kubernetes.namespace={site.namespace}",
            f"-kubernetes.api-url={proxy.url}",
            f"-kubernetes.config-file={proxy.kubeconfig(tmp_path)}",
            "-kubernetes.client-qps=0",
            "-reconcile.interval=1ms",
            "-server.port=0",
            "-log.level=warn",
        )
        async with running("rollout-operator", *flags) as process, explained(process, proxy):
            freezer.thaw()
            await roll(site)
            await site.until(lambda: is_complete(site, SECOND), within=60.0)
        freezer.stop()

    assert await judged.deletions() == NAMES
    assert proxy.deletions == NAMES
    assert freezer.times > 0


@everywhere(on=("real",))
async def test_a_leader_that_stood_still_for_too_long_ends_without_a_write(site: Site, tmp_path: Path) -> None:
    """Stopped with a rollout in hand and let go on when another has finished it, it says why it ends."""
    assert isinstance(site.ground, RealGround)
    config = site.ground.plane.config()
    await three_zones(site, PODS_PER_ZONE)
    await site.history.follow(LEASES)
    judged = Judged(site)
    async with (
        proxied(config) as first,
        proxied(config) as second,
        running("fairlead", *operating(site, first, tmp_path)) as sleeper,
    ):
        await site.until(lambda: bool(holder(site)))
        async with running("fairlead", *operating(site, second, tmp_path)):
            leader = holder(site)
            await roll(site)
            await site.until(lambda: bool(first.deletions))

            sleeper.send_signal(signal.SIGSTOP)
            await site.until(lambda: holder(site) not in ("", leader), within=60.0)
            await site.until(lambda: is_complete(site, SECOND), within=60.0)
            sent = len(first.seen)
            sleeper.send_signal(signal.SIGCONT)
            async with asyncio.timeout(20):
                _, err = await sleeper.communicate()

    assert [seen for seen in first.seen[sent:] if seen.method != "GET"] == []
    assert sleeper.returncode == 1
    last = err.decode().splitlines()[-1]
    assert last.startswith("fairlead: lease/fairlead-operator was not renewed for ")
    assert "Traceback" not in err.decode()
    assert await judged.deletions() == NAMES
    assert sorted(first.deletions + second.deletions) == sorted(NAMES)


@asynccontextmanager
async def explained(process: asyncio.subprocess.Process, proxy: Proxy) -> AsyncIterator[None]:
    """A failure inside tells what the process said, and what it asked for last."""
    try:
        yield
    except BaseException as error:
        process.kill()
        _, err = await process.communicate()
        error.add_note(f"{err.decode()}\n" + "\n".join(map(str, proxy.seen[-20:])))
        raise


def operating(site: Site, proxy: Proxy, folder: Path) -> tuple[str, ...]:
    """Arguments of an operator behind a proxy."""
    file = str(proxy.kubeconfig(folder))
    return ("operator", "--kubeconfig", file, "-n", site.namespace, "--port", "0", "--log-level", "warn")


def holder(site: Site) -> str:
    """Who holds the only lease of the namespace."""
    leases = site.history.objects(LEASES).values()
    return next((lease["spec"].get("holderIdentity") or "" for lease in leases), "")


class Judged:
    """What operators did from now on, as a witness sees it to whom nobody else deletes; it excuses nothing."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._past = len(site.history.events)
        self._given = [
            invariants.Event(resource.plural, "ADDED", tree)
            for resource in (STATEFULSETS, PODS)
            for tree in site.history.objects(resource).values()
        ]

    async def deletions(self) -> list[str]:
        """Pods that were deleted, in order; raises when an invariant was broken."""
        await self._site.history.caught_up()
        events = [
            invariants.Event(event.resource.plural, event.type, event.object)
            for event in self._site.history.events[self._past :]
        ]
        return invariants.Witness().see_all([*self._given, *events]).deletions
