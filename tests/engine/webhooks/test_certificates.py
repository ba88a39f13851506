"""The certificate that is served: it ends the process at its expiry, or is renewed long before, as one chooses."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64decode
from datetime import timedelta
from pathlib import Path

import pytest

from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.pairs import CertificateRequest, Pair
from fairlead.engine.certificates.served import LONGEST_SLEEP, CertificateFiles, Credentials, FromFiles, SelfSigned
from fairlead.engine.certificates.trouble import CertificateTrouble
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.request import Request
from kubesim.faults import Fault, Faulty
from kubesim.time import run
from tests.engine.webhooks.test_injecting import ONE, TWO, bundles_of, configure, injector_of
from tests.engine.webhooks.world import DAY, NAME, SECRET, World, a_pair_of_others, make_small

pytestmark = pytest.mark.usefixtures("few_keys")

HOUR = timedelta(hours=1)


async def shown_by(served: Credentials, authority: bytes) -> bytes:
    """What a client that trusts this authority alone is shown in a new connection; through memory, without a socket."""
    trusting = ssl.create_default_context(cadata=authority.decode())
    into_server, into_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = served.context.wrap_bio(into_server, into_client, server_side=True)
    client = trusting.wrap_bio(into_client, into_server, server_hostname=NAME)
    for _ in range(10):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
        if client.version() and client.getpeercert(binary_form=True):
            break
    shown = client.getpeercert(binary_form=True)
    assert shown is not None
    return ssl.DER_cert_to_PEM_cert(shown).encode()


def test_32_the_process_is_to_end_at_the_moment_of_expiry() -> None:
    """C6 and C7."""

    async def scenario() -> None:
        world = World()
        kept = SelfSigned(world.stored(lifetime=timedelta(seconds=20)), None, world.log.logger(), renews=False)
        begun = clock.now()
        await kept.start()

        await kept.run()

        assert clock.now() - begun == timedelta(seconds=20)
        assert world.log.of("certificate expired")

    run(scenario())


def test_a_renewed_certificate_is_trusted_everywhere_ten_seconds_before_it_is_served() -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        await configure(world, TWO)
        kept = SelfSigned(world.stored(lifetime=30 * DAY), injector_of(world), world.log.logger(), renews=True)
        served = await kept.start()
        first = served.pair
        task = asyncio.create_task(kept.run())

        # Two thirds of 30 days and the five minutes by which it is backdated end 100 seconds before day 20.
        await asyncio.sleep(20 * DAY.total_seconds() - 100 + 5)
        between = await bundles_of(world, ONE), await bundles_of(world, TWO)
        still = served.pair
        await asyncio.sleep(10)

        assert still == first
        assert served.pair != first
        assert between == ([served.pair.authority], [served.pair.authority])
        assert served.pair.authority.endswith(first.authority)
        task.cancel()

    run(scenario())


def test_a_certificate_that_is_not_valid_yet_by_a_clock_that_was_set_back_is_renewed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was made while the clock was ahead: nobody whose clock is right accepts it for a day."""

    async def scenario() -> None:
        world, now = World(), clock.now
        await configure(world, ONE)
        kept = SelfSigned(world.stored(lifetime=30 * DAY), injector_of(world), world.log.logger(), renews=True)
        served = await kept.start()
        first = served.pair
        task = asyncio.create_task(kept.run())
        await asyncio.sleep(1)
        assert served.pair == first

        monkeypatch.setattr(clock, "now", lambda: now() - DAY)
        await asyncio.sleep(LONGEST_SLEEP + 15)
        assert served.facts.not_before is not None
        assert served.facts.not_before <= clock.now()
        assert await bundles_of(world, ONE) == [served.pair.authority]
        assert served.pair.authority.endswith(first.authority), "other replicas may show the one before"

        second = served.pair
        await asyncio.sleep(DAY.total_seconds())
        assert served.pair == second
        task.cancel()

    run(scenario())


