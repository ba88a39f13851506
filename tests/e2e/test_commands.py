"""`fairlead get`, `explain` and `watch` as processes of their own, from start to end of a rollout."""

from __future__ import annotations

import msgspec

from kubeloop.objects.core import PODS
from kubesim.pods.behaviour import HOLD
from tests.e2e.clusters import Site, everywhere
from tests.e2e.programs import finished, line_with, running
from tests.e2e.rollouts import SECOND, is_complete, pods_out, release, roll, three_zones
from tests.e2e.zones import PREFIX, begin


@everywhere(controllers=True, on=("served", "real"))
async def test_commands_tell_what_a_rollout_waits_for_and_watch_ends_with_it(site: Site) -> None:
    config = site.server.kubeconfig
    await three_zones(site)
    play = await begin(site)
    await roll(site, hold=True)
    await site.until(lambda: pods_out(site) == [f"{PREFIX}a-0"])
    await play.operator.at_rest()

    explained = await finished("fairlead", "explain", "ingester", "-n", site.namespace, kubeconfig=config)

    assert (explained.code, explained.err) == (0, "")
    assert f"{PREFIX}a-0" in explained.out

    watching = running("fairlead", "watch", "ingester", "-n", site.namespace, "--timeout", "60s", kubeconfig=config)
    async with watching as process:
        await line_with(process.stdout, "ingester")
        releasing = site.start(release_all(site))
        out, err = await process.communicate()

    assert (process.returncode, err) == (0, b"")
    assert out
    await site.stop(releasing)
    await site.history.caught_up()
    assert is_complete(site, SECOND)

    listed = await finished("fairlead", "get", "-n", site.namespace, "-o", "json", kubeconfig=config)

    assert (listed.code, listed.err) == (0, "")
    (rollout,) = msgspec.json.decode(listed.out)["items"]
    assert (rollout["rollout"], rollout["stands"]["phase"], rollout["stands"]["done"]) == ("ingester", "Current", 9)


async def release_all(site: Site) -> None:
    """Every pod that is held becomes ready."""
    while True:
        moment = site.history.moment
        for name, pod in site.history.objects(PODS).items():
            if HOLD in pod["metadata"].get("annotations", {}):
                await release(site, name)
        await site.history.past(moment)
