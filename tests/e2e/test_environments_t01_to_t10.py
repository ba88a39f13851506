"""The contract's ten acceptance scenarios of environments, T1 to T10."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.environments.kinds import FORCE, FORCE_ROLLOUT, MATERIALIZES, NIL
from fairlead.contracts.environments.stand_in.environmentd import PROMOTE, STATUS
from fairlead.core.uuids import parse, uuid5
from kubeloop.objects.apps import STATEFULSETS
from tests.e2e.clusters import long
from tests.e2e.environments import BACKEND, HASH_V, HASH_W, NEWER, OLD, Scene, V, W, manifest, on_clusters
from tests.e2e.legacies import FIRST, SECOND, a_generation, a_legacy, define_legacy, migrated

EVERY = ("sim", "served", "real")
"""Where a cluster is served over HTTPS to a program of its own, too."""
DEBUGGING = [{"name": "DEBUG", "value": "1"}]


async def taken_over_idle(scene: Scene) -> None:
    """An idle environment of an operator that knew v1alpha1 alone is taken over, and nothing rolls out."""
    await define_legacy(scene)
    await a_legacy(scene)
    before = await scene.statefulset_of("legacy0000", 1)
    await scene.operator.start()
    await scene.rest()

    status = await scene.promoted(1)
    assert status["requestedRolloutHash"] == HASH_V
    assert not scene.stubs.promoted
    after = await scene.statefulset(1)
    assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], before["spec"])


@on_clusters(begins=False)
@pytest.mark.parametrize("asked", [FIRST, long(SECOND)], ids=["same requestRollout", "another requestRollout"])
async def test_t01_a_legacy_environment_rolls_out_when_v1alpha1_is_applied(scene: Scene, asked: str) -> None:
    await taken_over_idle(scene)

    await scene.apply(manifest({**W, "requestRollout": asked}, OLD))

    await scene.promoted(2)
    assert scene.stubs.promoted == [2]
    assert (await scene.container(2))["image"] == NEWER


@on_clusters(begins=False, long=True)
async def test_t02_a_legacy_environment_rolls_out_when_v1alpha2_is_applied(scene: Scene) -> None:
    """Seen at v1alpha1 the rollout is complete by the rule of that version."""
    await taken_over_idle(scene)

    await scene.apply(manifest(W))

    status = await scene.promoted(2)
    old = await scene.read(OLD)
    derived = uuid5(status["lastCompletedRolloutHash"])
    assert old["spec"]["requestRollout"] == old["status"]["lastCompletedRolloutRequest"] == derived


@on_clusters(on=EVERY, long=True)
async def test_t03_v1alpha1_applied_over_v1alpha2_rolls_out(scene: Scene) -> None:
    """The status that is stored with the new spec is the old one; only the operator asks for the rollout."""
    await scene.apply(manifest(V))
    await scene.promoted(1)

    await scene.apply(manifest(W, OLD))

    await scene.promoted(2)
    await scene.site.history.caught_up()
    first = next(each for each in scene.versions() if each["spec"]["environmentdImageRef"] == NEWER)
    hashes = (first["status"]["lastCompletedRolloutHash"], first["status"]["requestedRolloutHash"])
    assert hashes == (HASH_V, HASH_V)
    assert scene.requested() == [HASH_V, HASH_W]


@on_clusters(on=EVERY)
async def test_t04_a_changed_manifest_rolls_out_and_the_same_again_changes_nothing(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)

    await scene.apply(manifest(W))
    await scene.promoted(2)
    before = await scene.read()
    again = await scene.apply(manifest(W))

    assert again["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    await scene.rest()
    await scene.promoted(2)
    assert scene.stubs.promoted == [1, 2]


@on_clusters(begins=False, on=EVERY, long=True)
async def test_t05_a_legacy_rollout_under_way_goes_on_with_its_generation(scene: Scene) -> None:
    await define_legacy(scene)
    legacy = await a_legacy(scene, asked=SECOND, reason="Applying")
    await a_generation(scene, legacy, 2, "--of-another-operator")
    scene.stubs.tell(2, catch_up="never")

    await scene.operator.start()

    async def is_overwritten() -> bool:
        return "--of-another-operator" not in (await scene.container(2))["args"] and scene.stubs.calls(STATUS, 2) != []

    await scene.until(is_overwritten)
    status = await scene.status()
    assert "lastCompletedRolloutHash" not in status
    assert status["requestedRolloutHash"] == HASH_V
    assert status["activeGeneration"] == 1

    scene.stubs.tell(2, catch_up="0s")

    await scene.promoted(2)
    await scene.rest()
    assert scene.stubs.promoted == [2]
    assert not await scene.exists(3)


@on_clusters(begins=False)
async def test_t06_a_legacy_promotion_is_finished_and_rolled_out_once_more(scene: Scene) -> None:
    """What generation 2 was made for is not known, so nothing touches it before it leads, and another one follows."""
    await define_legacy(scene)
    legacy = await a_legacy(scene, asked=SECOND, reason="Promoting")
    await a_generation(scene, legacy, 2, "--of-another-operator")
    scene.stubs.tell(2, promote_takes="never")

    await scene.operator.start()
    await migrated(scene)
    await scene.site.until(lambda: scene.stubs.calls(PROMOTE, 2))

    status = await scene.status()
    assert not {"requestedRolloutHash", "lastCompletedRolloutHash"} & status.keys()
    assert status["conditions"][0]["reason"] == "Promoting"

    scene.stubs.tell(2, promote_takes="0s")

    status = await scene.promoted(3)
    assert status["requestedRolloutHash"] == HASH_V
    await scene.site.history.caught_up()
    leads = next(
        each.version for each in scene.seen(MATERIALIZES) if each.object["status"].get("activeGeneration") == 2
    )
    before = [
        each.object
        for each in scene.seen(STATEFULSETS)
        if each.name.endswith("-environmentd-2") and each.version < leads
    ]
    assert before
    assert {each["metadata"]["generation"] for each in before} == {1}
    assert list(dict.fromkeys(scene.stubs.promoted)) == [2, 3]


@on_clusters(long=True)
async def test_t07_a_change_in_the_middle_of_a_rollout_goes_into_the_same_generation(scene: Scene) -> None:
    scene.stubs.tell(2, catch_up="never")
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.apply(manifest(W))
    await scene.site.until(lambda: scene.stubs.calls(STATUS, 2))

    await scene.apply(manifest({**W, "environmentdExtraEnv": DEBUGGING}))

    async def has_the_change() -> bool:
        return DEBUGGING[0] in (await scene.container(2))["env"]

    await scene.until(has_the_change)
    assert (await scene.status())["activeGeneration"] == 1
    assert not scene.stubs.calls(PROMOTE, 2)

    scene.stubs.tell(2, catch_up="0s")

    status = await scene.promoted(2)
    await scene.site.history.caught_up()
    assert scene.requested() == [HASH_V, HASH_W, status["requestedRolloutHash"]]
    assert DEBUGGING[0] in (await scene.container(2))["env"]


@on_clusters(long=True)
async def test_t08_an_annotation_rolls_out_and_leaves_the_spec_alone(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    before = await scene.read()

    await scene.change({"metadata": {"annotations": {FORCE_ROLLOUT: "x"}}})

    await scene.promoted(2)
    after = await scene.read()
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert (await scene.statefulset(2))["metadata"]["annotations"][FORCE] == f"{NIL}/x"


@on_clusters(long=True)
async def test_t09_the_first_generation_of_the_newest_image_reads_its_listeners_from_a_file(scene: Scene) -> None:
    await scene.apply(manifest({**V, "environmentdImageRef": "materialize/environmentd:v26.40.0"}))

    status = await scene.promoted(1)
    pod = (await scene.statefulset(1))["spec"]["template"]["spec"]
    container = pod["containers"][0]
    (mount,) = (each for each in container["volumeMounts"] if each["mountPath"] == "/listeners")
    (volume,) = (each for each in pod["volumes"] if each["name"] == mount["name"])
    assert volume["configMap"]["name"] == f"mz{status['resourceId']}-listeners-1"
    assert "--listeners-config-path=/listeners/listeners.json" in container["args"]


@on_clusters("--disable-license-key-checks", secret=False, long=True)
async def test_t10_an_image_of_before_licenses_needs_neither_key_nor_listeners(scene: Scene) -> None:
    await scene.keep_secret(license_key=None)
    spec: dict[str, Any] = {"environmentdImageRef": "materialize/environmentd:v0.146.0", "backendSecretName": BACKEND}

    await scene.apply(manifest(spec))

    await scene.promoted(1)
    filled = (await scene.read())["spec"]["environmentId"]
    assert parse(filled) == filled != NIL
    container = await scene.container(1)
    ports = {"sql": 6875, "http": 6876, "internal-sql": 6877, "internal-http": 6878}
    for name, port in ports.items():
        assert f"--{name}-listen-addr=0.0.0.0:{port}" in container["args"]
    assert "--disable-license-key-checks" in container["args"]
    assert "/listeners" not in [each["mountPath"] for each in container.get("volumeMounts", ())]
