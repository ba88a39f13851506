"""The cluster's own migration: a StorageVersionMigration that is made or joined, and waited for.

That its API is served does not mean that somebody carries it out: one that does not run after RUNS_WITHIN is given up,
and one of ours is deleted then. That it succeeded is believed only together with the proof.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct, structs

from fairlead.core.act import Create, Delete, Does
from fairlead.core.ask import Ask, Bad, Discover, Good, Listing, Need, Read
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import StepResult
from fairlead.engine.decide.migration import MigrationPlan
from fairlead.engine.decide.storage_migration.journal import (
    BuiltIn,
    MigrationPhase,
    MigrationSnapshot,
    StepOutcome,
    StorageJournal,
    entering,
    moving,
)
from kubeloop.objects.meta import Ref, Resource, ServedVersion
from kubeloop.unreadable import UNREADABLE

GROUP, KIND = "storagemigration.k8s.io", "StorageVersionMigration"
VERSIONS = ("v1", "v1beta1")
RUNS_WITHIN = timedelta(seconds=60)
ENDS_WITHIN = timedelta(hours=1)
LOOKS = timedelta(seconds=2)
LABEL = {"app.kubernetes.io/managed-by": "fairlead"}


class _Condition(Struct, frozen=True):
    type: str
    status: str = ""
    message: str = ""


class _Status(Struct, frozen=True):
    conditions: list[_Condition] | None = None


class _Resource(Struct, frozen=True):
    group: str = ""
    resource: str = ""


class _Spec(Struct, frozen=True):
    resource: _Resource = _Resource()


class _Meta(Struct, frozen=True):
    name: str
    uid: str
    labels: dict[str, str] | None = None


class _Migration(Struct, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status | None = None

    def says(self, kind: str) -> _Condition | None:
        conditions = (self.status.conditions if self.status else None) or ()
        return next((each for each in conditions if (each.type, each.status) == (kind, "True")), None)

    @property
    def is_over(self) -> bool:
        return self.says("Succeeded") is not None or self.says("Failed") is not None


class _List(Struct, frozen=True):
    items: list[_Migration]


def name_of(plan: MigrationPlan) -> str:
    return f"fairlead-{plan.resource.plural}.{plan.resource.group}-{plan.generation}"


def choose(journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime) -> StepOutcome:
    """The cluster's own migration where it is served, every object is tracked, and nobody limits the run."""
    if why := _unsuited(journal, seen):
        return entering(structs.replace(journal, built_in_failed=why), MigrationPhase.REWRITE, now)
    asked = Ask(Discover(GROUP, KIND))
    if todo := seen.answers.lacking((asked,)):
        return Need(todo)
    served = _served(seen.answers[asked])
    if served is None:
        return entering(journal, MigrationPhase.REWRITE, now)
    return _begun(journal, plan, served, seen, now)


def _unsuited(journal: StorageJournal, seen: MigrationSnapshot) -> str:
    if journal.untracked:
        return f"{journal.untracked} objects have no managedFields, which it would begin to track"
    if journal.built_in_failed:
        return journal.built_in_failed
    if not seen.world.built_in:
        return "it is not to be asked for here"
    if seen.world.dry_run or seen.world.namespaces or seen.world.via_status:
        return "it knows no dry run, no choice of namespaces and no way through the status"
    return ""


def _served(answer: Good | Bad) -> Resource | None:
    if isinstance(answer, Bad):
        return None
    try:
        found = msgspec.json.decode(answer.value, type=list[ServedVersion])
    except UNREADABLE:
        return None
    by_version = {each.resource.version: each.resource for each in found}
    return next((by_version[each] for each in VERSIONS if each in by_version), None)


