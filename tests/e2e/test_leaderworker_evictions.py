"""Evictions are reviewed by an installed `lws-manager`: what the chart registers, the process and its certificate."""

from __future__ import annotations

from pathlib import Path

from bench.managers import HOME, OURS
from fairlead.contracts.leaderworker.install.values import CHART
from fairlead.contracts.leaderworker.kinds import DISRUPTION_BUDGET
from tests.contracts.leaderworker.decide.sets import a_set
from tests.contracts.zones.install import helm
from tests.e2e.clusters import Site, everywhere
from tests.e2e.evicting import evict_pod
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import LOOK_EVERY
from tests.e2e.managers import turns

REVIEWED = {"fairlead": {"disruptionBudgets": {"webhook": True}}}


def chart() -> tuple[list[Tree], tuple[str, ...]]:
    """Its objects, and the flags that it gives to the manager besides the usual ones."""
    made = list(helm.render(REVIEWED, release="lws", namespace=HOME, chart=CHART).values())
    (deployment,) = (each for each in made if each["kind"] == "Deployment")
    (manager,) = deployment["spec"]["template"]["spec"]["containers"]
    own = tuple(flag for flag in manager["args"] if flag.startswith("--lws-"))
    return made, own


@everywhere(controllers=True, on=("real",))
async def test_an_installed_manager_keeps_a_drain_to_one_group(site: Site, tmp_path: Path) -> None:
    """The second group is refused with a sentence while the first is away, and goes when that one is back."""
    rendered, flags = chart()
    assert "--lws-eviction-webhook" in flags
    tree = a_set(replicas=2)
    tree["metadata"]["annotations"] = {DISRUPTION_BUDGET: "1"}
    async with turns(site, tmp_path, rendered, flags) as exchanged, exchanged.at_work(OURS):
        play = exchanged.play
        await play.create(tree)
        await play.available()
        before = play.uids(0)

        first = await evict_pod(site, "a-0-1", client=site.client_as("admin"))
        second = await evict_pod(site, "a-1-1", client=site.client_as("admin"))

        assert first.status == 201, first
        assert second.status == 429, second
        assert "group 0 of LeaderWorkerSet a is disturbed, and evictions may disturb 1 at once" in second.text

        await play.until(lambda: not before & play.uids(0) and play.is_available(), every=LOOK_EVERY)

        async def is_let_go() -> bool:
            return (await evict_pod(site, "a-1-1", client=site.client_as("admin"))).status == 201

        await site.until(is_let_go, every=LOOK_EVERY)
        await play.available()
