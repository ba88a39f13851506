"""Rounds of the leader about the certificate of webhooks: it is made, published, exchanged and retired.

What is decided is in `decide/rotation`, for certificates that are made here, and in `decide/given_certificate`, for
those that others make. A certificate must be there before definitions can say whom to trust, so the first rounds come
before leading.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct, structs
from structlog.types import FilteringBoundLogger

from fairlead.core.act import Does
from fairlead.core.ask import Answers, Good
from fairlead.core.decision import Decide, Decision
from fairlead.core.reason import Reason
from fairlead.engine.certificates.bundle_targets import BundleTargets
from fairlead.engine.certificates.followed import FollowedCertificate
from fairlead.engine.certificates.given_entries import NoticedSecret
from fairlead.engine.certificates.secret_facts import certificates_in, leaf_of, stored_of
from fairlead.engine.controller import BackOff, Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.decide.bundles import Certificate, authorities
from fairlead.engine.decide.given_certificate import GivenSnapshot, keep_published
from fairlead.engine.decide.rotation import TAKEN_OVER, prepare, rotate
from fairlead.engine.decide.rotation_snapshot import (
    AUTHORITY,
    CertificateTimes,
    Endpoint,
    RotationSnapshot,
    StoredSecret,
    trusted_in,
)
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.rounds import PassFailed, Rounds, RoundTerms
from kubeloop import clock
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubeloop.errors import KubeError, NotLeader
from kubeloop.informer import Informer
from kubeloop.ledger import Ledger
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Meta, Ref, Resource
from kubeloop.sealed import Sealed

ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
SERVICE_LABEL = "kubernetes.io/service-name"
BLIND = "they may not be read: allow get, list and watch of endpointslices in the namespace of the Service"
NAME, GIVEN = "certificates", "given-certificates"
CALL_TIMEOUT = 10.0
FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0
START_SECONDS = 30.0
"""For the first certificate of an installation."""
DONE = {
    Does.STORE_CERTIFICATE: LogRecord("info", "certificate stored"),
    Does.INJECT_CA: LogRecord("info", "authorities published"),
}

S = TypeVar("S")


class _Conditions(Struct, frozen=True):
    ready: bool | None = None


class _Target(Struct, frozen=True):
    name: str = ""


class _EndpointEntry(Struct, frozen=True, rename="camel"):
    addresses: tuple[str, ...] = ()
    target_ref: _Target | None = None
    conditions: _Conditions = _Conditions()


class _Port(Struct, frozen=True):
    name: str = ""
    port: int = 0


class EndpointSlice(Struct, frozen=True):
    metadata: Meta
    endpoints: tuple[_EndpointEntry, ...] | None = None
    ports: tuple[_Port, ...] | None = None

    def ready(self, port: int) -> Iterable[Endpoint]:
        """Those that may be called, at the webhook's port, or at the only one that there is; unsaid is ready."""
        numbers = [each.port for each in self.ports or ()]
        if port not in numbers and len(numbers) != 1:
            return
        for each in self.endpoints or ():
            if each.conditions.ready is not False:
                replica = each.target_ref.name if each.target_ref is not None else ""
                chosen = port if port in numbers else numbers[0]
                yield from (Endpoint(host, chosen, replica) for host in each.addresses)


class RotationOptions(Struct, frozen=True, kw_only=True):
    secret: Ref
    is_made_here: bool
    """Whether the operator makes the certificate; else others do."""
    names: tuple[str, ...]
    """Of the Service; the first is the one that API servers ask for."""
    service: str
    namespace: str
    port: int
    """On which replicas serve."""
    times: CertificateTimes = CertificateTimes()
    manager: str
    about: Ref
    """What Events are about: the pod, or the Secret where there is none."""
    labels: Mapping[str, str] = {}
    former: Ref | None = None
    """The Secret of earlier releases."""