def _begun(
    journal: StorageJournal, plan: MigrationPlan, served: Resource, seen: MigrationSnapshot, now: datetime
) -> StepOutcome:
    """Joins one that is not over, else makes one in the place of our own old ones."""
    listing = Ask(Listing(served, ""))
    if todo := seen.answers.lacking((listing,)):
        return Need(todo)
    found = seen.answers[listing]
    if isinstance(found, Bad):
        return _without(journal, f"they cannot be listed: {found.text or found.kind}", now)
    try:
        all_ = msgspec.json.decode(found.value, type=_List).items
    except UNREADABLE:
        return _without(journal, "a list of them cannot be read", now)
    same = [each for each in all_ if each.spec.resource == _Resource(plan.resource.group, plan.resource.plural)]
    if under_way := next((each for each in same if not each.is_over), None):
        is_ours = under_way.metadata.name == name_of(plan)
        return _waiting(journal, BuiltIn(under_way.metadata.name, served.version, is_ours, now), now)
    old = tuple(_deleted(served, each) for each in same if (each.metadata.labels or {}).items() >= LABEL.items())
    create = Create(
        resource=served,
        namespace="",
        name=name_of(plan),
        body=msgspec.json.encode(_tree(plan, served)),
        does=Does.MIGRATE_BUILT_IN,
        change_to=plan.resource.version,
    )
    if todo := seen.answers.lacking(old, (create,)):
        return Need(todo)
    if isinstance(made := seen.answers[create], Bad) and made.code != 409:
        return _without(journal, f"none can be made: {made.text or made.kind}", now)
    return _waiting(journal, BuiltIn(name_of(plan), served.version, True, now), now)


def _tree(plan: MigrationPlan, served: Resource) -> dict[str, Any]:
    return {
        "apiVersion": served.api_version,
        "kind": KIND,
        "metadata": {"name": name_of(plan), "labels": LABEL},
        "spec": {"resource": {"group": plan.resource.group, "resource": plan.resource.plural}},
    }


def _waiting(journal: StorageJournal, built_in: BuiltIn, now: datetime) -> StepOutcome:
    return moving(structs.replace(journal, phase=MigrationPhase.BUILT_IN, built_in=built_in), "await_built_in", now)


def _without(journal: StorageJournal, why: str, now: datetime) -> StepOutcome:
    return entering(structs.replace(journal, built_in=None, built_in_failed=why), MigrationPhase.REWRITE, now)


def await_built_in(journal: StorageJournal, seen: MigrationSnapshot, now: datetime) -> StepOutcome:
    built_in = journal.built_in
    if built_in is None:
        return entering(journal, MigrationPhase.REWRITE, now)
    served = Resource(GROUP, built_in.version, "storageversionmigrations", KIND, namespaced=False)
    asked = Ask(Read(Ref(served, "", built_in.name)))
    if todo := seen.answers.lacking((asked,)):
        return Need(todo)
    answer = seen.answers[asked]
    if isinstance(answer, Bad):
        return _without(journal, f"{built_in.name} cannot be read: {answer.text or answer.kind}", now)
    try:
        found = msgspec.json.decode(answer.value, type=_Migration)
    except UNREADABLE:
        return _without(journal, f"{built_in.name} cannot be read", now)
    if found.says("Succeeded"):
        return entering(journal, MigrationPhase.VERIFY, now)
    if failed := found.says("Failed"):
        return _without(journal, f"{built_in.name} has failed: {failed.message or 'it does not say why'}", now)
    is_running = built_in.was_running or found.says("Running") is not None
    limit = ENDS_WITHIN if is_running else RUNS_WITHIN
    since = min(built_in.since, now)  # of a clock that was ahead, the time is over this long from now
    if now - since < limit:
        held = structs.replace(journal, built_in=structs.replace(built_in, was_running=is_running, since=since))
        return StepResult(held, Decision("await_built_in", Hold(Reason.MIGRATING, now + LOOKS)))
    if built_in.is_ours and todo_of_delete(seen, served, found):
        return Need(((_deleted(served, found),),))
    took = "does not end" if is_running else "was not begun"
    return _without(journal, f"{built_in.name} {took} within {limit.total_seconds():g} seconds", now)


def todo_of_delete(seen: MigrationSnapshot, served: Resource, found: _Migration) -> bool:
    return bool(seen.answers.lacking((_deleted(served, found),)))


def _deleted(served: Resource, found: _Migration) -> Delete:
    ref = Ref(served, "", found.metadata.name, found.metadata.uid)
    return Delete(ref=ref, does=Does.REMOVE_OBJECT)
