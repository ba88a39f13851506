"""Records on Leases, the same on the embedded cluster and on the real API server."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop import record_sweep, request
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.record_sweep import Sweep, _Meta
from kubeloop.records import LARGEST, LeaseRecords, Outdated, Recorded
from tests.e2e.clusters import Site, everywhere


def records(site: Site) -> LeaseRecords:
    return LeaseRecords(site.client, site.namespace, "fairlead-operator")


@everywhere(controllers=False)
async def test_record_lives_on_a_lease(site: Site) -> None:
    kept = records(site)

    absent = await kept.get("downscale/ns/group")
    assert absent.value == b""
    begun = await kept.swap("downscale/ns/group", absent.version, b'{"zone":"a"}')
    assert await kept.get("downscale/ns/group") == Recorded(b'{"zone":"a"}', begun)
    ended = await kept.swap("downscale/ns/group", begun, b"")
    assert await kept.get("downscale/ns/group") == Recorded(b"", ended)
    for version in (absent.version, begun):
        with pytest.raises(Outdated):
            await kept.swap("downscale/ns/group", version, b"late")
    full = await kept.swap("downscale/ns/group", ended, b"x" * LARGEST)
    assert await kept.get("downscale/ns/group") == Recorded(b"x" * LARGEST, full)


@everywhere(controllers=False)
async def test_record_whose_lease_was_deleted_is_not_made_anew_by_who_saw_the_old_one(site: Site) -> None:
    """An API server makes a Lease by a PUT where there is none, whatever version the PUT asks for."""
    kept = records(site)
    version = await kept.swap("a", (await kept.get("a")).version, b"x")
    await site.client.call(request.delete(Ref(LEASES, site.namespace, kept._ref("a").name)))

    with pytest.raises(Outdated):
        await kept.swap("a", version, b"y")

    assert (await kept.get("a")).value == b""


@everywhere(controllers=False)
async def test_record_that_many_swap_at_once_is_won_by_one(site: Site) -> None:
    kept = records(site)
    version = await kept.swap("a", (await kept.get("a")).version, b"start")

    async def won(number: int) -> bool:
        try:
            await kept.swap("a", version, f"{number}".encode())
        except Outdated:
            return False
        return True

    outcomes = await asyncio.gather(*(won(number) for number in range(8)))

    assert outcomes.count(True) == 1
    assert (await kept.get("a")).value == f"{outcomes.index(True)}".encode()


@everywhere(controllers=False)
async def test_a_removed_record_leaves_no_lease_and_one_that_is_taken_meanwhile_stays(site: Site) -> None:
    kept, sweeping = records(site), Sweep(site.client, site.namespace, "fairlead-operator")
    keys = ("over", "again", "begun")
    versions = {key: await kept.swap(key, (await kept.get(key)).version, b"x", 3600) for key in keys}
    for key in ("over", "again"):
        versions[key] = await kept.swap(key, versions[key], b"")
    real = sweeping._delete

    async def delete(found: _Meta) -> None:
        """The other replica takes this one between the list and its deletion."""
        if found.name == kept._ref("again").name:
            await kept.swap("again", versions["again"], b"mine")
        await real(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_sweep, "QUIET", 0.0)
        patch.setattr(sweeping, "_delete", delete)
        await sweeping.look()

    assert await site.get(LEASES, kept._ref("over").name) is None
    assert [(await kept.get(key)).value for key in keys] == [b"", b"mine", b"x"]
    with pytest.raises(Outdated):
        await kept.swap("over", versions["over"], b"late")
    await kept.swap("over", (await kept.get("over")).version, b"new")
