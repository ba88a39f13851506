"""A certificate whose authority is kept beside it: filled, shared by replicas, renewed, trusted before it is served."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography import x509

from fairlead.engine.certificates import signing
from fairlead.engine.certificates.ca_injection import Injector
from fairlead.engine.certificates.kept_authority import AuthoritySecret, FromKeptAuthority
from fairlead.engine.certificates.pairs import is_trusted
from fairlead.engine.decide.ca_injection import TrustScope
from fairlead.engine.decide.kept_authority import Keep, fate_of
from fairlead.engine.options import KeptAuthority
from kubeloop import clock, request
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubeloop.objects.admissionregistration import MUTATING, VALIDATING
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, place_of
from kubesim.faults import Fault, Faulty
from kubesim.time import run
from tests.engine.webhooks.world import World

pytestmark = pytest.mark.usefixtures("few_keys")

NAMES = KeptAuthority("shop-ca", "shop")
SECRET = Ref(SECRETS, "test", "certificate")
DNS = "hooks.test.svc"
HOOKS = (Ref(MUTATING, "", "shop-mutating"), Ref(VALIDATING, "", "shop-validating"))
DAY = 86400.0
RECORDED = Path(__file__).parent / "recorded" / "cert_controller_secret.json"


class Silent:
    def failed(self, error: Exception) -> None: ...

    def restored(self) -> None: ...


def replica(world: World, client: Client | None = None) -> FromKeptAuthority:
    log, through = world.log.logger(), client or world.client
    stored = AuthoritySecret(through, SECRET, NAMES, DNS, log)
    served = TrustScope(None, (), "test", tuple(each.name for each in HOOKS))
    injector = Injector(through, served, log, Caches(through, lambda *_: Silent()), keeps=True)
    return FromKeptAuthority(stored, injector, Caches(through, lambda *_: Silent()), log)


@asynccontextmanager
async def running(*replicas: FromKeptAuthority) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(each.run()) for each in replicas]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def installed(entries: Mapping[str, bytes] | None = None) -> World:
    """A Secret, and configurations that trust nobody."""
    world = World()
    data = {key: b64encode(value).decode() for key, value in (entries or {}).items()}
    await world.create(SECRETS, {"metadata": {"name": SECRET.name, "labels": {"kept": "yes"}}, "data": data})
    for each in HOOKS:
        entry = {
            "name": "a.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"url": "https://example.com/admission"},
        }
        await world.create(each.resource, {"metadata": {"name": each.name}, "webhooks": [entry]}, "")
    return world


async def entries_of(world: World) -> dict[str, bytes]:
    tree = await world.read(SECRET)
    assert tree is not None
    assert tree["metadata"]["labels"] == {"kept": "yes"}
    return {key: b64decode(value) for key, value in tree.get("data", {}).items()}


async def bundles_of(world: World) -> list[bytes]:
    trees: list[dict[str, Any]] = [tree for each in HOOKS if (tree := await world.read(each)) is not None]
    return [b64decode(entry["clientConfig"].get("caBundle", "")) for tree in trees for entry in tree["webhooks"]]


async def overwrite(world: World, entries: Mapping[str, bytes]) -> None:
    tree = await world.read(SECRET)
    assert tree is not None
    tree["data"] = {key: b64encode(value).decode() for key, value in entries.items()}
    await world.client.call(request.replace(SECRET, msgspec.json.encode(tree)))


def made(now: datetime, authority: timedelta = timedelta(0), leaf: timedelta = timedelta(0)) -> dict[str, bytes]:
    """Authority and certificate that were made so long ago."""
    signer = signing.make_signer(NAMES, now - authority)
    return signing.entries_of(signer, signing.sign(signer, DNS, now - leaf))


def test_an_empty_secret_is_filled_and_its_authority_trusted_before_anything_is_served() -> None:
    async def scenario() -> None:
        world = await installed()

        shown = await replica(world).start()

        held = await entries_of(world)
        assert sorted(held) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
        assert (shown.pair.certificate, shown.pair.key) == (held["tls.crt"], held["tls.key"])
        assert await bundles_of(world) == [held["ca.crt"]] * 2
        authority, leaf = (x509.load_pem_x509_certificate(held[key]) for key in ("ca.crt", "tls.crt"))
        assert {each.rfc4514_string() for each in authority.subject} == {"CN=shop-ca", "O=shop"}
        assert authority.not_valid_after_utc - clock.now() > timedelta(days=3649)
        assert timedelta(days=364) < leaf.not_valid_after_utc - clock.now() <= timedelta(days=365)
        assert is_trusted(held["tls.crt"], held["ca.crt"])

    run(scenario(), seed=1)


def test_replicas_that_start_at_once_serve_the_same_and_a_later_one_writes_nothing() -> None:
    async def scenario() -> None:
        world = await installed()

        first, second = await asyncio.gather(replica(world).start(), replica(world).start())
        before = [await world.read(each) for each in (SECRET, *HOOKS)]
        third = await replica(world).start()

        assert first.pair == second.pair == third.pair
        assert [await world.read(each) for each in (SECRET, *HOOKS)] == before

    run(scenario(), seed=2)


def test_a_missing_secret_is_told_once_and_waited_for() -> None:
    async def scenario() -> None:
        world = await installed()
        await world.client.call(request.delete(SECRET))
        starting = asyncio.create_task(replica(world).start())
        await asyncio.sleep(600)

        (told,) = world.log.of("certificate not served yet")
        assert told["error"] == (
            "Secret certificate is missing in namespace test: create it empty, or install it again; the operator fills"
            " it and may not create it"
        )
        assert not starting.done()

        await world.create(SECRETS, {"metadata": {"name": SECRET.name}})
        assert (await starting).facts.names == (DNS,)

    run(scenario(), seed=3)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"ca.key": b""}, id="an authority without its key"),
        pytest.param({"tls.key": b""}, id="half a pair"),
        pytest.param({"tls.crt": b"no PEM"}, id="no certificate"),
        pytest.param({"ca.crt": b"no PEM"}, id="no authority"),
        pytest.param({"ca.key": b"-----BEGIN RSA PRIVATE KEY-----\n"}, id="a truncated key"),
    ],
)
def test_what_cannot_be_used_is_made_again(broken: dict[str, bytes]) -> None:
    async def scenario() -> None:
        before = made(clock.now())
        world = await installed({**before, **broken, "theirs": b"stays"})

        shown = await replica(world).start()

        held = await entries_of(world)
        assert held.pop("theirs") == b"stays"
        assert shown.pair == signing.pair_of(held)
        assert (held["ca.crt"] == before["ca.crt"]) is all(key.startswith("tls") for key in broken)
        assert await bundles_of(world) == [held["ca.crt"]] * 2

    run(scenario(), seed=4)


def test_a_certificate_that_ends_is_signed_again_and_nobody_needs_to_trust_anything_new() -> None:
    async def scenario() -> None:
        world = await installed(made(clock.now(), leaf=timedelta(days=274, hours=13)))
        one, two = replica(world), replica(world)
        first, second = await one.start(), await two.start()
        old, hooks = first.pair, [await world.read(each) for each in HOOKS]
        async with running(one, two):
            await asyncio.sleep(3600)
            assert first.pair == second.pair == old

            await asyncio.sleep(DAY)
            assert first.pair == second.pair != old
            assert first.pair.authority == old.authority
            assert [await world.read(each) for each in HOOKS] == hooks

    run(scenario(), seed=5)


def test_an_authority_that_ends_is_followed_by_another_and_stays_trusted_beside_it() -> None:
    async def scenario() -> None:
        world = await installed(made(clock.now(), authority=timedelta(days=3559, hours=13)))
        one, two = replica(world), replica(world)
        first, second = await one.start(), await two.start()
        old = first.pair
        async with running(one, two):
            await asyncio.sleep(DAY)

            assert first.pair == second.pair != old
            assert first.pair.authority != old.authority
            for bundle in await bundles_of(world):
                assert is_trusted(first.pair.certificate, bundle)
                assert is_trusted(old.certificate, bundle)

            await asyncio.sleep(2 * DAY)
            assert await bundles_of(world) == [first.pair.authority] * 2, "every replica has served it for long"
        before = [await world.read(each) for each in (SECRET, *HOOKS)]
        await replica(world).start()
        assert [await world.read(each) for each in (SECRET, *HOOKS)] == before

    run(scenario(), seed=6)


def test_what_somebody_puts_into_the_secret_is_served_at_once() -> None:
    async def scenario() -> None:
        world = await installed()
        one = replica(world)
        shown = await one.start()
        async with running(one):
            await asyncio.sleep(60)
            theirs = made(clock.now())
            await overwrite(world, theirs)
            await asyncio.sleep(15)

            assert shown.pair == signing.pair_of(theirs)
            assert all(is_trusted(theirs["tls.crt"], bundle) for bundle in await bundles_of(world))

    run(scenario(), seed=7)


def test_nothing_is_served_that_configurations_do_not_trust() -> None:
    """The one before goes on being served while they cannot be written."""

    async def scenario() -> None:
        world = await installed()
        refuses = False

        def refuse(request: Request, _: int) -> Fault | None:
            is_hook = "webhookconfigurations" in request.path
            return Fault("status", status=403) if refuses and is_hook and request.verb == "update" else None

        one = replica(world, Client(Faulty(world.cluster.transport(), refuse)))
        shown = await one.start()
        old = shown.pair
        async with running(one):
            await asyncio.sleep(60)
            refuses = True
            theirs = made(clock.now())
            await overwrite(world, theirs)
            await asyncio.sleep(150)
            assert shown.pair == old

            refuses = False
            await asyncio.sleep(120)
            assert shown.pair == signing.pair_of(theirs)

    run(scenario(), seed=8)


def test_only_what_the_role_grants_is_asked_for() -> None:
    """Secrets and configurations are read, watched and replaced, never created or patched."""

    async def scenario() -> None:
        world = await installed(made(clock.now(), leaf=timedelta(days=274, hours=13)))
        verbs: dict[str, set[str]] = {}

        def keep(sent: Request, _: int) -> None:
            verbs.setdefault(place_of(sent.path).plural, set()).add(sent.verb)

        one = replica(world, Client(Faulty(world.cluster.transport(), keep)))
        await one.start()
        async with running(one):
            await asyncio.sleep(DAY)

        assert verbs == {
            "secrets": {"get", "list", "watch", "update"},
            "mutatingwebhookconfigurations": {"get", "list", "watch", "update"},
            "validatingwebhookconfigurations": {"get", "list", "watch", "update"},
        }

    run(scenario(), seed=9)


def test_what_cert_controller_has_stored_is_used_as_it_is() -> None:
    names = KeptAuthority("lws-ca", "lws")
    entries = {key: value.encode() for key, value in json.loads(RECORDED.read_text()).items()}
    authority = signing.worth_of_signer(signing.signer_of(entries), names)
    certificate = signing.worth_of_pair(signing.pair_of(entries), "lws-webhook-service.lws-system.svc")

    assert fate_of(authority, certificate, datetime(2030, 1, 2, tzinfo=UTC)) == Keep()

    signed = signing.sign(signing.signer_of(entries), "other.svc", datetime(2030, 9, 1, tzinfo=UTC))
    assert signing.worth_of_pair(signed, "other.svc").problem == ""
    assert signing.worth_of_signer(signing.signer_of(entries), KeptAuthority("other", "lws")).problem == "is not other"
