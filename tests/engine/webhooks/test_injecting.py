"""The authority gets into every configuration that asks for it, stays there, and touches nothing else."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from fairlead.contracts.zones.kinds import INJECT_CA, NAMESPACE
from fairlead.engine.certificates.ca_injection import Injector, policies
from fairlead.engine.certificates.pairs import CertificateRequest, make
from fairlead.engine.decide.ca_injection import TrustLabels, TrustScope
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.objects.admissionregistration import MUTATING, VALIDATING
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, patch
from kubesim.faults import Fault, Faulty
from kubesim.time import run
from tests.engine.alone import caches_of
from tests.engine.webhooks.world import World

TRUST = TrustLabels(INJECT_CA, NAMESPACE)
ONE, TWO = Ref(VALIDATING, "", "one"), Ref(MUTATING, "", "two")


async def configure(world: World, ref: Ref, *, entries: int = 1, namespace: str = "test", inject: str = "true") -> None:
    """A configuration with the labels of the contract."""
    webhooks = [
        {
            "name": f"{place}.{ref.name}.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"url": "https://example.com/admission"},
            "failurePolicy": "Ignore" if place else "Fail",
        }
        for place in range(entries)
    ]
    labels = {"grafana.com/inject-rollout-operator-ca": inject, "grafana.com/namespace": namespace}
    await world.create(ref.resource, {"metadata": {"name": ref.name, "labels": labels}, "webhooks": webhooks}, "")


async def entries_of(world: World, ref: Ref) -> list[dict[str, Any]]:
    tree = await world.read(ref)
    assert tree is not None
    webhooks: list[dict[str, Any]] = tree["webhooks"]
    return webhooks


async def bundles_of(world: World, ref: Ref) -> list[bytes]:
    return [b64decode(entry["clientConfig"].get("caBundle", "")) for entry in await entries_of(world, ref)]


def injector_of(
    world: World, client: Client | None = None, *, keeps: bool = False, namespaces: tuple[str, ...] = ("test",)
) -> Injector:
    log = world.log.logger()
    served = TrustScope(TRUST, namespaces, "home")
    through = client or world.client
    return Injector(through, served, log, caches_of(through, log), keeps=keeps)


@asynccontextmanager
async def running(injector: Injector) -> AsyncIterator[None]:
    task = asyncio.create_task(injector.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def test_31_labelled_configurations_get_the_authority_and_others_do_not() -> None:
    """E-27."""

    async def scenario() -> None:
        world = World()
        await configure(world, ONE, entries=2)
        await configure(world, TWO)
        await configure(world, Ref(VALIDATING, "", "unlabelled"), inject="false")
        await configure(world, Ref(MUTATING, "", "elsewhere"), namespace="other")
        before = await entries_of(world, ONE)

        await injector_of(world).trust(b"authority")

        assert await bundles_of(world, ONE) == [b"authority"] * 2
        assert await bundles_of(world, TWO) == [b"authority"]
        assert await bundles_of(world, Ref(VALIDATING, "", "unlabelled")) == [b""]
        assert await bundles_of(world, Ref(MUTATING, "", "elsewhere")) == [b""]
        bundle = b64encode(b"authority").decode()
        for entry in before:
            entry["clientConfig"]["caBundle"] = bundle
        assert await entries_of(world, ONE) == before

    run(scenario())


def test_b_8_what_somebody_clears_or_adds_later_gets_the_authority() -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        injector = injector_of(world)
        async with running(injector):
            await injector.trust(b"authority")
            cleared = [{**(await entries_of(world, ONE))[0], "clientConfig": {"url": "https://example.com/other"}}]
            await world.client.call(patch(ONE, MERGE_PATCH, msgspec.json.encode({"webhooks": cleared})))
            await configure(world, TWO)

            await asyncio.sleep(5)

            assert await bundles_of(world, ONE) == [b"authority"]
            assert (await entries_of(world, ONE))[0]["clientConfig"]["url"] == "https://example.com/other"
            assert await bundles_of(world, TWO) == [b"authority"]

    run(scenario())


def test_every_patch_has_an_audit_line() -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        injector = injector_of(world)
        async with running(injector):
            await injector.trust(b"authority")
            await configure(world, TWO)
            await asyncio.sleep(5)

        lines = world.log.of("ca bundle injected")
        assert [(each["does"], each["outcome"], each["change_to"]) for each in lines] == [
            ("inject-ca", "ok", "1 of 1 entries")
        ] * 2
        assert [each["subject"].rsplit("/", 1)[1] for each in lines] == ["one", "two"]
        assert all(each["round"] and each["resource_version"] for each in lines)

    run(scenario())


def test_a_configuration_that_is_overwritten_all_the_time_is_patched_at_a_bounded_pace() -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        injector = injector_of(world)
        async with running(injector):
            await injector.trust(b"authority")
            entry = (await entries_of(world, ONE))[0]
            entry["clientConfig"] = {"url": "https://example.com/admission"}
            until = clock.monotonic() + 60
            while clock.monotonic() < until:
                await world.client.call(patch(ONE, MERGE_PATCH, msgspec.json.encode({"webhooks": [entry]})))
                await asyncio.sleep(0.1)
            patched = len(world.log.of("ca bundle injected"))

            await asyncio.sleep(5)

            assert 30 <= patched <= 62
            assert await bundles_of(world, ONE) == [b"authority"]

    run(scenario())


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_h_6_a_missing_right_is_logged_and_tried_again(verb: str) -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        allowed = False

        def forbid(request: Request, _: int) -> Fault | None:
            return None if allowed or request.verb != verb else Fault("status", status=403)

        injector = injector_of(world, Client(Faulty(world.cluster.transport(), forbid)))
        async with running(injector):
            await injector.trust(b"authority")
            once = await bundles_of(world, ONE)
            allowed = True
            await asyncio.sleep(61)

            assert once == [b"" if verb == "list" else b"authority"]
            assert await bundles_of(world, ONE) == [b"authority"]

    run(scenario())


def test_operators_of_one_namespace_and_of_all_do_not_take_each_others_bundles_away() -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        await configure(world, TWO, namespace="home")
        own, everywhere = injector_of(world), injector_of(world, namespaces=(), keeps=True)
        async with running(own), running(everywhere):
            await own.trust(b"authority")
            await everywhere.trust(b"other")
            await asyncio.sleep(10)
            written = len(world.log.of("ca bundle injected"))
            await asyncio.sleep(60)

            assert await bundles_of(world, ONE) == [b"authority"]
            assert await bundles_of(world, TWO) == [b"other"]
            assert len(world.log.of("ca bundle injected")) == written

    run(scenario())


def test_trust_is_known_only_when_every_configuration_has_been_seen_to_have_the_bundle() -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        await configure(world, TWO)

        def refuse(request: Request, _: int) -> Fault | None:
            refused = request.verb == "patch" and request.path.endswith(ONE.name)
            return Fault("status", status=503) if refused else None

        hindered = injector_of(world, Client(Faulty(world.cluster.transport(), refuse)))

        assert not await hindered.trust(b"authority")
        assert await bundles_of(world, TWO) == [b"authority"]
        assert await injector_of(world).trust(b"authority")

    run(scenario())


def test_b_14_every_entry_of_the_namespace_shows_its_failure_policy() -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE, entries=2, inject="false")
        injector = injector_of(world)
        async with running(injector):
            await asyncio.sleep(1)

            assert list(policies(injector.entries())) == [
                ("ValidatingWebhook", "0.one.example.com", "Fail", 1),
                ("ValidatingWebhook", "0.one.example.com", "Ignore", 0),
                ("ValidatingWebhook", "1.one.example.com", "Fail", 0),
                ("ValidatingWebhook", "1.one.example.com", "Ignore", 1),
            ]

    run(scenario())


@pytest.mark.parametrize(
    ("namespaces", "expected"),
    [
        ((), "grafana.com/namespace"),
        (("a",), "grafana.com/namespace=a"),
        (("a", "b"), "grafana.com/namespace in (a,b)"),
    ],
)
def test_only_configurations_of_the_served_namespaces_are_watched(namespaces: tuple[str, ...], expected: str) -> None:
    assert TrustScope(TRUST, namespaces).selector == expected


def test_replicas_that_renew_at_different_times_do_not_take_each_others_authority_away() -> None:
    """While one shows the renewed certificate and the other the one before, clients trust both, and nobody writes."""

    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        wanted = CertificateRequest("a.test.svc", "fairlead", timedelta(days=1), "rollout-operator")
        old, new = (make(wanted, clock.now(), key_size=2048).authority for _ in range(2))
        early, late = injector_of(world, keeps=True), injector_of(world, keeps=True)
        async with running(early), running(late):
            for each in (early, late):
                await each.trust(old)
            await early.trust(new)
            await asyncio.sleep(60)
            shown = await world.read(ONE)
            await asyncio.sleep(600)

            assert await bundles_of(world, ONE) == [new + old]
            assert await world.read(ONE) == shown

    run(scenario(), seed=1)
