"""Admission webhooks of others that are slow, under a Lease: zones roll on, and no two of them at once.

Only in virtual time: each write takes seconds.
"""

from __future__ import annotations

import pytest

from kubeloop.objects.core import LEASES
from tests.e2e.clusters import Site, everywhere
from tests.e2e.meddling import Reviewed
from tests.e2e.operators import Operator
from tests.e2e.rollouts import SECOND, is_complete, roll, three_zones, zones_out

SECONDS = 6.0
"""Longer than a write may take at first, and than what a lease lasts beyond its last renewal."""
LEASE = "fairlead-operator"


@pytest.mark.parametrize("plural", ["pods", "statefulsets"])
@everywhere(on=("sim",))
async def test_zones_roll_where_admission_is_slow(site: Site, plural: str) -> None:
    await three_zones(site, replicas=2)
    operator = Operator(site, lease=LEASE, through=lambda transport: Reviewed(transport, plural, SECONDS))
    before = site.history.events[-1].version

    site.start_operator(operator)
    await roll(site)
    await site.until(lambda: is_complete(site, SECOND), within=900)

    assert zones_out(site, since=before) == 1
    lease = await site.get(LEASES, LEASE)
    assert lease is not None
    assert lease["spec"]["leaseTransitions"] == 0
