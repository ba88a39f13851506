"""An edit through v1alpha1 of an environment that is stored in that version is rolled out, whenever it comes."""

from __future__ import annotations

from contextlib import suppress

import pytest

from fairlead.contracts.environments.kinds import MATERIALIZES
from kubeloop.errors import ApiError
from tests.e2e.clusters import long
from tests.e2e.converting import definition
from tests.e2e.environments import HASH_V, HASH_W, NEWER, OLD, Scene, W, manifest, on_clusters
from tests.e2e.legacies import FIRST, a_legacy, define_legacy, migrated

EDITED = manifest({**W, "requestRollout": FIRST}, OLD)
"""Another image, under the request that was completed already."""


async def is_stored_anew(scene: Scene) -> bool:
    """Whether the storage version is that of today, so that the operator may begin to take objects over."""
    versions = (await definition(scene.site))["spec"]["versions"]
    return any(each["storage"] for each in versions if each["name"] == MATERIALIZES.version)


async def edit(scene: Scene) -> None:
    """While the operator starts, its webhook may not answer yet."""

    async def is_edited() -> bool:
        with suppress(ApiError):
            return bool(await scene.apply(EDITED))
        return False

    await scene.until(is_edited)


@on_clusters(begins=False)
@pytest.mark.parametrize("when", [long("before"), "during", long("after")])
async def test_an_edit_before_during_and_after_the_migration_is_rolled_out(scene: Scene, when: str) -> None:
    await define_legacy(scene)
    await a_legacy(scene)
    if when == "before":
        await edit(scene)

    start = scene.site.start(scene.operator.start())
    if when == "during":
        await scene.until(lambda: is_stored_anew(scene))
        await edit(scene)
    await start
    if when == "after":
        await migrated(scene)
        assert (await scene.status())["lastCompletedRolloutHash"] == HASH_V
        await edit(scene)

    status = await scene.promoted(2)
    assert status["lastCompletedRolloutHash"] == HASH_W
    assert status["lastCompletedRolloutEnvironmentdImageRef"] == NEWER
    assert scene.stubs.promoted == [2]
    assert (await scene.container(2))["image"] == NEWER
    await scene.rest()
    assert scene.stubs.promoted == [2]
