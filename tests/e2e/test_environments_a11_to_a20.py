"""Acceptance scenarios A11 to A20 of environments: definitions, hashes, strategies, changes in the middle, crashes."""

from __future__ import annotations

from base64 import b64decode

from fairlead.contracts.environments.kinds import BALANCERS, CONSOLES, FORCE_ROLLOUT, MATERIALIZES
from fairlead.contracts.environments.stand_in.environmentd import PROMOTE, SKIP, STATUS
from kubeloop.objects.apps import STATEFULSETS
from tests.e2e.converting import definition
from tests.e2e.environments import HASH_V, IMAGE, NEWER, Scene, V, W, manifest, on_clusters
from tests.e2e.history import Tree
from tests.e2e.installing import a_kind_of, define
from tests.e2e.orchestrators import SERVICE

ROLE = "arn:aws:iam::123456789012:role/mz"
RICH: Tree = {
    "environmentdExtraEnv": [
        {"name": "Z", "value": "1"},
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ],
    "environmentdResourceRequirements": {"requests": {"memory": "4095Mi", "cpu": "1"}, "limits": {"memory": "4Gi"}},
    "podLabels": {"team": "dåta", "a": "b"},
    "rolloutStrategy": "ManuallyPromote",
    "internalCertificateSpec": {"issuerRef": {"name": "ca", "kind": "Issuer"}},
    "forceRollout": "33333333-3333-3333-3333-333333333333",
}
VECTORS: tuple[tuple[Tree, dict[str, str], str], ...] = (
    (V, {}, HASH_V),
    (
        V,
        {FORCE_ROLLOUT: "a4b56cbb-a13e-4f95-8a9d-425c9ba28576"},
        "60236e5c044b80ea60006f53c98f466a94c0351e94e5273301f5ff6bc2cca489",
    ),
    (W, {}, "e8fc907509828cd08d04f2e27120dc8498e1d16bf7fe193978ea844d2bd0b228"),
    ({**V, "podLabels": {}}, {}, "1b5b3e43e5c7ca1460e5dd9e9f2c40204dfa424f99561f2f79249fa4aeab64a1"),
    (
        {**V, "serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": ROLE}},
        {},
        "6726bc2e4315267ce2208704334d124065a498e12e812ca178ef2890220639f7",
    ),
    ({**V, "balancerdReplicas": 5, "forcePromote": "x"}, {}, HASH_V),
    # Last, because a label like that is refused on any object.
    ({**V, **RICH}, {}, "eb0c2e7a7672ac197a484f62a6c699740b1e30a241e59b271f78fac6ce75401a"),
)
EXTRA = [{"name": "DEBUG", "value": "1"}]


@on_clusters()
async def test_a11_the_definition_has_both_versions_and_the_webhook(scene: Scene) -> None:
    found = (await definition(scene.site))["spec"]

    versions = {each["name"]: (each["served"], each["storage"]) for each in found["versions"]}
    assert versions["v1alpha1"] == (True, False)
    assert versions["v1alpha2"] == (True, True)
    assert found["conversion"]["strategy"] == "Webhook"
    webhook = found["conversion"]["webhook"]
    assert webhook["conversionReviewVersions"] == ["v1"]
    bundle = b64decode(webhook["clientConfig"].pop("caBundle"))
    assert bundle == scene.operator.certificates.authority.certificate
    service = {
        "name": SERVICE,
        "namespace": scene.site.namespace,
        "path": "/convert",
        "port": scene.operator.port,
    }
    assert webhook["clientConfig"] == {"service": service}


@on_clusters(begins=False, long=True)
async def test_a12_rollouts_are_asked_for_under_the_hashes_of_the_contract(scene: Scene) -> None:
    await define(scene.site, a_kind_of("cert-manager.io/v1", "Certificate"))
    scene.stubs.tell(1, catch_up="never")
    await scene.operator.start()
    await scene.site.history.follow(MATERIALIZES)

    for spec, marked, expected in VECTORS:
        await scene.apply(manifest(spec, annotations=marked))

        async def is_requested(expected: str = expected) -> bool:
            return (await scene.status()).get("requestedRolloutHash") == expected

        await scene.until(is_requested)