class Rotation:
    """Of one Service. `followed` is what this replica shows."""

    def __init__(
        self,
        options: RotationOptions,
        client: Client,
        caches: Caches,
        targets: BundleTargets,
        followed: FollowedCertificate,
        log: FilteringBoundLogger,
    ) -> None:
        self._options = options
        self._client = client.within(CALL_TIMEOUT)
        self._targets = targets
        self._followed = followed
        self._log = log
        self._remembered: tuple[tuple[str, Sealed], ...] = ()
        self._stored: StoredSecret | None = None
        self._shown_since: clock.Moment | None = None
        self._unshown_since: clock.Moment | None = None
        self._shown: str = ""
        self._problem = ""
        self._handlers: list[Callable[[], None]] = []
        secret = options.secret
        self._secrets = caches.informer(
            SECRETS, NoticedSecret, namespace=secret.namespace, fields=f"metadata.name={secret.name}", optional=True
        )
        self._slices = caches.informer(
            ENDPOINT_SLICES,
            EndpointSlice,
            namespace=options.namespace,
            labels=f"{SERVICE_LABEL}={options.service}",
            optional=True,
        )
        self.controller: Controller[Any] = self._made_here() if options.is_made_here else self._given()

    def authorities(self) -> tuple[Certificate, ...]:
        """That whoever begins to call here is to trust now; the first is the one that is served under."""
        now = clock.now()
        if not self._options.is_made_here:
            return authorities(self._followed.authorities, now=now)
        return () if self._stored is None else trusted_in(self._stored, now)

    def bundle(self) -> bytes:
        """The same as `caBundle` holds them."""
        return "".join(each.pem for each in self.authorities()).encode()

    def subscribe(self, handler: Callable[[], None]) -> None:
        """Called when they may have changed."""
        self._handlers.append(handler)

    async def prepare(self) -> None:
        """Returns when there is a certificate, or somebody else has to bring it; raises NotLeader."""
        if not self._options.is_made_here:
            return
        for each in (*self._targets.informers, self._slices):  # whoever is trusted already may be in use
            await each.settled.wait()
        outside, terms = AskContext(self._client), RoundTerms(Ledger(CALL_TIMEOUT, lambda _: ()), CALL_TIMEOUT)
        first = structs.replace(self._controller(NAME, prepare, self._gather), watched=lambda _: {})
        rounds = Rounds(first, outside, terms, self._log, lambda _: None)
        deadline, delay = clock.monotonic() + START_SECONDS, FIRST_DELAY
        while True:
            try:
                await rounds.run(self._key)
            except NotLeader:
                raise
            except (KubeError, PassFailed) as error:
                self._log.warning("certificate not made yet", error=str(error), help="it is tried again")
            if self._stored is not None or clock.monotonic() > deadline:
                return
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    @property
    def _key(self) -> RolloutKey:
        return RolloutKey((self._options.secret.namespace, self._options.secret.name))

    def _made_here(self) -> Controller[RotationSnapshot]:
        return self._controller(NAME, rotate, self._gather)

    def _given(self) -> Controller[GivenSnapshot]:
        return self._controller(GIVEN, keep_published, self._gather_given)

    def _controller(
        self, name: str, decide: Decide[S], gather: Callable[[RolloutKey, Answers], S | None]
    ) -> Controller[S]:
        return Controller(
            name=name,
            informers=(),
            optional=(self._secrets, self._slices, *self._targets.informers),
            subscribe=self._subscribe,
            watched=lambda _: self._watched(),
            scopes=lambda _: (),
            rollouts=lambda: (self._key,),
            gather=gather,
            versions=lambda _: self._versions(),
            decide=decide,
            say=_said,
            writes=frozenset(DONE),
            done=DONE,
            observe=self._observe,
            rolled=lambda *_: self._options.about,
            background=True,
            failure="certificate not kept",
            back_off=BackOff(1.0, 60.0),
        )

    def _subscribe(self, wake: Wake) -> None:
        def woken(*_: object) -> None:
            wake(self._key, False)

        self._secrets.subscribe(woken)
        self._slices.subscribe(woken)
        self._targets.subscribe(woken)
        self._followed.subscribe(woken)

    def _watched(self) -> Mapping[Resource, Informer[Any]]:
        """Nothing that may not be watched: nobody waits for what does not come."""
        watched: tuple[Informer[Any], ...] = (self._secrets, self._slices, *self._targets.informers)
        return {each.resource: each for each in watched if not each.is_absent}

    def _versions(self) -> Iterable[str]:
        return (f"{each.ref}@{each.version}" for each in self._targets.targets())

    def _gather(self, _: RolloutKey, answers: Answers) -> RotationSnapshot:
        given = self._options
        seen = RotationSnapshot(
            secret=given.secret,
            labels=given.labels,
            names=given.names,
            times=given.times,
            manager=given.manager,
            about=given.about,
            remembered=self._remembered,
            former=given.former,
            targets=self._targets.targets(),
            endpoints=self._endpoints(),
            blind=BLIND if self._slices.is_absent else "",
            own=self._own(),
            answers=answers,
        )
        stored = self._stored_in(seen, answers)
        former = [found for ask in seen.former_read if isinstance(found := answers.known.get(ask), Good)]
        return structs.replace(
            seen,
            stored=stored,
            former_authorities=tuple(one for each in former for one in _former(each)),
            trusted_since=None if stored is None else self._targets.held_since(stored.next.authority),
        )

    def _stored_in(self, seen: RotationSnapshot, answers: Answers) -> StoredSecret | None:
        found = answers.known.get(seen.read)
        return stored_of(found, seen.names[0], clock.now()) if isinstance(found, Good) else None

    def _gather_given(self, _: RolloutKey, answers: Answers) -> GivenSnapshot:
        given, followed = self._options, self._followed
        offered = followed.offered
        return GivenSnapshot(
            where=followed.where,
            names=given.names,
            rotate_before=given.times.rotate_before,
            overlap=given.times.overlap,
            manager=given.manager,
            about=given.about,
            leaf=None if offered is None else leaf_of(offered.certificate),
            authorities=followed.authorities,
            problem=followed.problem,
            targets=self._targets.targets(),
            endpoints=self._endpoints(),
            blind=BLIND if self._slices.is_absent else "",
            own=self._own(),
            shown_since=None if self._shown_since is None else self._shown_since.at,
            unshown_since=None if self._unshown_since is None else self._unshown_since.at,
            answers=answers,
        )

    def _endpoints(self) -> tuple[Endpoint, ...]:
        found = {each for one in self._slices.store.items() for each in one.ready(self._options.port)}
        return tuple(sorted(found, key=lambda each: (each.host, each.port)))

    def _own(self) -> str:
        shown = self._followed.shown
        return "" if shown is None else shown.pem

    def _observe(self, _: RolloutKey, seen: Any, decision: Decision, now: datetime) -> None:
        if isinstance(seen, RotationSnapshot):
            if seen.stored is not None:
                self._remembered = tuple(sorted(seen.stored.entries.items()))
            if seen.stored != self._stored and decision.rule != TAKEN_OVER:
                self._stored = seen.stored or self._stored
                for handler in self._handlers:
                    handler()
            return
        retiring = decision.verdict.reason is Reason.AUTHORITY_RETIRING
        awaits = decision.verdict.reason in (Reason.CERTIFICATE_UNSHOWN, Reason.REPLICA_UNREACHED)
        self._unshown_since = (self._unshown_since or clock.Moment(now)) if awaits else None
        leaf = "" if seen.leaf is None else seen.leaf.pem
        if not retiring or leaf != self._shown:
            self._shown_since = None
        if retiring:
            self._shown, self._shown_since = leaf, self._shown_since or clock.Moment(now)
        for handler in self._handlers:
            handler()


def _former(found: Good) -> tuple[Certificate, ...]:
    """The authority as a Secret of earlier releases has it, or one that another tool filled."""
    entries = dict(found.sealed)
    held = [entries[name].open() for name in ("ca", AUTHORITY) if name in entries]
    return tuple(one for each in held for one in certificates_in(each))


def _said(_: object, decision: Decision, __: datetime) -> tuple[LogRecord, ...]:
    details = getattr(decision.verdict, "details", ())
    return tuple(LogRecord("warn", "certificate waits", {"about": name, "error": said}) for name, said in details)
