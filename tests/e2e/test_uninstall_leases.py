"""Leases when a part is removed: those of other parts and those that somebody holds stay, the part's own go."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.cli.commands.uninstall import held
from fairlead.cli.removal import GIVEN_BACK_WITHIN, find, remove
from fairlead.contracts.environments.kinds import OWN_LABELS as OF_ENVIRONMENTS
from fairlead.contracts.zones.kinds import OWN_LABELS as OF_ZONES
from kubeloop.election import Election
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.records import LeaseRecords
from kubeloop.request import delete
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree


async def hold(site: Site, name: str, labels: dict[str, str], leading: asyncio.Event, holder: str = "somebody") -> None:
    """Until cancelled."""

    async def lead() -> None:
        leading.set()
        await asyncio.Event().wait()

    await Election(site.client, Ref(LEASES, site.namespace, name), holder, labels=labels).run(lead)


async def released(site: Site, name: str, labels: dict[str, str]) -> None:
    """A Lease that was held and given back."""
    leading = asyncio.Event()
    task = asyncio.create_task(hold(site, name, labels, leading))
    await leading.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def leases(site: Site) -> set[str]:
    names = ("fairlead-operator", "orchestratord", "of-environments", "zones-held")
    return {name for name in names if await site.get(LEASES, name) is not None}


@everywhere(controllers=False)
async def test_leases_of_other_parts_stay_also_those_with_the_labels_of_earlier_releases(site: Site) -> None:
    await released(site, "fairlead-operator", OF_ZONES)
    await released(site, "of-environments", OF_ENVIRONMENTS)
    await released(site, "orchestratord", OF_ZONES)
    records = LeaseRecords(site.client, site.namespace, "fairlead-operator", OF_ZONES)
    await records.swap("downscale/x/y", (await records.get("downscale/x/y")).version, b"{}")

    removal = await remove(site.client, await find(site.client, "zones", site.namespace, kinds=False))

    assert (removal.error, removal.held, len(removal.removed)) == (None, (), 2)
    assert await leases(site) == {"orchestratord", "of-environments"}
    assert (await records.get("downscale/x/y")).value == b""


@everywhere(controllers=False, on=("sim",))
async def test_a_lease_that_somebody_holds_stays_and_is_told(site: Site) -> None:
    """The process of another part may hold one that has our labels."""
    leading = asyncio.Event()
    holding = asyncio.create_task(hold(site, "zones-held", OF_ZONES, leading))
    await leading.wait()
    items = await find(site.client, "zones", site.namespace, kinds=False)

    removal = await remove(site.client, items)

    assert [item.ref.name for item in removal.held] == ["zones-held"]
    assert removal.removed == ()
    assert "Lease/zones-held is held by a process that runs" in held(removal)
    assert await leases(site) == {"zones-held"}
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)

    assert (await remove(site.client, items)).held == ()
    assert await leases(site) == set()


@everywhere(controllers=False, on=("sim",))
async def test_a_lease_that_somebody_renews_stays_where_this_machine_is_an_hour_ahead(site: Site) -> None:
    leading = asyncio.Event()
    holding = asyncio.create_task(hold(site, "zones-held", OF_ZONES, leading))
    await leading.wait()
    items = await find(site.client, "zones", site.namespace, kinds=False)
    asyncio.get_running_loop().jump(3600.0)  # type: ignore[attr-defined]

    removal = await remove(site.client, items)

    assert [item.ref.name for item in removal.held] == ["zones-held"]
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)


@pytest.mark.parametrize(("jump", "within"), [(-86_400.0, 17.0), (0.0, 17.0), (86_400.0, 8.0)])
@everywhere(controllers=False, on=("sim",))
async def test_the_lease_of_a_process_that_died_goes_whatever_time_of_day_it_had(
    site: Site, jump: float, within: float
) -> None:
    leading, loop = asyncio.Event(), asyncio.get_running_loop()
    holding = asyncio.create_task(hold(site, "zones-held", OF_ZONES, leading))
    await leading.wait()
    lease = await site.get(LEASES, "zones-held")
    assert lease is not None
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)
    await site.client.call(delete(Ref(LEASES, site.namespace, "zones-held")))
    metadata = {key: lease["metadata"][key] for key in ("name", "labels")}
    await site.create(LEASES, {"metadata": metadata, "spec": lease["spec"]})
    items = await find(site.client, "zones", site.namespace, kinds=False)
    loop.jump(jump)  # type: ignore[attr-defined]
    begun = loop.time()

    removal = await remove(site.client, items)

    assert (removal.held, len(removal.removed)) == ((), 1)
    assert loop.time() - begun < within


@everywhere(controllers=False, on=("sim",))
async def test_an_operator_that_ends_gets_the_time_to_give_its_lease_back(site: Site) -> None:
    leading = asyncio.Event()
    holding = asyncio.create_task(hold(site, "fairlead-operator", OF_ZONES, leading))
    await leading.wait()
    asyncio.get_running_loop().call_later(GIVEN_BACK_WITHIN / 2, holding.cancel)

    removal = await remove(site.client, await find(site.client, "zones", site.namespace, kinds=False))

    assert (removal.held, len(removal.removed)) == ((), 1)
    assert await leases(site) == set()
    await asyncio.gather(holding, return_exceptions=True)


@everywhere(controllers=False, on=("sim",))
async def test_leases_without_labels_that_its_pods_hold_are_waited_for_as_well(site: Site) -> None:
    """They were there before the operator, or are those of its runs; without its rights it could not give them back."""
    await site.create(DEPLOYMENTS, an_operator())
    held_by = {"of-a-run": "rollout-operator-7d9-x2_1", "of-others": "mimir-7d9-x2_1"}
    leading = {name: asyncio.Event() for name in held_by}
    holding = {
        name: asyncio.create_task(hold(site, name, {}, leading[name], holder)) for name, holder in held_by.items()
    }
    for each in leading.values():
        await each.wait()
    items = await find(site.client, "zones", site.namespace, kinds=False)

    removal = await remove(site.client, items)

    assert [item.ref.name for item in items] == ["rollout-operator", "of-a-run"]
    assert [item.ref.name for item in removal.held] == ["of-a-run"]
    for task in holding.values():
        task.cancel()
    await asyncio.gather(*holding.values(), return_exceptions=True)
    assert (await remove(site.client, removal.held)).held == ()
    assert await site.get(LEASES, "of-a-run") is None
    assert await site.get(LEASES, "of-others") is not None


@everywhere(controllers=False, on=("sim",))
async def test_a_lease_of_its_name_that_its_predecessor_has_made_is_waited_for(site: Site) -> None:
    named = {"metadata": {**an_operator()["metadata"], "name": "materialize-operator", "labels": OF_ENVIRONMENTS}}
    await site.create(DEPLOYMENTS, {**an_operator(), **named})
    leading = asyncio.Event()
    holding = asyncio.create_task(hold(site, "orchestratord", {}, leading, "elsewhere_1"))
    await leading.wait()

    removal = await remove(site.client, await find(site.client, "environments", site.namespace, kinds=False))

    assert [item.ref.name for item in removal.held] == ["orchestratord"]
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)


@everywhere(controllers=False, on=("sim",))
async def test_where_no_operator_of_the_part_is_a_lease_without_labels_is_somebody_elses(site: Site) -> None:
    await released(site, "orchestratord", {})

    items = await find(site.client, "environments", site.namespace, kinds=False)

    assert items == ()


def an_operator() -> Tree:
    labels = {"app": "operator"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "operator", "image": "operator"}]}}
    return {
        "metadata": {"name": "rollout-operator", "labels": dict(OF_ZONES)},
        "spec": {"selector": {"matchLabels": labels}, "template": pod},
    }
