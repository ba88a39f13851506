"""The Secret of the self-signed certificate: made once, used by all, repaired by nobody but its owner."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509

from fairlead.contracts.zones.kinds import OWN_LABELS
from fairlead.engine.certificates.pairs import CertificateRequest, Pair
from fairlead.engine.certificates.stored_secret import StoredCertificate
from fairlead.engine.certificates.trouble import CertificateTrouble
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.request import Request, Response, Transport
from kubesim.time import run
from tests.engine.webhooks.world import DAY, NAME, SECRET, World, make_small


def play(scenario: Coroutine[Any, Any, None], seed: int = 0) -> None:
    run(scenario, seed=seed)


def names_of(pair: Pair) -> list[str]:
    found = x509.load_pem_x509_certificate(pair.certificate)
    return found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)


def test_without_a_secret_one_is_made_and_found_again_byte_for_byte() -> None:
    async def scenario() -> None:
        world = World()

        made = await world.stored().obtain()
        again = await world.stored().obtain()

        assert again == made
        secret = await world.read(SECRET)
        assert secret is not None
        assert secret["type"] == "Opaque"
        assert {key: b64decode(value) for key, value in secret["data"].items()} == made.entries()

    play(scenario())


def test_an_empty_secret_is_filled_and_keeps_its_labels() -> None:
    async def scenario() -> None:
        world = World()
        await world.fill()

        made = await world.stored().obtain()

        secret = await world.read(SECRET)
        assert secret is not None
        assert b64decode(secret["data"]["cert"]) == made.certificate
        assert secret["metadata"]["labels"] == {"kept": "yes"}

    play(scenario())


def test_an_expired_certificate_is_replaced() -> None:
    async def scenario() -> None:
        world = World()
        first = await world.stored(lifetime=DAY).obtain()
        await asyncio.sleep(DAY.total_seconds() + 1)

        second = await world.stored().obtain()

        assert second.certificate != first.certificate
        assert x509.load_pem_x509_certificate(second.certificate).not_valid_after_utc > clock.now()

    play(scenario())


def test_h_11_a_certificate_for_another_name_is_replaced() -> None:
    async def scenario() -> None:
        world = World()
        await world.stored("old-name.test.svc").obtain()

        assert names_of(await world.stored(NAME).obtain()) == [NAME]

    play(scenario())


@pytest.mark.parametrize("lacking", ["ca", "cert", "key"])
def test_c4_a_secret_with_a_missing_entry_is_refused_and_left_alone(lacking: str) -> None:
    async def scenario() -> None:
        world = World()
        entries = make_small(CertificateRequest(NAME, "org", DAY, "rollout-operator"), clock.now()).entries()
        del entries[lacking]
        await world.fill(**entries)
        before = await world.read(SECRET)

        with pytest.raises(CertificateTrouble, match=f"has no {lacking}: repair it, or delete it"):
            await world.stored().obtain()

        assert await world.read(SECRET) == before

    play(scenario())


@pytest.mark.parametrize("seed", range(5))
def test_e_26_two_processes_that_start_at_once_serve_the_same_certificate(seed: int) -> None:
    async def scenario() -> None:
        world = World(seed)

        first, second = await asyncio.gather(world.stored().obtain(), world.stored().obtain())

        assert first == second

    play(scenario(), seed)


class Late:
    """A transport on which a creation arrives after something else has happened."""

    def __init__(self, inner: Transport, before: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._inner = inner
        self._before = before
        self.stream = inner.stream

    async def send(self, request: Request) -> Response:
        if request.method == "POST":
            await self._before()
        return await self._inner.send(request)


def test_c2_what_another_process_stored_first_is_refused_when_it_cannot_be_used() -> None:
    async def scenario() -> None:
        world = World()
        late = Client(Late(world.cluster.transport(), lambda: world.fill(cert=b"nonsense")))
        wanted = CertificateRequest(NAME, "org", DAY, "rollout-operator")
        store = StoredCertificate(late, SECRET, wanted, world.log.logger(), make_small, labels=OWN_LABELS)

        with pytest.raises(CertificateTrouble, match="written by somebody else meanwhile"):
            await store.obtain()

    play(scenario())


def test_a_renewal_is_trusted_beside_the_certificate_before_it() -> None:
    async def scenario() -> None:
        world = World()
        store = world.stored(lifetime=timedelta(days=30))
        old = await store.obtain()

        new = await store.renewed(old)
        other_replica = await world.stored(lifetime=timedelta(days=30)).renewed(old)

        assert new.certificate != old.certificate
        assert new.authority.endswith(old.authority)
        assert other_replica == new

    play(scenario())
