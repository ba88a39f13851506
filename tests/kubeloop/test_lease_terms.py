"""Terms of a lease: what a candidate reads in its annotations before it takes it, and leaves there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from kubeloop.client import Client
from kubeloop.election import Election
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubesim.cluster import Cluster
from kubesim.time import run

LEASE = Ref(LEASES, "default", "one")


class Terms:
    """Refuses a lease on which somebody is noted whose number is higher; notes its own."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.asked: list[Ref] = []

    async def refusal(self, lease: Ref, annotations: Mapping[str, str]) -> str:
        self.asked.append(lease)
        return "too low" if int(annotations.get("number", "0")) > self.number else ""

    def annotations(self, found: Mapping[str, str]) -> Mapping[str, str]:
        return {"number": str(max(self.number, int(found.get("number", "0"))))}


def noted_on(cluster: Cluster) -> dict[str, str]:
    found: dict[str, str] = cluster.get(LEASES, "default", "one")["metadata"].get("annotations", {})
    return found


def test_a_candidate_leaves_a_free_lease_alone_whose_terms_it_does_not_meet() -> None:
    async def main() -> None:
        cluster, led = Cluster(seed=1), asyncio.Event()

        async def lead() -> None:
            led.set()

        high, low = Terms(3), Terms(2)
        await Election(Client(cluster.transport()), LEASE, "high", terms=high).run(lead)
        assert noted_on(cluster) == {"number": "3"}
        led.clear()
        standing = asyncio.create_task(Election(Client(cluster.transport()), LEASE, "low", terms=low).run(lead))
        await asyncio.sleep(120)

        assert not led.is_set()
        assert cluster.get(LEASES, "default", "one")["spec"]["holderIdentity"] == ""
        assert low.asked[0].uid == cluster.get(LEASES, "default", "one")["metadata"]["uid"]
        low.number = 3
        async with asyncio.timeout(10):
            await led.wait()
        standing.cancel()
        with suppress(asyncio.CancelledError):
            await standing

    run(main(), seed=1)


def test_a_holder_notes_anew_with_its_next_renewal_and_keeps_notes_of_others() -> None:
    async def main() -> None:
        cluster, terms = Cluster(seed=1), Terms(1)

        async def lead() -> None:
            assert noted_on(cluster) == {"number": "1"}
            terms.number = 4
            await asyncio.sleep(5)
            assert noted_on(cluster) == {"number": "4"}

        await Election(Client(cluster.transport()), LEASE, "one", terms=terms).run(lead)
        assert terms.asked == []  # the lease was not there, and then it was its own
        await Election(Client(cluster.transport()), LEASE, "plain").run(noop)
        assert noted_on(cluster) == {"number": "4"}

    run(main(), seed=1)


async def noop() -> None:
    """Leads for no time."""