def test_l5_a_certificate_that_a_clock_ahead_made_ends_the_process_and_is_made_anew_at_the_next_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No API server whose clock is right trusts it for a month, and until then all that webhooks judge is refused."""

    async def scenario() -> None:
        world, now = World(), clock.now
        await configure(world, ONE)
        kept = SelfSigned(world.stored(lifetime=360 * DAY), injector_of(world), world.log.logger(), renews=False)
        first = (await kept.start()).pair
        task = asyncio.create_task(kept.run())
        await asyncio.sleep(1)

        monkeypatch.setattr(clock, "now", lambda: now() - 30 * DAY)
        await asyncio.sleep(LONGEST_SLEEP + 1)
        assert task.done(), "the process is to be started anew"
        again = SelfSigned(world.stored(lifetime=360 * DAY), injector_of(world), world.log.logger(), renews=False)
        served = await again.start()

        assert world.log.of("certificate not valid yet")
        assert served.pair != first
        assert served.facts.not_before is not None
        assert served.facts.not_before <= clock.now()
        assert await bundles_of(world, ONE) == [served.pair.authority]

    run(scenario())


def test_a_certificate_of_others_that_is_not_valid_yet_ends_no_process_and_is_not_replaced() -> None:
    async def scenario() -> None:
        world = World()
        theirs = a_pair_of_others(NAME, clock.now() + DAY, 30 * DAY)
        await world.fill(**theirs.entries())
        kept = SelfSigned(world.stored(), None, world.log.logger(), renews=False)

        served = await kept.start()
        task = asyncio.create_task(kept.run())
        await asyncio.sleep(2 * LONGEST_SLEEP)

        assert served.pair == theirs
        assert not task.done()
        task.cancel()

    run(scenario())


class Hindered:
    """An API server that refuses some requests for webhook configurations while `on`."""

    def __init__(self, world: World, verb: str, status: int) -> None:
        self.on = False

        def refuse(sent: Request, _: int) -> Fault | None:
            refused = self.on and sent.verb == verb and "webhookconfigurations" in sent.path
            return Fault("status", status=status) if refused else None

        self.client = Client(Faulty(world.cluster.transport(), refuse))


@pytest.mark.parametrize(("verb", "status"), [("patch", 403), ("patch", 503), ("list", 403), ("list", 503)])
def test_l6_a_renewed_certificate_is_not_served_before_every_configuration_trusts_it(verb: str, status: int) -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        await configure(world, TWO)
        hindered = Hindered(world, verb, status)
        injector = injector_of(world, hindered.client)
        kept = SelfSigned(world.stored(lifetime=6 * HOUR), injector, world.log.logger(), renews=True)
        served = await kept.start()
        first = served.pair
        task = asyncio.create_task(kept.run())

        hindered.on = True
        await asyncio.sleep(4.2 * 3600)
        still = served.pair
        said = world.log.of("certificate not served yet")
        hindered.on = False
        await asyncio.sleep(600)

        assert still == first
        assert said
        assert served.pair != first
        assert await bundles_of(world, ONE) == await bundles_of(world, TWO) == [served.pair.authority]
        assert not world.log.of("certificate served untrusted")
        task.cancel()

    run(scenario())


def test_a_certificate_that_ends_gives_way_to_one_that_is_not_trusted_ten_minutes_before() -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        hindered = Hindered(world, "patch", 403)
        injector = injector_of(world, hindered.client)
        kept = SelfSigned(world.stored(lifetime=6 * HOUR), injector, world.log.logger(), renews=True)
        served = await kept.start()
        first = served.pair
        task = asyncio.create_task(kept.run())

        hindered.on = True
        await asyncio.sleep(6 * 3600 - 605)
        before = served.pair
        await asyncio.sleep(10)

        assert before == first
        assert served.pair != first
        assert world.log.of("certificate served untrusted")
        task.cancel()

    run(scenario())


def test_h_6_a_missing_right_to_change_configurations_does_not_keep_it_from_starting() -> None:
    async def scenario() -> None:
        world = World()
        await configure(world, ONE)
        hindered = Hindered(world, "list", 403)
        hindered.on = True
        injector = injector_of(world, hindered.client)

        served = await SelfSigned(world.stored(), injector, world.log.logger(), renews=True).start()

        assert served.facts.problem == ""
        assert world.log.of("webhook configurations not updated")

    run(scenario())


def test_a_certificate_of_others_is_not_renewed_but_followed_and_its_end_warned_of() -> None:
    async def scenario() -> None:
        world = World()
        mine, next_one = (a_foreign_pair(hours) for hours in (6, 12))
        await world.fill(**mine.entries())
        kept = SelfSigned(world.stored(), None, world.log.logger(), renews=True)
        served = await kept.start()
        task = asyncio.create_task(kept.run())

        await asyncio.sleep(3.9 * 3600)
        early = len(world.log.of("certificate ends soon"))
        await asyncio.sleep(1.5 * 3600)
        late = len(world.log.of("certificate ends soon"))
        secret = await world.read(SECRET)
        await world.client.call(request.delete(SECRET))
        await world.fill(**next_one.entries())
        await asyncio.sleep(75)

        assert (early, late) == (0, 1)
        assert secret is not None
        assert b64decode(secret["data"]["cert"]) == mine.certificate
        assert served.pair == next_one
        task.cancel()

    run(scenario())


def test_a_certificate_of_others_that_expires_is_replaced() -> None:
    async def scenario() -> None:
        world = World()
        mine = a_foreign_pair(6)
        await world.fill(**mine.entries())
        kept = SelfSigned(world.stored(lifetime=6 * HOUR), None, world.log.logger(), renews=True)
        served = await kept.start()
        task = asyncio.create_task(kept.run())

        await asyncio.sleep(6 * 3600 + 75)

        assert served.pair != mine
        assert served.facts.by_contract
        task.cancel()

    run(scenario())


def a_foreign_pair(hours: int) -> Pair:
    """As somebody makes it who has not read the contract: other serial numbers."""
    return a_pair_of_others(NAME, clock.now(), hours * HOUR)


def test_a_failed_renewal_is_tried_again_and_the_old_certificate_served_meanwhile() -> None:
    async def scenario() -> None:
        world = World()
        kept = SelfSigned(world.stored(lifetime=30 * DAY), None, world.log.logger(), renews=True)
        served = await kept.start()
        first = served.pair
        task = asyncio.create_task(kept.run())
        await world.client.call(request.delete(SECRET))
        await world.fill(cert=b"nonsense")
        await asyncio.sleep(20 * DAY.total_seconds())
        failed = len(world.log.of("certificate not renewed"))
        still = served.pair

        await world.client.call(request.delete(SECRET))
        await asyncio.sleep(120)

        assert failed >= 1
        assert still == first
        assert served.pair != first
        task.cancel()

    run(scenario())


def test_new_connections_are_shown_the_certificate_of_the_last_swap() -> None:
    async def scenario() -> None:
        old, new = (
            make_small(
                CertificateRequest(NAME, "org", 100 * 365 * DAY, "rollout-operator"), clock.now() - 365 * 10 * DAY
            )
            for _ in range(2)
        )
        served = Credentials(old)

        before = await shown_by(served, old.authority)
        served.swap(new)

        assert before == old.certificate
        assert await shown_by(served, new.authority) == new.certificate
        with pytest.raises(ssl.SSLCertVerificationError):
            await shown_by(served, old.authority)

    run(scenario())


def write(folder: Path, pair: Pair) -> CertificateFiles:
    files = CertificateFiles(folder / "tls.crt", folder / "tls.key")
    files.certificate.write_bytes(pair.certificate)
    files.key.write_bytes(pair.key)
    return files


def test_f1_files_are_read_once_and_end_the_process_when_they_expire(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World()
        files = write(tmp_path, make_small(CertificateRequest(NAME, "org", DAY, "rollout-operator"), clock.now()))
        kept = FromFiles(files, world.log.logger(), follows=False)
        begun = clock.now()
        await kept.start()

        await kept.run()

        assert clock.now() - begun == DAY

    run(scenario())


def test_files_that_change_are_served_once_they_belong_together(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World()
        old, new = (
            make_small(CertificateRequest(NAME, "org", days * DAY, "rollout-operator"), clock.now()) for days in (1, 2)
        )
        files = write(tmp_path, old)
        kept = FromFiles(files, world.log.logger(), follows=True)
        served = await kept.start()
        task = asyncio.create_task(kept.run())

        files.certificate.write_bytes(new.certificate)
        await asyncio.sleep(100)
        half = served.pair.certificate
        files.key.write_bytes(new.key)
        await asyncio.sleep(31)

        assert half == old.certificate
        assert served.pair.certificate == new.certificate
        assert len(world.log.of("certificate files not usable")) == 1
        task.cancel()

    run(scenario())


@pytest.mark.parametrize(
    ("certificate", "sentence"),
    [
        pytest.param(None, "No such file or directory; name a file that can be read", id="no file"),
        pytest.param(b"nonsense", "cannot be read .*: give a PEM certificate with its PEM key", id="no certificate"),
    ],
)
def test_files_that_cannot_be_used_keep_it_from_starting(
    tmp_path: Path, certificate: bytes | None, sentence: str
) -> None:
    async def scenario() -> None:
        files = write(tmp_path, make_small(CertificateRequest(NAME, "org", DAY, "rollout-operator"), clock.now()))
        files.certificate.unlink()
        if certificate is not None:
            files.certificate.write_bytes(certificate)

        with pytest.raises(CertificateTrouble, match=sentence):
            await FromFiles(files, World().log.logger(), follows=False).start()

    run(scenario())


def test_files_with_a_key_that_tls_refuses_keep_it_from_starting_and_do_not_replace_usable_ones(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World()
        weak = pairs.make(CertificateRequest(NAME, "org", DAY, "rollout-operator"), clock.now(), key_size=1024)
        good = make_small(CertificateRequest(NAME, "org", DAY, "rollout-operator"), clock.now())
        kept = FromFiles(write(tmp_path, good), world.log.logger(), follows=True)
        served = await kept.start()
        task = asyncio.create_task(kept.run())

        files = write(tmp_path, weak)
        await asyncio.sleep(100)

        assert not task.done()
        assert served.pair.certificate == good.certificate
        assert "EE_KEY_TOO_SMALL" in world.log.of("certificate files not usable")[0]["error"]
        task.cancel()
        with pytest.raises(CertificateTrouble, match="TLS refuses"):
            await FromFiles(files, world.log.logger(), follows=True).start()

    run(scenario())


def test_a_secret_with_a_key_that_tls_refuses_keeps_it_from_starting() -> None:
    async def scenario() -> None:
        world = World()
        await world.fill(
            **pairs.make(CertificateRequest(NAME, "org", DAY, "rollout-operator"), clock.now(), key_size=1024).entries()
        )

        with pytest.raises(CertificateTrouble, match=r"Secret certificate .* TLS refuses .*: repair it, or delete it"):
            await SelfSigned(world.stored(), None, world.log.logger(), renews=True).start()

    run(scenario())


def test_files_that_have_expired_keep_it_from_starting(tmp_path: Path) -> None:
    async def scenario() -> None:
        files = write(
            tmp_path, make_small(CertificateRequest(NAME, "org", DAY, "rollout-operator"), clock.now() - 2 * DAY)
        )

        with pytest.raises(CertificateTrouble, match=r"has expired on .*: renew it"):
            await FromFiles(files, World().log.logger(), follows=False).start()

    run(scenario())
