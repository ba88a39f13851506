"""Looking at migrations and offline upgrades: documents of what their journals say.

A journal is a ConfigMap, so whoever may read that sees where the work is, on whatever machine the command runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions import upgrade_records
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import FINAL, UpgradePhase
from fairlead.contracts.apiversions.explain import Upgraded, Worker, migration, upgrade
from fairlead.contracts.apiversions.kinds import MIGRATION_NOUN, PART, UPGRADE_NOUN
from fairlead.contracts.apiversions.upgrade_records import Summary
from fairlead.core.explain import Explain
from fairlead.core.times import parse_rfc3339
from fairlead.engine.controller import RolloutKey
from fairlead.engine.decide.storage_migration.journal import StorageJournal
from fairlead.engine.decide.storage_migration.names import JOURNAL, JOURNAL_LABEL
from fairlead.engine.look import Heard, Look, ResourceView, ToLook, Views
from kubeloop.client import Client
from kubeloop.objects.core import CONFIGMAPS, LEASES
from kubeloop.objects.meta import Meta
from kubeloop.unreadable import UNREADABLE


class Journal(Struct, frozen=True):
    metadata: Meta
    data: dict[str, str] = {}


class _LeaseSpec(Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: int | None = None


class RunLease(Struct, frozen=True):
    metadata: Meta
    spec: _LeaseSpec = _LeaseSpec()

    @property
    def worker(self) -> Worker:
        spec = self.spec
        if not spec.holder_identity or not spec.renew_time:
            return Worker()
        until = parse_rfc3339(spec.renew_time) + timedelta(seconds=spec.lease_duration_seconds or 0)
        return Worker(spec.holder_identity, until)


JOURNALS = ResourceView(CONFIGMAPS, Journal, f"{JOURNAL_LABEL}=true", optional=True)
RUN_LEASES = ResourceView(LEASES, RunLease, optional=True)


class JournalLooks:
    def __init__(self, _: Client, views: Sequence[Views]) -> None:
        self._views = views

    async def look(self, now: datetime, heard: Heard) -> list[Explain]:
        """Every migration and upgrade as its journal says it stands."""
        return [
            *await heard.or_each(PART, MIGRATION_NOUN, self._found(JOURNAL, _migration, now)),
            *await heard.or_each(PART, UPGRADE_NOUN, self._found(upgrade_records.JOURNAL, _upgrade, now)),
        ]

    def _found(
        self, entry: str, made: Callable[[Journal, str, Worker, datetime], Explain], now: datetime
    ) -> list[ToLook]:
        found: list[ToLook] = []
        for views in self._views:
            for each in views[JOURNALS].items():
                if text := each.data.get(entry):
                    lease = views[RUN_LEASES].get(each.metadata.namespace, each.metadata.name)
                    worker = lease.worker if lease is not None else Worker()
                    found.append(_to_look(each, partial(made, each, text, worker, now)))
        return found


def _to_look(each: Journal, make: Callable[[], Explain]) -> ToLook:
    """One that cannot be read is told under the name of its ConfigMap, as all that is unreadable is told."""
    try:
        shown = make()
    except UNREADABLE:
        name = each.metadata.name
    else:
        name = shown.rollout

    async def look() -> Explain:
        return make()

    return RolloutKey((each.metadata.namespace, name)), {}, look


def _migration(each: Journal, text: str, worker: Worker, now: datetime) -> Explain:
    return migration(each.metadata.namespace, msgspec.json.decode(text, type=StorageJournal), worker, now)


def _upgrade(each: Journal, text: str, worker: Worker, now: datetime) -> Explain:
    found = msgspec.json.decode(text, type=Summary)
    stored = Upgraded(
        crd=found.crd or each.metadata.name,
        state=found.state.value,
        directory=found.directory,
        done=found.counts.done,
        failed=found.counts.failed,
        problem=found.problem,
        is_over=found.state in FINAL,
        is_back=found.state is UpgradePhase.ROLLED_BACK,
    )
    return upgrade(each.metadata.namespace, stored, worker, now)


LOOK = Look(roots=(JOURNALS,), rest=(RUN_LEASES,), open=JournalLooks)