@on_clusters(long=True)
async def test_a13_what_concerns_companions_alone_starts_no_rollout(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await ready_companions(scene)
    before = await scene.statefulset(1)

    external = {"dnsNames": ["db.example.com"]}
    await scene.set_spec(balancerdReplicas=3, consoleReplicas=1, balancerdExternalCertificateSpec=external)

    async def are_updated() -> bool:
        balancer, console = [(await scene.read(each))["spec"] for each in (BALANCERS, CONSOLES)]
        return (balancer.get("replicas"), console.get("replicas")) == (3, 1) and balancer.get(
            "externalCertificateSpec"
        ) == external

    await scene.until(are_updated)
    await scene.rest()
    await scene.promoted(1)
    assert scene.requested() == [HASH_V]
    after = await scene.statefulset(1)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def ready_companions(scene: Scene) -> None:
    async def are_ready() -> bool:
        found = [await scene.site.get(each, "m") for each in (BALANCERS, CONSOLES)]
        conditions = [((each or {}).get("status") or {}).get("conditions") or [{}] for each in found]
        return all(each[0].get("status") == "True" for each in conditions)

    await scene.until(are_ready)


@on_clusters(long=True)
async def test_a14_a_rollout_to_be_promoted_by_hand_parks_until_it_is_forced(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)

    await scene.apply(manifest({**W, "rolloutStrategy": "ManuallyPromote"}))
    await scene.reason("ReadyToPromote")
    await scene.rest()

    condition = await scene.condition()
    assert (condition["status"], condition["message"]) == ("Unknown", "Ready to promote generation 2")
    assert (await scene.status())["activeGeneration"] == 1
    assert scene.stubs.promoted == [1]

    await scene.set_spec(forcePromote=(await scene.status())["requestedRolloutHash"])

    await scene.promoted(2)
    assert scene.stubs.promoted == [1, 2]


@on_clusters(long=True)
async def test_a15_forcing_before_it_has_caught_up_skips_that(scene: Scene) -> None:
    scene.stubs.tell(2, catch_up="never")
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.apply(manifest({**W, "rolloutStrategy": "ManuallyPromote"}))
    await scene.site.until(lambda: scene.stubs.calls(STATUS, 2))

    await scene.set_spec(forcePromote=(await scene.status())["requestedRolloutHash"])

    await scene.promoted(2)
    (skipped,), (promoted,) = scene.stubs.calls(SKIP), scene.stubs.calls(PROMOTE, 2)
    assert (skipped.generation, skipped.status) == (2, 204)
    assert scene.stubs.world.seen.index(skipped) < scene.stubs.world.seen.index(promoted)


@on_clusters(long=True)
async def test_a16_with_downtime_the_old_generation_goes_before_the_next_one_comes(scene: Scene) -> None:
    scene.stubs.tell(2, catch_up="never")
    await scene.apply(manifest(V))
    await scene.promoted(1)

    await scene.apply(manifest({**W, "rolloutStrategy": "ImmediatelyPromoteCausingDowntime"}))

    await scene.promoted(2)
    await scene.site.history.caught_up()
    (gone,) = (each for each in scene.seen(STATEFULSETS, "DELETED") if each.name.endswith("-1"))
    (came,) = (each for each in scene.seen(STATEFULSETS, "ADDED") if each.name.endswith("-2"))
    assert gone.version < came.version


@on_clusters(long=True)
async def test_a17_a_rollout_that_is_reverted_before_its_promotion_leaves_nothing_behind(scene: Scene) -> None:
    scene.stubs.tell(2, catch_up="never")
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.apply(manifest(W))
    await scene.site.until(lambda: scene.stubs.calls(STATUS, 2))

    await scene.apply(manifest(V))

    status = await scene.promoted(1)
    assert status["conditions"][0]["message"] == "No changes found from generation 1"
    assert status["requestedRolloutHash"] == status["lastCompletedRolloutHash"] == HASH_V
    assert scene.stubs.promoted == [1]


async def promoting_second(scene: Scene) -> str:
    """Generation 2 has been told to take over and is at it; the hash that it was made for."""
    scene.stubs.tell(2, promote_takes="never")
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.apply(manifest({**V, "environmentdExtraEnv": EXTRA}))
    await scene.reason("Promoting")
    await scene.site.until(lambda: scene.stubs.calls(PROMOTE, 2))
    found: str = (await scene.status())["requestedRolloutHash"]
    return found


def led_by(scene: Scene, generation: int) -> Tree:
    """The status that said first that the generation serves."""
    return next(each["status"] for each in scene.versions() if _active(each) == generation)


def _active(tree: Tree) -> int:
    found: int = (tree.get("status") or {}).get("activeGeneration", 0)
    return found


@on_clusters(long=True)
async def test_a18_a_change_during_a_promotion_waits_for_its_end(scene: Scene) -> None:
    requested = await promoting_second(scene)

    await scene.apply(manifest(W))
    await scene.rest()
    assert (await scene.status())["requestedRolloutHash"] == requested
    assert (await scene.condition())["reason"] == "Promoting"
    scene.stubs.tell(2, promote_takes="0s")

    status = await scene.promoted(3)
    await scene.site.history.caught_up()
    assert led_by(scene, 2)["lastCompletedRolloutHash"] == requested
    assert led_by(scene, 2)["lastCompletedRolloutEnvironmentdImageRef"] == IMAGE
    assert status["lastCompletedRolloutEnvironmentdImageRef"] == NEWER
    assert scene.requested() == [HASH_V, requested, status["requestedRolloutHash"]]


@on_clusters(long=True)
async def test_a19_a_promotion_completes_though_the_spec_is_what_it_was_before(scene: Scene) -> None:
    requested = await promoting_second(scene)

    await scene.apply(manifest(V))
    await scene.rest()
    assert (await scene.condition())["reason"] == "Promoting"
    assert await scene.exists(1)
    scene.stubs.tell(2, promote_takes="0s")

    status = await scene.promoted(3)
    await scene.site.history.caught_up()
    assert led_by(scene, 2)["lastCompletedRolloutHash"] == requested
    assert status["lastCompletedRolloutHash"] == HASH_V
    gone = [each.name.rpartition("-")[2] for each in scene.seen(STATEFULSETS, "DELETED")]
    assert gone == ["1", "2"]


@on_clusters()
async def test_a20_an_operator_that_is_killed_while_promoting_promotes_after_its_restart(scene: Scene) -> None:
    scene.stubs.tell(2, promote_takes="never")
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.apply(manifest(W))
    await scene.reason("Promoting")

    await scene.operator.kill()
    scene.stubs.tell(2, promote_takes="0s")
    calls = len(scene.stubs.promoted)
    await scene.operator.start()

    await scene.promoted(2)
    assert scene.stubs.promoted[0] == 1
    assert set(scene.stubs.promoted[1:]) == {2}
    assert len(scene.stubs.promoted) > calls
