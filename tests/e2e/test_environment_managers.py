"""Server-side apply of environments in two versions at once: who conflicts over what, and the ways out of it.

docs/migrate-from-orchestratord.md promises what is played here.
"""

from __future__ import annotations

import msgspec
import pytest

from fairlead.contracts.environments.kinds import MATERIALIZES
from kubeloop.errors import Conflict
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import apply
from tests.e2e.environments import NEWER, OLD, Scene, V, manifest, on_clusters
from tests.e2e.history import Tree
from tests.e2e.legacies import FIRST

ROLE_KEY = "eks.amazonaws.com/role-arn"
OVER_THE_REQUEST = r'"old-tool".*\.spec\.requestRollout'
MINE = {**V, "environmentdExtraArgs": ["--mine"]}


async def server_side(scene: Scene, tree: Tree, manager: str, *, force: bool = False) -> None:
    version = tree["apiVersion"].rpartition("/")[2]
    resource = Resource(MATERIALIZES.group, version, MATERIALIZES.plural, MATERIALIZES.kind)
    ref = Ref(resource, scene.site.namespace, tree["metadata"]["name"])
    await scene.site.client.call(apply(ref, msgspec.json.encode(tree), manager, force=force))


@on_clusters()
async def test_a_change_conflicts_with_whoever_applied_a_request_and_forced_once_never_again(scene: Scene) -> None:
    await server_side(scene, manifest({**V, "requestRollout": FIRST}, OLD), "old-tool")
    await scene.promoted(1)
    await server_side(scene, manifest(V), "new-tool")

    with pytest.raises(Conflict, match=OVER_THE_REQUEST):
        await server_side(scene, manifest(MINE), "new-tool")
    await server_side(scene, manifest(MINE), "new-tool", force=True)
    await scene.promoted(2)

    await server_side(scene, manifest({**MINE, "podLabels": {"a": "1"}}), "new-tool")
    await scene.promoted(3)


@on_clusters(long=True)
async def test_a_tool_of_v1alpha1_that_names_no_request_is_no_hindrance(scene: Scene) -> None:
    await server_side(scene, manifest({**V, "requestRollout": FIRST}, OLD), "old-tool")
    await scene.promoted(1)

    await server_side(scene, manifest(V, OLD), "old-tool")

    await server_side(scene, manifest(MINE), "new-tool")
    await scene.promoted(2)


@on_clusters()
async def test_a_tool_of_v1alpha1_gives_up_everything_by_applying_a_name_alone(scene: Scene) -> None:
    await server_side(scene, manifest({**V, "requestRollout": FIRST}, OLD), "old-tool")
    await server_side(scene, manifest(V), "new-tool")
    await scene.promoted(1)

    name_alone = manifest({}, OLD)
    del name_alone["spec"]
    await server_side(scene, name_alone, "old-tool")

    await server_side(scene, manifest({**MINE, "environmentdImageRef": NEWER}), "new-tool")
    await scene.promoted(2)


@on_clusters(long=True)
async def test_the_role_of_v1alpha1_does_not_change_what_it_has_become(scene: Scene) -> None:
    await scene.apply(manifest({**V, "environmentdIamRoleArn": "arn:first"}, OLD))
    await scene.promoted(1)

    await scene.apply(manifest({**V, "environmentdIamRoleArn": "arn:second"}, OLD))
    assert (await scene.read())["spec"]["serviceAccountAnnotations"] == {ROLE_KEY: "arn:first"}

    await scene.apply(manifest({**V, "serviceAccountAnnotations": {ROLE_KEY: "arn:second"}}, OLD))
    assert (await scene.read())["spec"]["serviceAccountAnnotations"] == {ROLE_KEY: "arn:second"}
    await scene.promoted(2)
