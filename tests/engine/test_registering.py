"""Definitions in virtual time: how long a start waits for them, and what a watch has repaired."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from fairlead.core.act import EventNote
from fairlead.core.replay import DecidedRound
from fairlead.engine.certificates.authority import Publication
from fairlead.engine.certificates.pairs import Pair
from fairlead.engine.controller import RolloutKey
from fairlead.engine.decide.registration import DEFINITIONS, ConversionWebhook, Tree
from fairlead.engine.kinds.registration import Registration, RegistrationFailed
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import NotLeader
from kubeloop.objects.meta import Ref
from kubeloop.request import APPLY, Request, Response, place_of
from kubesim.pki import Authority
from kubesim.time import run
from tests.engine.alone import caches_of, decided_again, rounds_of
from tests.engine.definition_server import NAME, YES, DefinitionServer, a_definition, a_version
from tests.engine.world import Log
from tests.kubeloop.scripted import failure

INTERVAL = 600.0
FIRST, SECOND = Authority(), Authority()
HOOK = ConversionWebhook(name="hook", namespace="operator", port=8001)
NONE = {"metadata": {"name": NAME}, "spec": {"conversion": {"strategy": "None"}}}
"""What another tool leaves of the conversion."""


class Operator:
    """One replica, which leads unless the test says otherwise."""

    def __init__(self, server: DefinitionServer, *definitions: Tree) -> None:
        self.server = server
        self._leading = asyncio.Event()
        self.leads = True
        self.log = Log()
        self.told: list[tuple[Ref, bool, str]] = []
        self.decided: list[DecidedRound] = []
        self.publication = Publication(INTERVAL)
        self.publication.offer(FIRST.certificate)
        self._client = Client(server, gate=self._gate)
        self._caches = caches_of(self._client, self.log.logger())
        self.registration = Registration(
            self._client,
            self._caches,
            definitions or (a_definition("v1", "v2"),),
            HOOK,
            self.publication,
            self.log.logger(),
            manager="orchestratord.materialize.cloud",
        )

    @property
    def leads(self) -> bool:
        return self._leading.is_set()

    @leads.setter
    def leads(self, value: bool) -> None:
        if value:
            self._leading.set()
        else:
            self._leading.clear()

    def _gate(self) -> None:
        if not self.leads:
            raise NotLeader("the lease is not held")

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """As every replica does; rounds begin when it leads."""
        tasks = [asyncio.create_task(self._caches.run()), asyncio.create_task(self._lead())]
        await asyncio.sleep(1)
        yield
        for task in tasks:
            task.cancel()

    async def _lead(self) -> None:
        await self._leading.wait()
        controller = self.registration.controller
        log = self.log.logger()
        await rounds_of(controller, self._client, log, self._tell, self._caches, self.decided.append).run()

    def _tell(self, note: EventNote) -> None:
        self.told.append((note.about, note.warning, note.reason))

    @property
    def applied(self) -> int:
        return sum(each.content_type == APPLY for each in self.server.requests)


def played(scenario: Callable[[Operator], Awaitable[None]], *definitions: Tree) -> None:
    """All rounds of repair are decided alike when they are written down and read again."""

    async def play() -> Operator:
        operator = Operator(DefinitionServer(), *definitions)
        await scenario(operator)
        return operator

    decided_again(run(play(), seed=0).decided)


def bundle(server: DefinitionServer) -> bytes:
    return b64decode(server.definition()["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"])


def strategy(server: DefinitionServer) -> str:
    found: str = server.definition()["spec"]["conversion"]["strategy"]
    return found


def test_all_definitions_are_registered_and_those_of_one_version_are_not_converted() -> None:
    other = "gadgets.shop.example.com"

    async def scenario(operator: Operator) -> None:
        await operator.registration.register()

        assert strategy(operator.server) == "Webhook"
        assert bundle(operator.server) == FIRST.certificate
        assert operator.server.definition(other)["spec"]["conversion"] == {"strategy": "None"}
        assert clock.monotonic() < 1

    played(scenario, a_definition("v1", "v2"), a_definition("v1", name=other))


def test_writes_are_forced_applies_of_the_contracts_manager() -> None:
    async def scenario(operator: Operator) -> None:
        await operator.registration.register()

        (sent,) = [each for each in operator.server.requests if each.method == "PATCH"]
        assert sent.content_type == APPLY
        assert dict(sent.query) == {"fieldManager": "orchestratord.materialize.cloud", "force": "true"}

    played(scenario)


def test_a_start_with_nothing_to_change_writes_nothing() -> None:
    async def scenario(operator: Operator) -> None:
        await operator.registration.register()
        before = operator.server.definition()
        again = Operator(operator.server)
        again.leads = False  # any write would raise

        await again.registration.register()

        assert operator.server.definition() == before
        assert operator.applied == 1

    played(scenario)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda server: setattr(server, "conditions", ()), "it is not NamesAccepted"),
        (lambda server: setattr(server, "conditions", YES[:1]), "it is not Established"),
        (lambda server: setattr(server, "discovers", False), "discovery does not show its version"),
        (lambda server: setattr(server, "refuse", lambda _: failure(503, "ServiceUnavailable", "down")), "down"),
        (lambda server: setattr(server, "refuse", lambda _: failure(403, "Forbidden", "no")), "grant the operator"),
    ],
)
def test_a_definition_that_is_not_in_force_after_half_a_minute_ends_the_start_with_a_sentence(
    spoil: Callable[[DefinitionServer], None], why: str
) -> None:
    async def scenario(operator: Operator) -> None:
        spoil(operator.server)

        with pytest.raises(RegistrationFailed, match=why) as raised:
            await operator.registration.register()

        assert NAME in str(raised.value)
        assert 20 <= clock.monotonic() <= 30

    played(scenario)


def test_a_server_that_does_not_answer_at_all_ends_the_start_within_two_minutes() -> None:
    async def scenario(operator: Operator) -> None:
        async def silent(_: Request, __: str) -> Response | None:
            await asyncio.sleep(10_000)
            return None

        operator.server.fault = silent

        with pytest.raises(RegistrationFailed):
            await operator.registration.register()

        assert clock.monotonic() <= 120

    played(scenario)


def test_a_start_goes_on_as_soon_as_the_server_has_established_the_definition() -> None:
    async def scenario(operator: Operator) -> None:
        server = operator.server
        server.conditions = ()
        task = asyncio.create_task(operator.registration.register())
        await asyncio.sleep(7)
        assert not task.done()

        server.conditions = YES
        server.write({"metadata": {"name": NAME, "labels": {"touched": "yes"}}, "spec": {}})
        await task

        assert clock.monotonic() < 13
        assert operator.applied == 1

    played(scenario)


def test_a_definition_that_is_being_deleted_is_registered_when_it_is_gone() -> None:
    async def scenario(operator: Operator) -> None:
        server = operator.server
        doomed = a_definition("v1")
        doomed["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
        server.write(doomed)
        task = asyncio.create_task(operator.registration.register())
        await asyncio.sleep(5)
        assert operator.applied == 0

        server.drop_definition()
        await task

        assert strategy(server) == "Webhook"

    played(scenario)


def test_what_another_wrote_in_between_is_read_and_merged_again() -> None:
    async def scenario(operator: Operator) -> None:
        server, written = operator.server, list[Request]()
        server.write(a_definition("v1"))

        async def meddle(request: Request, when: str) -> Response | None:
            if request.method == "PATCH" and when == "before" and len(written) < 3:
                written.append(request)
                versions = [*a_definition("v1")["spec"]["versions"], a_version(f"v1{len(written)}")]
                server.write({"metadata": {"name": NAME}, "spec": {"versions": versions}})
            return None

        server.fault = meddle
        await operator.registration.register()

        names = [each["name"] for each in server.definition()["spec"]["versions"]]
        assert names == ["v1", "v2", "v13"]
        assert clock.monotonic() < 1  # a conflict is no failure to wait after

    played(scenario)


def test_who_does_not_lead_does_not_register() -> None:
    async def scenario(operator: Operator) -> None:
        operator.leads = False

        with pytest.raises(NotLeader):
            await operator.registration.register()

    played(scenario)


def test_a_conversion_that_somebody_removed_is_repaired_at_once_and_told() -> None:
    async def scenario(operator: Operator) -> None:
        await operator.registration.register()
        async with operator.watching():
            operator.server.write(NONE)
            await asyncio.sleep(0.5)

            assert strategy(operator.server) == "Webhook"
            assert operator.told == [(Ref(DEFINITIONS, "", NAME), True, "DefinitionRepaired")]

    played(scenario)


def test_somebody_who_keeps_overwriting_it_is_answered_more_and_more_slowly() -> None:
    async def scenario(operator: Operator) -> None:
        await operator.registration.register()
        async with operator.watching():
            for _ in range(1000):
                operator.server.write(NONE)
                await asyncio.sleep(1)

        assert 5 <= len(operator.told) <= 15

    played(scenario)


def test_after_a_calm_time_a_repair_does_not_wait() -> None:
    async def scenario(operator: Operator) -> None:
        await operator.registration.register()
        async with operator.watching():
            for _ in range(6):
                operator.server.write(NONE)
                await asyncio.sleep(100)
            await asyncio.sleep(700)
            operator.server.write(NONE)
            await asyncio.sleep(0.5)

            assert strategy(operator.server) == "Webhook"

    played(scenario)


def test_a_replica_that_does_not_lead_writes_nothing_but_knows_what_is_trusted() -> None:
    async def scenario(operator: Operator) -> None:
        await operator.registration.register()
        follower = Operator(operator.server)
        follower.leads = False
        follower.publication.offer(SECOND.certificate)
        pair = SECOND.server(("hook.operator.svc",))
        shown = _pair(pair.certificate, pair.key)
        async with follower.watching():
            assert not follower.publication.trusts(shown)

            operator.publication.offer(SECOND.certificate)
            async with operator.watching():
                await asyncio.wait_for(follower.publication.trusting(shown), 1)

        assert operator.applied == 2
        assert not follower.log.of("definition not repaired")

    played(scenario)


def test_a_follower_that_becomes_the_leader_repairs_what_it_saw() -> None:
    async def scenario(operator: Operator) -> None:
        await operator.registration.register()
        operator.leads = False
        async with operator.watching():
            operator.server.write(NONE)
            await asyncio.sleep(60)
            assert strategy(operator.server) == "None"

            operator.leads = True
            await asyncio.sleep(11)
            assert strategy(operator.server) == "Webhook"

    played(scenario)


def test_who_may_not_watch_definitions_does_not_wait_for_them_and_repairs_when_it_may() -> None:
    def no_lists(request: Request) -> Response | None:
        return None if place_of(request.path).name else failure(403, "Forbidden", "no")

    async def scenario(operator: Operator) -> None:
        await operator.registration.register()
        operator.server.refuse = no_lists
        controller, log = operator.registration.controller, operator.log.logger()
        lane = rounds_of(controller, operator._client, log, operator._tell, operator._caches)
        tasks = [asyncio.create_task(operator._caches.run())]
        await asyncio.sleep(1)
        lane.rounds.listed_since = clock.monotonic()
        tasks.append(asyncio.create_task(lane.run()))
        await asyncio.sleep(120)
        assert not operator.log.of("waiting for the caches")
        assert lane.queue.due(RolloutKey(("", NAME))) is None

        operator.server.write(NONE)
        operator.server.refuse = lambda _: None
        await asyncio.sleep(60)
        assert strategy(operator.server) == "Webhook"
        for task in tasks:
            task.cancel()

    played(scenario)


def test_a_new_authority_is_added_at_once_and_the_old_one_dropped_two_intervals_after_its_use() -> None:
    async def scenario(operator: Operator) -> None:
        old, new = (_pair(each.certificate, each.key) for each in (FIRST.server(("h",)), SECOND.server(("h",))))
        operator.publication.served(old)
        await operator.registration.register()
        async with operator.watching():
            operator.publication.offer(SECOND.certificate)
            await asyncio.sleep(0.5)
            assert bundle(operator.server) == SECOND.certificate + FIRST.certificate

            operator.publication.served(new)
            await asyncio.sleep(2 * INTERVAL - 1)
            assert bundle(operator.server) == SECOND.certificate + FIRST.certificate
            await asyncio.sleep(2)
            assert bundle(operator.server) == SECOND.certificate

        assert operator.applied == 3
        assert operator.told == []

    played(scenario)


def test_a_failed_repair_is_tried_again() -> None:
    async def scenario(operator: Operator) -> None:
        server = operator.server
        await operator.registration.register()
        async with operator.watching():
            server.refuse = lambda request: failure(500, "InternalError") if request.method == "PATCH" else None
            server.write(NONE)
            await asyncio.sleep(10)
            assert strategy(server) == "None"
            assert operator.log.of("definition not repaired")

            server.refuse = lambda _: None
            await asyncio.sleep(60)
            assert strategy(server) == "Webhook"

    played(scenario)


def test_a_bundle_that_somebody_else_is_asked_to_keep_is_left_to_them() -> None:
    async def scenario(operator: Operator) -> None:
        server = operator.server
        await operator.registration.register()
        note = {"annotations": {"cert-manager.io/inject-ca-from": "operator/hook"}}
        theirs = HOOK.conversion(SECOND.certificate)
        server.write({"metadata": {"name": NAME, **note}, "spec": {"conversion": theirs}})
        async with operator.watching():
            await asyncio.sleep(60)

            assert bundle(server) == SECOND.certificate
            assert operator.applied == 1

    played(scenario)


def test_a_definition_that_somebody_deletes_stays_deleted() -> None:
    async def scenario(operator: Operator) -> None:
        await operator.registration.register()
        async with operator.watching():
            operator.server.drop_definition()
            await asyncio.sleep(600)

            assert not operator.server.objects
            assert operator.log.of("definition deleted")

    played(scenario)


def _pair(certificate: bytes, key: bytes) -> Pair:
    return Pair(certificate, key)
