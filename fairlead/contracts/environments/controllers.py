"""The controllers of environments: Materialize objects, their companions, and what belongs to them, everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar, cast

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.contracts.environments import gather as gathering
from fairlead.contracts.environments.decide import decide, decide_balancer, decide_console
from fairlead.contracts.environments.decide.companions import NOT_TOGETHER
from fairlead.contracts.environments.decide.objects.owner import BALANCERD, CONSOLE
from fairlead.contracts.environments.decide.rollout import needs_update
from fairlead.contracts.environments.decide.seen import CompanionSnapshot, Snapshot
from fairlead.contracts.environments.explain import explain
from fairlead.contracts.environments.gather import Stores
from fairlead.contracts.environments.kinds import (
    BALANCERS,
    CERTIFICATES,
    CONSOLES,
    ENVIRONMENT_CHILDREN,
    MATERIALIZES,
    RESOURCE_ID,
    Balancer,
    Child,
    Console,
    GenerationSet,
    Materialize,
)
from fairlead.contracts.environments.metrics import EnvironmentMetrics, EnvironmentProgress
from fairlead.contracts.environments.settings import Settings
from fairlead.contracts.environments.words import REASONS, WRITES
from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import Explain
from fairlead.engine.controller import BackOff, Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.decide.guard import GuardedObject
from fairlead.engine.driver.applied import Applied
from kubeloop.caches import Caches
from kubeloop.errors import Forbidden
from kubeloop.informer import Change, Informer
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS, Deployment
from kubeloop.objects.meta import Ref, Resource
from kubeloop.store import Named

N = TypeVar("N", bound=Named)

MAY_WRITE = frozenset(
    {
        Does.ADD_FINALIZER,
        Does.REMOVE_FINALIZER,
        Does.REPORT_STATUS,
        Does.SET_ENVIRONMENT_ID,
        Does.APPLY_OBJECT,
        Does.APPLY_GENERATION,
        Does.MOVE_SERVICE,
        Does.REMOVE_GENERATION,
        Does.REMOVE_COMPANION,
        Does.MIGRATE_SELECTOR,
    }
)
BACK_OFF = BackOff(2.0, 256.0, jitter=0.5)
"""After error n, counted from 0: between half of 2 to the power of min(n, 7) + 1 seconds and all of it."""


class _Watched:
    """The informers of the contract, shared by its three kinds of rounds."""

    def __init__(self, caches: Caches, is_mixed: Callable[[], bool]) -> None:
        def owned(resource: Resource, into: type[N], *, optional: bool = False) -> Informer[N]:
            indexes = gathering.CHILD_INDEXES
            return caches.informer(resource, into, labels=RESOURCE_ID, indexes=indexes, optional=optional)

        self._is_mixed = is_mixed
        self.environments = caches.informer(MATERIALIZES, Materialize, indexes=gathering.ENVIRONMENT_INDEXES)
        self.balancers = caches.informer(BALANCERS, Balancer, indexes=gathering.COMPANION_INDEXES)
        self.consoles = caches.informer(CONSOLES, Console, indexes=gathering.COMPANION_INDEXES)
        self.statefulsets = owned(STATEFULSETS, GenerationSet)
        self.deployments = owned(DEPLOYMENTS, Deployment)
        self.children = {resource: owned(resource, Child) for resource in ENVIRONMENT_CHILDREN}
        self.certificates = owned(CERTIFICATES, Child, optional=True)
        own = (_any(self.environments), _any(self.balancers), _any(self.consoles))
        self.owned = (
            _any(self.statefulsets),
            _any(self.deployments),
            *map(_any, self.children.values()),
            _any(self.certificates),
        )
        self.required = (*own, *self.owned[:-1])

    @property
    def stores(self) -> Stores:
        children = {resource: informer.store for resource, informer in self.children.items()}
        served = not self.certificates.is_absent
        return Stores(
            environments=self.environments.store,
            balancers=self.balancers.store,
            consoles=self.consoles.store,
            statefulsets=self.statefulsets.store,
            deployments=self.deployments.store,
            children=children | ({CERTIFICATES: self.certificates.store} if served else {}),
            has_certificates=served,
            may_list_certificates=served or not isinstance(self.certificates.last_error, Forbidden),
            may_be_old=self._is_mixed(),
        )

    def informers(self) -> Mapping[Resource, Informer[Named]]:
        served = (_any(self.certificates),) if not self.certificates.is_absent else ()
        return {informer.resource: informer for informer in (*self.required, *served)}

    def subscribe_children(self, changed: Callable[[Change[Named]], None]) -> None:
        for informer in self.owned:
            informer.subscribe(changed)


def _any(informer: Informer[Any]) -> Informer[Named]:
    """The engine only runs informers, asks them for lists and reads them; it never puts an object into one."""
    return cast("Informer[Named]", informer)


class _Kind(Struct, frozen=True):
    """What tells the three kinds of rounds apart."""

    name: str
    informer: Informer[Any]
    snapshot: Callable[..., Any]
    versions: Callable[[Any], Iterable[str]]
    decide: Callable[..., Any]
    subject: Callable[[Any], GuardedObject]
    subscribe: Callable[[Wake], None]
    observe: Callable[[RolloutKey, Any, Decision, datetime], None]
    explain: Callable[[Any, Decision, datetime], Explain] | None = None
    observed: Callable[[Any], Mapping[str, int]] = lambda _: {}


def environments(
    caches: Caches,
    settings: Settings,
    metrics: EnvironmentMetrics,
    log: FilteringBoundLogger,
    is_mixed: Callable[[], bool],
) -> tuple[Controller[Any], ...]:
    """Its three kinds of rounds, on one set of informers; the first is that of environments.

    `is_mixed` says whether environments may be stored in several versions.
    """
    watched = _Watched(caches, is_mixed)
    if not settings.license_keys and not settings.disable_license_key_checks:
        log.warning(
            "signatures of license keys are not checked", help="name the keys to trust: --license-key-public-key"
        )
    if settings.create_console and not settings.create_balancers:
        log.warning("consoles wait for balancers that nobody makes", help=NOT_TOGETHER)

    def observe(key: RolloutKey, seen: Snapshot, decision: Decision, _: datetime) -> None:
        metrics.decided("materialize", decision.rule)
        metrics.stands(key, _standing(seen))

    def counted(kind: str) -> Callable[[RolloutKey, Any, Decision, datetime], None]:
        return lambda _key, _seen, decision, _now: metrics.decided(kind, decision.rule)

    kinds = (
        _Kind(
            "materialize",
            watched.environments,
            gathering.snapshot,
            gathering.versions,
            decide,
            gathering.subject,
            lambda wake: _wake_environments(watched, wake),
            observe,
            explain,
            gathering.observed,
        ),
        _Kind(
            "balancer",
            watched.balancers,
            _companions(watched.balancers, BALANCERD),
            gathering.companion_versions,
            decide_balancer,
            gathering.companion_subject,
            lambda wake: _wake_companions(watched.balancers, watched, wake),
            counted("balancer"),
        ),
        _Kind(
            "console",
            watched.consoles,
            _companions(watched.consoles, CONSOLE),
            gathering.companion_versions,
            decide_console,
            gathering.companion_subject,
            lambda wake: _wake_companions(watched.consoles, watched, wake),
            counted("console"),
        ),
    )
    return tuple(_controller(kind, watched, settings, metrics) for kind in kinds)


def _companions(informer: Informer[Any], app: str) -> Callable[..., CompanionSnapshot[Any] | None]:
    """Gathers those of one kind."""

    def gather(
        key: RolloutKey, stores: Stores, settings: Settings, answers: Answers, applied: Mapping[Ref, str]
    ) -> CompanionSnapshot[Any] | None:
        return gathering.companion_snapshot(informer.store.get(*key), app, stores, settings, answers, applied)

    return gather


def _controller(kind: _Kind, watched: _Watched, settings: Settings, metrics: EnvironmentMetrics) -> Controller[Any]:
    applied = Applied()

    def scopes(key: RolloutKey) -> tuple[str, ...]:
        found = kind.informer.store.get(*key)
        return () if found is None else (found.metadata.uid,)

    def gather(key: RolloutKey, answers: Answers) -> Any:
        known = {ref: digest for scope in scopes(key) for ref, digest in applied.of(scope, watched.informers()).items()}
        return kind.snapshot(key, watched.stores, settings, answers, known)

    return Controller(
        name="environments" if kind.name == "materialize" else f"environments/{kind.name}",
        noun=kind.name,
        informers=watched.required,
        subscribe=kind.subscribe,
        watched=lambda _: watched.informers(),
        scopes=scopes,
        rollouts=lambda: [gathering.key_of(item) for item in kind.informer.store.items()],
        gather=gather,
        versions=kind.versions,
        decide=kind.decide,
        guards=kind.subject,
        say=_say,
        writes=MAY_WRITE,
        done={does: LogRecord(words.level, words.message) for does, words in WRITES.items()},
        observe=kind.observe,
        explain=kind.explain,
        observed=kind.observed,
        optional=(watched.certificates,),
        kind="" if kind.name == "materialize" else kind.name,
        watcher=metrics.of(kind.name),
        back_off=BACK_OFF,
        refusals_hold=False,
        refuses=lambda bad: bad.kind not in ("conflict", "limited"),
        applied=applied,
    )


def _standing(seen: Snapshot) -> EnvironmentProgress:
    status = seen.environment.status
    found = next(iter(status.conditions), None) if status is not None else None
    if found is None:
        return EnvironmentProgress(needs_update(seen))
    since = None if found.status == "True" else found.last_transition_time.timestamp()
    return EnvironmentProgress(needs_update(seen), found.reason, since)


def _say(seen: Snapshot | CompanionSnapshot[Any], decision: Decision, now: datetime) -> tuple[LogRecord, ...]:
    reason, verdict = decision.verdict.reason, decision.verdict
    waits = "; ".join(text for _, text in verdict.details) if isinstance(verdict, Hold) else ""
    words = REASONS[reason]
    keys = {"reason": reason.word} | ({"waiting_for": waits} if waits else {})
    beside = tuple(
        LogRecord(
            told.level, told.message, {"reason": aside.reason.word, "object": str(aside.about), "text": aside.text}
        )
        for aside in decision.asides
        if (told := REASONS[aside.reason])
    )
    return (LogRecord(words.level, words.message, keys), *beside)


def _wake_environments(watched: _Watched, wake: Wake) -> None:
    store = watched.environments.store

    def changed(change: Change[Materialize]) -> None:
        wake(gathering.key_of(_shown(change)), change.initial, gently=_is_status_only(change))
        if not _is_status_only(change):
            for side in filter(None, (change.old, change.new)):
                for twin in gathering.twins_of(side, store):
                    wake(gathering.key_of(twin), change.initial)

    def companion_changed(change: Change[Named]) -> None:
        key = gathering.key_of(_shown(change))
        if store.get(*key) is not None:
            wake(key, change.initial)

    def child_changed(change: Change[Named]) -> None:
        for key in gathering.owners_of(_shown(change), store):
            wake(key, change.initial)

    watched.environments.subscribe(changed)
    _any(watched.balancers).subscribe(companion_changed)
    _any(watched.consoles).subscribe(companion_changed)
    watched.subscribe_children(child_changed)


def _wake_companions(informer: Informer[Any], watched: _Watched, wake: Wake) -> None:
    def changed(change: Change[Any]) -> None:
        wake(gathering.key_of(_shown(change)), change.initial, gently=_is_status_only(change))

    def child_changed(change: Change[Named]) -> None:
        for key in gathering.owners_of(_shown(change), informer.store):
            wake(key, change.initial)

    informer.subscribe(changed)
    watched.subscribe_children(child_changed)


def _shown(change: Change[N]) -> N:
    """The object as it is, or as it was before it went."""
    item = change.new if change.new is not None else change.old
    if item is None:
        raise TypeError("a change without an object")
    return item


def _is_status_only(change: Change[Any]) -> bool:
    """Whether nothing but the status changed, which the operator itself writes: it does not end a wait after errors."""
    if change.old is None or change.new is None:
        return False
    old, new = change.old.metadata, change.new.metadata
    return bool(
        (old.uid, old.generation, old.annotations, old.labels, old.finalizers, old.deletion_timestamp)
        == (new.uid, new.generation, new.annotations, new.labels, new.finalizers, new.deletion_timestamp)
    )
