"""Keeps the certificate authority in every webhook configuration that asks for it.

Every replica does it, whether it leads or not, because the API server may call any of them; the patch is the same from
all. So it has rounds, caches and a client of its own, apart from the manager's, which act only while this replica
leads. A configuration that somebody keeps clearing gets its bundle again each time, at a bounded pace. What may not be
listed or watched is logged and tried again in the background: it never keeps the operator from starting.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

import msgspec
from msgspec import Struct, structs
from structlog.types import FilteringBoundLogger

from fairlead.core.act import Does, EventNote
from fairlead.core.ask import Answers, Good
from fairlead.core.decision import Decide, Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.certificates import pairs
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.decide.ca_injection import InjectionSnapshot, TrustScope, inject, listing_of, trust
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.lane import ControllerLane
from fairlead.engine.rounds import Rounds, RoundTerms
from kubeloop import clock
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubeloop.informer import Change
from kubeloop.ledger import Ledger
from kubeloop.objects.admissionregistration import MUTATING, VALIDATING, WebhookConfiguration, WebhookEntry
from kubeloop.objects.meta import Resource
from kubeloop.queue import Queue
from kubeloop.unreadable import UNREADABLE

KINDS = {kind.kind: kind for kind in (VALIDATING, MUTATING)}
SPACING = 1.0
"""Least seconds between two patches of one configuration."""
CATCH_UP_SECONDS = 10.0
WRITE_TIMEOUT = 10.0
AT_ONCE = 4
"""Configurations patched at a time when another authority is to be trusted."""
DONE = {Does.INJECT_CA: LogRecord("info", "ca bundle injected")}
CHANGED_MEANWHILE = (409, 422)
"""What a patch is answered that was made for another state of the configuration: the watch tells which."""


class _List(Struct, frozen=True):
    items: tuple[WebhookConfiguration, ...]


_LIST = msgspec.json.Decoder(_List)


class Injector:
    """For the configurations of the namespaces served, which these caches watch.

    `keeps`: authorities that other replicas may still show stay in the bundles; else they hold ours and no other.
    """

    def __init__(
        self, client: Client, served: TrustScope, log: FilteringBoundLogger, caches: Caches, *, keeps: bool = False
    ) -> None:
        self._served = served
        self._caches = caches
        self._keeps = keeps
        self._authority = b""
        self._is_alone = False
        """Whether no replica shows a certificate of another authority."""
        self._trusted: dict[str, bool] = {}
        """By kind, whether all of its configurations were last found to trust the authority."""
        self._informers = {
            kind: caches.informer(resource, WebhookConfiguration, labels=served.selector, optional=True)
            for kind, resource in KINDS.items()
        }
        terms = RoundTerms(Ledger(CATCH_UP_SECONDS, caches.covering), WRITE_TIMEOUT)
        outside = AskContext(client, write_timeout=WRITE_TIMEOUT)
        kept, walked = self._keeping(), self._walking()
        self._lane = ControllerLane(kept, Rounds(kept, outside, terms, log, _untold), Queue(spacing=SPACING), log)
        self._walk = Rounds(walked, outside, terms, log, _untold)

    async def trust(self, authority: bytes, *, alone: bool = False) -> bool:
        """Has clients trust these authorities; whether every configuration that is there now is known to do so.

        What does not yet is tried again while this runs. With `alone` those before them are no longer trusted.
        """
        self._authority = authority
        self._is_alone = alone
        self._trusted.clear()
        for kind in KINDS:
            await self._walk.run(RolloutKey((kind, "")))
        self._lane.wake_all()
        return all(self._trusted.get(kind, False) for kind in KINDS)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._caches.run())
            tasks.create_task(self._lane.run())

    def entries(self) -> Iterator[tuple[Resource, WebhookEntry]]:
        """Every webhook entry of the watched configurations, whether or not it wants the bundle."""
        for kind, each in self._informers.items():
            for found in each.store.items():
                for entry in found.webhooks:
                    yield KINDS[kind], entry

    def _keeping(self) -> Controller[InjectionSnapshot]:
        """One configuration, as the watch shows it."""
        return structs.replace(
            self._controller("ca-injection", inject, self._gather_cached),
            optional=tuple(self._informers.values()),
            subscribe=self._subscribe,
            watched=lambda key: {KINDS[key.namespace]: self._informers[key.namespace]},
            rollouts=self._keys,
            failure="ca bundle not injected",
        )

    def _walking(self) -> Controller[InjectionSnapshot]:
        """All configurations of a kind, read live: whoever may not watch them may be able to list them."""
        return structs.replace(
            self._controller("ca-trust", trust, self._gather_listed), observe=self._observe, say=_said, at_once=AT_ONCE
        )

    def _controller(
        self,
        name: str,
        decide: Decide[InjectionSnapshot],
        gather: Callable[[RolloutKey, Answers], InjectionSnapshot | None],
    ) -> Controller[InjectionSnapshot]:
        return Controller(
            name=name,
            informers=(),
            subscribe=lambda _: None,
            watched=lambda _: {},
            scopes=lambda _: (),
            rollouts=lambda: (),
            gather=gather,
            versions=lambda seen: (f"{each.metadata.name}@{each.metadata.resource_version}" for each in seen.found),
            decide=decide,
            say=lambda *_: (),
            writes=frozenset(DONE),
            done=DONE,
            background=True,
            refuses=lambda bad: bad.code in CHANGED_MEANWHILE,
            refusals_hold=False,
        )

    def _gather_cached(self, key: RolloutKey, answers: Answers) -> InjectionSnapshot | None:
        held = self._informers[key.namespace].store.get("", key.name)
        return None if held is None or not self._authority else self._snapshot(key, (held,), answers)

    def _gather_listed(self, key: RolloutKey, answers: Answers) -> InjectionSnapshot:
        found = answers.known.get(listing_of(KINDS[key.namespace], self._served))
        listed = _listed(found.value) if isinstance(found, Good) else ()
        return self._snapshot(key, listed or (), answers, is_readable=listed is not None)

    def _snapshot(
        self,
        key: RolloutKey,
        found: tuple[WebhookConfiguration, ...],
        answers: Answers,
        *,
        is_readable: bool = True,
    ) -> InjectionSnapshot:
        held = {entry.client_config.ca_bundle for each in found for entry in each.webhooks}
        return InjectionSnapshot(
            resource=KINDS[key.namespace],
            found=found,
            is_readable=is_readable,
            served=self._served,
            bundles={each: self._bundle(each) for each in sorted(held)},
            answers=answers,
        )

    def _bundle(self, held: str) -> str:
        """The bundle for an entry that has this one."""
        if not self._keeps:
            return b64encode(self._authority).decode()
        try:
            decoded = b64decode(held)
        except ValueError:
            decoded = b""
        return b64encode(pairs.trusting(self._authority, decoded, clock.now(), alone=self._is_alone)).decode()

    def _observe(self, key: RolloutKey, _: InjectionSnapshot, decision: Decision, __: datetime) -> None:
        self._trusted[key.namespace] = decision.verdict.reason is Reason.COMPLETE

    def _keys(self) -> Iterator[RolloutKey]:
        for kind, each in self._informers.items():
            for held in each.store.items():
                yield RolloutKey((kind, held.metadata.name))

    def _subscribe(self, wake: Wake) -> None:
        for kind, each in self._informers.items():
            each.subscribe(_waking(kind, wake))


def _waking(kind: str, wake: Wake) -> Callable[[Change[WebhookConfiguration]], None]:
    def changed(change: Change[WebhookConfiguration]) -> None:
        if change.new is not None:
            wake(RolloutKey((kind, change.new.metadata.name)), change.initial)

    return changed


def _listed(body: bytes) -> tuple[WebhookConfiguration, ...] | None:
    """None where it cannot be read."""
    try:
        return _LIST.decode(body).items
    except UNREADABLE:
        return None


def _said(seen: InjectionSnapshot, decision: Decision, _: datetime) -> tuple[LogRecord, ...]:
    verdict = decision.verdict
    return tuple(
        LogRecord("warn", "webhook configurations not updated", {"kind": kind, "error": problem}, repeated=True)
        for kind, problem in (verdict.details if isinstance(verdict, Hold) else ())
    )


def _untold(_: EventNote) -> None:
    raise TypeError("the injection of authorities tells nobody")


def policies(entries: Iterable[tuple[Resource, WebhookEntry]]) -> Iterator[tuple[str, str, str, int]]:
    """Type, webhook, policy and 0 or 1, two samples for each entry; an unset policy counts as Fail."""
    for kind, entry in entries:
        actual = entry.failure_policy or "Fail"
        for policy in ("Fail", "Ignore"):
            yield kind.kind.removesuffix("Configuration"), entry.name, policy, int(policy == actual)
