"""An offline upgrade carried to its end, by a command or by an operator."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.backup_directory import Backup, DirectoryRecords
from fairlead.contracts.apiversions.decide.offline import upgrade_steps
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import UpgradeJournal, UpgradePhase, UpgradeWorld
from fairlead.contracts.apiversions.kinds import MANAGED_BY
from fairlead.contracts.apiversions.upgrade_plans import UpgradePlan
from fairlead.contracts.apiversions.upgrade_records import JOURNAL, UpgradeRecords
from fairlead.core.act import Does, Replace
from fairlead.core.ask import Answer, Good, Question
from fairlead.core.domain import short_hash
from fairlead.engine.command import Precondition
from fairlead.engine.job_run import CommandJob, RunTerms, run_job
from fairlead.engine.progress import RunProgress
from fairlead.engine.run_lease import identity
from kubeloop.objects.meta import Resource
from kubeloop.records import Records

WALKS = frozenset({UpgradePhase.CONVERTING, UpgradePhase.CONVERTED, UpgradePhase.OWNED, UpgradePhase.RESTORING})
WRITES = frozenset({Does.CONVERT_OBJECT, Does.RESTORE_OBJECT})
NOT_UNDONE = frozenset({UpgradePhase.STARTED, UpgradePhase.DONE})


class Upgrade(Struct, frozen=True, kw_only=True):
    plan: UpgradePlan
    begun: UpgradeJournal
    backup: Backup
    directory: DirectoryRecords
    """Loaded."""
    kinds: tuple[Resource, ...]
    """Of what the objects may own."""
    summaries: Records
    entry: str
    caller: str = ""
    back: bool = False
    page: int = 500
    settle_seconds: float = 10.0

    @property
    def records(self) -> UpgradeRecords:
        return UpgradeRecords(
            self.directory, self.summaries, self.entry, self.backup.place.resolve(), self.backup.digest
        )


async def carried_on(upgrade: Upgrade, terms: RunTerms) -> UpgradeJournal:
    """The journal at the end of the run; raises Precondition for one that cannot be undone."""
    held = await upgrade.directory.get(JOURNAL)
    if upgrade.back and held.value:
        _check_undoable(held.value, upgrade)
    old, new = upgrade.plan.parts
    world = UpgradeWorld(
        run=identity(),
        begun=upgrade.begun,
        kind=upgrade.plan.kind,
        before=upgrade.plan.before,
        wanted=upgrade.plan.wanted,
        old=old,
        new=new,
        caller=upgrade.caller,
        freeze_name=f"fairlead-freeze-{short_hash(upgrade.plan.crd)}",
        kinds=upgrade.kinds,
        back=upgrade.back,
        page=upgrade.page,
        settle_seconds=upgrade.settle_seconds,
        marks=MANAGED_BY,
    )
    job = CommandJob(
        name="offline-upgrade",
        record=JOURNAL,
        journal=UpgradeJournal,
        decide=upgrade_steps.decide,
        world=world,
        tally=_tally,
        counts=_is_object_written,
    )
    return await run_job(job, terms)


def _check_undoable(journal: bytes, upgrade: Upgrade) -> None:
    phase = msgspec.json.decode(journal, type=UpgradeJournal).phase
    if phase in NOT_UNDONE:
        raise Precondition(
            f"the upgrade is {phase.value}, and the new operator may have worked since, so it is not undone:"
            f" `fairlead api restore {upgrade.backup.place}` brings objects back once {upgrade.plan.old} is served"
        )


def _is_object_written(question: Question, answer: Answer) -> bool:
    return (
        isinstance(question, Replace)
        and question.does in WRITES
        and not question.subresource
        and isinstance(answer, Good)
    )


def _tally(journal: UpgradeJournal) -> RunProgress:
    phase = journal.phase.value
    if journal.migration is not None:
        counts = journal.migration.counts
        phase = f"{phase} ({journal.migration.phase.value})"
        return RunProgress(
            subject=journal.crd, phase=phase, done=counts.done, failed=counts.failed, total=journal.total
        )
    counts_ = journal.counts
    total = journal.total if journal.phase in WALKS else None
    return RunProgress(
        subject=journal.crd, phase=phase, done=counts_.done + counts_.left, failed=counts_.failed, total=total
    )
