"""A certificate and its authority from files, published before it is served (environments section 3.15)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.authority import AuthorityFiles, FromAuthority, Publication
from fairlead.engine.certificates.pairs import Pair
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.certificates.trouble import CertificateTrouble
from fairlead.engine.conversion.health import alive, healthy
from fairlead.engine.conversion.review import ConversionRule, Rules, Tree
from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubesim.pki import Authority
from kubesim.time import run
from tests.engine.webhooks.conversions import NEW, OLD, RULES, Unfit
from tests.engine.world import Log

INTERVAL = 3600.0
NAME = "hook.operator.svc"
CRD = "widgets.shop.example.com"
FIRST, SECOND, THIRD = Authority(), Authority(), Authority()


class Replica:
    """Certificate files, what is served, and a definition that the test writes."""

    def __init__(self, folder: Path) -> None:
        self.log = Log()
        self.files = AuthorityFiles(folder / "tls.crt", folder / "tls.key", folder / "ca.crt")
        self.publication = Publication(INTERVAL)
        self.certificates = FromAuthority(self.files, self.publication, INTERVAL, self.log.logger(), name=NAME)
        self.told = 0
        self.publication.subscribe(self._tell)

    def write(self, authority: Authority, *, bundle: bytes = b"", name: str = NAME) -> Pair:
        pair = authority.server((name,))
        self.files.certificate.write_bytes(pair.certificate)
        self.files.key.write_bytes(pair.key)
        self.files.authority.write_bytes(bundle or authority.certificate)
        return Pair(pair.certificate, pair.key, bundle or authority.certificate)

    def publish(self) -> bytes:
        """As the replica that leads does."""
        bundle = self.publication.wanted()
        self.publication.saw(CRD, bundle)
        return bundle

    def _tell(self) -> None:
        self.told += 1


Scenario = Callable[[Replica], Awaitable[None]]


def played(folder: Path, scenario: Scenario) -> None:
    async def play() -> None:
        await scenario(Replica(folder))

    run(play(), seed=0)


async def started(replica: Replica, authority: Authority = FIRST) -> Credentials:
    replica.write(authority)
    return await replica.certificates.start()


async def running(replica: Replica) -> asyncio.Task[None]:
    return asyncio.create_task(replica.certificates.run())


def test_the_bundle_is_the_authority_file_as_it_is(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        bundle = b"# ours\n" + FIRST.certificate
        pair = replica.write(FIRST, bundle=bundle)

        credentials = await replica.certificates.start()

        assert credentials.pair == pair
        assert replica.publication.wanted() == bundle
        assert replica.publication.next_change() is None

    played(tmp_path, scenario)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda files: files.certificate.unlink(), "No such file"),
        (lambda files: files.key.unlink(), "No such file"),
        (lambda files: files.authority.unlink(), "No such file"),
        (lambda files: files.certificate.write_bytes(b"half"), "cannot be read"),
        (lambda files: files.key.write_bytes(FIRST.server((NAME,)).key), "do not belong together"),
        (lambda files: files.authority.write_bytes(b""), "holds no certificate"),
        (lambda files: files.authority.write_bytes(SECOND.certificate), "did not issue"),
    ],
)
def test_nothing_starts_without_files_that_fit_together(
    tmp_path: Path, spoil: Callable[[AuthorityFiles], None], why: str
) -> None:
    async def scenario(replica: Replica) -> None:
        replica.write(FIRST)
        spoil(replica.files)

        with pytest.raises(CertificateTrouble, match=why):
            await replica.certificates.start()

    played(tmp_path, scenario)


@pytest.mark.parametrize(
    ("made", "why"),
    [(datetime(2028, 1, 1, tzinfo=UTC), "has expired"), (datetime(2031, 1, 1, tzinfo=UTC), "not valid before")],
)
def test_nothing_starts_with_a_certificate_that_is_not_valid_now(tmp_path: Path, made: datetime, why: str) -> None:
    pair = pairs.make(pairs.CertificateRequest(NAME, "o", timedelta(days=30), "rollout-operator"), made, key_size=2048)

    async def scenario(replica: Replica) -> None:
        replica.files.certificate.write_bytes(pair.certificate)
        replica.files.key.write_bytes(pair.key)
        replica.files.authority.write_bytes(pair.authority)

        with pytest.raises(CertificateTrouble, match=why):
            await replica.certificates.start()

    played(tmp_path, scenario)


def test_a_certificate_of_the_same_authority_is_served_at_the_next_look_and_nothing_is_published(
    tmp_path: Path,
) -> None:
    async def scenario(replica: Replica) -> None:
        credentials = await started(replica)
        before = replica.publish()
        task = await running(replica)

        pair = replica.write(FIRST)
        await asyncio.sleep(INTERVAL + 0.1)

        assert credentials.pair == pair
        assert replica.publication.wanted() == before
        task.cancel()

    played(tmp_path, scenario)


def test_a_certificate_of_another_authority_waits_until_that_is_published(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        credentials = await started(replica)
        old = credentials.pair
        replica.publish()
        task = await running(replica)

        pair = replica.write(SECOND)
        await asyncio.sleep(1.5 * INTERVAL)

        assert credentials.pair == old
        assert replica.publication.wanted() == SECOND.certificate + FIRST.certificate

        replica.publish()
        await asyncio.sleep(9)
        assert credentials.pair == old  # API servers hear of it by a watch
        await asyncio.sleep(2)
        assert credentials.pair == pair
        task.cancel()

    played(tmp_path, scenario)


def test_the_old_authority_is_dropped_two_intervals_after_the_last_use(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        await started(replica)
        replica.publish()
        task = await running(replica)
        replica.write(SECOND)
        await asyncio.sleep(INTERVAL)
        told = replica.told
        replica.publish()
        await asyncio.sleep(11)

        assert replica.told > told  # whoever publishes looks when the time has come
        left = replica.publication.next_change()
        assert left is not None
        assert 2 * INTERVAL - 12 < left <= 2 * INTERVAL
        await asyncio.sleep(left - 1)
        assert replica.publication.wanted() == SECOND.certificate + FIRST.certificate
        await asyncio.sleep(1)
        assert replica.publication.wanted() == SECOND.certificate
        task.cancel()

    played(tmp_path, scenario)


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_the_old_authority_stays_as_long_where_the_clock_is_set_meanwhile(tmp_path: Path, jump: float) -> None:
    """Another replica may still show its certificate."""

    async def scenario(replica: Replica) -> None:
        await started(replica)
        replica.publish()
        task = await running(replica)
        replica.write(SECOND)
        await asyncio.sleep(INTERVAL)
        replica.publish()
        await asyncio.sleep(11)
        asyncio.get_running_loop().jump(jump)  # type: ignore[attr-defined]

        left = replica.publication.next_change()
        assert left is not None
        assert 2 * INTERVAL - 12 < left <= 2 * INTERVAL
        await asyncio.sleep(left - 1)
        assert replica.publication.wanted() == SECOND.certificate + FIRST.certificate
        await asyncio.sleep(1)
        assert replica.publication.wanted() == SECOND.certificate
        task.cancel()

    played(tmp_path, scenario)


def test_the_authority_of_what_is_served_stays_however_long_the_new_one_waits(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        await started(replica)
        replica.publish()
        task = await running(replica)
        replica.write(SECOND)

        await asyncio.sleep(50 * INTERVAL)

        assert replica.publication.wanted() == SECOND.certificate + FIRST.certificate
        assert replica.log.of("certificate not served yet")
        task.cancel()

    played(tmp_path, scenario)


def test_what_a_definition_already_trusts_stays_for_two_intervals_after_a_start(tmp_path: Path) -> None:
    """Another replica may still show a certificate of it."""

    async def scenario(replica: Replica) -> None:
        await started(replica, SECOND)
        replica.publication.saw(CRD, SECOND.certificate + FIRST.certificate)

        assert replica.publication.wanted() == SECOND.certificate + FIRST.certificate
        await asyncio.sleep(2 * INTERVAL)
        assert replica.publication.wanted() == SECOND.certificate

    played(tmp_path, scenario)


def test_broken_files_leave_what_is_served_and_are_read_again(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        credentials = await started(replica)
        old, task = credentials.pair, await running(replica)

        replica.files.key.write_bytes(b"half")
        await asyncio.sleep(INTERVAL + 10)
        assert credentials.pair == old
        pair = replica.write(FIRST)
        await asyncio.sleep(2)  # much sooner than the next look

        assert credentials.pair == pair
        assert len(replica.log.of("certificate files not usable")) == 1
        task.cancel()

    played(tmp_path, scenario)


def test_a_new_authority_beside_the_old_certificate_is_published_early(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        credentials = await started(replica)
        old, task = credentials.pair.certificate, await running(replica)

        replica.files.authority.write_bytes(SECOND.certificate)
        await asyncio.sleep(INTERVAL + 1)

        assert replica.publication.wanted() == SECOND.certificate + FIRST.certificate
        assert credentials.pair.certificate == old
        task.cancel()

    played(tmp_path, scenario)


def test_a_certificate_for_another_name_does_not_follow_one_for_the_right_name(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        credentials = await started(replica)
        old, task = credentials.pair, await running(replica)

        replica.write(FIRST, name="other.operator.svc")
        await asyncio.sleep(INTERVAL + 1)
        assert credentials.pair == old

        pair = replica.write(FIRST, name="*.operator.svc")
        await asyncio.sleep(INTERVAL + 1)
        assert credentials.pair == pair
        task.cancel()

    played(tmp_path, scenario)


def test_after_its_end_anything_is_better_than_the_old_certificate(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        short = pairs.make(
            pairs.CertificateRequest(NAME, "o", timedelta(hours=5), "rollout-operator"), clock.now(), key_size=2048
        )
        replica.files.certificate.write_bytes(short.certificate)
        replica.files.key.write_bytes(short.key)
        replica.files.authority.write_bytes(short.authority)
        credentials = await replica.certificates.start()
        replica.publish()
        task = await running(replica)

        pair = replica.write(SECOND)
        await asyncio.sleep(4 * INTERVAL)
        assert credentials.pair == short  # nobody publishes the new authority
        await asyncio.sleep(4 * INTERVAL)

        assert credentials.pair == pair
        task.cancel()

    played(tmp_path, scenario)


def test_a_bundle_is_enough_when_it_holds_what_is_wanted_and_nothing_else() -> None:
    async def scenario() -> None:
        old = pairs.make(
            pairs.CertificateRequest(NAME, "o", timedelta(hours=1), "rollout-operator"), clock.now(), key_size=2048
        ).authority
        publication = Publication(INTERVAL)
        one, two = FIRST.certificate, SECOND.certificate

        assert publication.is_enough(one, one)
        assert publication.is_enough(one, b"\n" + one + b"# same\n")
        assert publication.is_enough(one + two, two + one)
        assert not publication.is_enough(one, b"")
        assert not publication.is_enough(one, b"\n")
        assert not publication.is_enough(one, two)
        assert not publication.is_enough(one + two, one)
        assert not publication.is_enough(one, one + two)
        assert not publication.is_enough(one, one + old)
        await asyncio.sleep(INTERVAL + 1)
        assert publication.is_enough(one, one + old)  # it has expired, which alone is no reason to write

    run(scenario(), seed=0)


def test_three_authorities_in_a_row_are_trusted_together(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        await started(replica)
        replica.publish()
        task = await running(replica)
        for authority in (SECOND, THIRD):
            replica.write(authority)
            await asyncio.sleep(INTERVAL)
            replica.publish()
            await asyncio.sleep(11)

        assert set(pairs.authorities(replica.publication.wanted())) == set(
            pairs.authorities(FIRST.certificate + SECOND.certificate + THIRD.certificate)
        )
        task.cancel()

    played(tmp_path, scenario)


async def _probe(credentials: Credentials, publication: Publication, rules: Rules = RULES) -> Reply:
    return await healthy(credentials, publication, rules)(Call(method="GET", url="/healthz"))


def test_a_replica_is_healthy_while_its_conversion_works(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        credentials = await started(replica)

        assert await _probe(credentials, replica.publication) == Reply(200)  # nothing is published yet
        replica.publish()
        assert await _probe(credentials, replica.publication) == Reply(200)

    played(tmp_path, scenario)


def test_a_replica_that_no_definition_trusts_yet_is_not_healthy(tmp_path: Path) -> None:
    async def scenario(replica: Replica) -> None:
        credentials = await started(replica, SECOND)
        replica.publication.saw(CRD, FIRST.certificate)

        refused = await _probe(credentials, replica.publication)
        assert (refused.status, b"caBundle" in refused.body) == (503, True)
        assert (await alive()(Call(method="GET", url="/livez"))).status == 200
        replica.publication.saw(CRD, None)  # the definition is gone, or names no webhook
        assert (await _probe(credentials, replica.publication)).status == 200

    played(tmp_path, scenario)


def test_a_replica_whose_certificate_has_ended_is_not_healthy() -> None:
    async def scenario() -> None:
        short = pairs.make(
            pairs.CertificateRequest(NAME, "o", timedelta(hours=1), "rollout-operator"), clock.now(), key_size=2048
        )
        credentials, publication = Credentials(short), Publication(INTERVAL)
        assert (await _probe(credentials, publication)).status == 200

        await asyncio.sleep(INTERVAL)

        refused = await _probe(credentials, publication)
        assert (refused.status, b"renew it" in refused.body) == (503, True)

    run(scenario(), seed=0)


def test_a_replica_whose_rules_do_not_work_is_not_healthy(tmp_path: Path) -> None:
    def broken(tree: Tree, desired: str) -> Tree:
        raise KeyError(desired)

    async def scenario(replica: Replica) -> None:
        credentials = await started(replica)

        refused = await _probe(credentials, replica.publication, (ConversionRule("Widget", (OLD, NEW), broken, Unfit),))

        assert (refused.status, b"test object" in refused.body) == (503, True)

    played(tmp_path, scenario)
