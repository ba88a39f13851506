"""Admission webhooks of others that are slow, under a Lease: environments are rolled and promoted all the same.

Only in virtual time: each write takes seconds.
"""

from __future__ import annotations

from functools import partial

import pytest

from fairlead.contracts.environments.contract import CONTRACT
from kubeloop.objects.core import LEASES
from tests.e2e.environments import NEWER, Scene, V, W, manifest, on_clusters
from tests.e2e.meddling import Reviewed

LEASE = CONTRACT.lease
SECONDS = 6.0
"""Longer than a write may take at first, and than what a lease lasts beyond its last renewal."""


@pytest.mark.parametrize("plural", ["statefulsets", "services", "configmaps", "materializes"])
@on_clusters(on=("sim",))
async def test_an_environment_is_rolled_where_admission_is_slow(scene: Scene, plural: str) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.operator.kill()
    scene.operator.through = partial(Reviewed, plural=plural, seconds=SECONDS)
    await scene.operator.start()

    await scene.apply(manifest(W))
    await scene.promoted(2, within=900)

    assert (await scene.container(2))["image"] == NEWER
    lease = await scene.site.get(LEASES, LEASE)
    assert lease is not None
    assert lease["spec"]["leaseTransitions"] == 0
