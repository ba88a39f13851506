"""`fairlead api offline-upgrade`: another storage version without a webhook, step by step, and back (section 3.7)."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from msgspec import structs

from fairlead.contracts.apiversions.backing_up import Backer
from fairlead.contracts.apiversions.backup_directory import Backup, DirectoryRecords, opened
from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.carried import terms_of
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of, journal_namespace
from fairlead.contracts.apiversions.commands.no_namespaces import refuse_namespaces
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.commands.upgrade_texts import outcome_of, plan_text, rehearsal_text
from fairlead.contracts.apiversions.decide.offline import rehearsal
from fairlead.contracts.apiversions.decide.offline.backup_format import BadBackup
from fairlead.contracts.apiversions.decide.offline.rehearsal import RehearsalJournal, RehearsalWorld
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import (
    FINAL,
    UpgradeEnd,
    UpgradeJournal,
    UpgradePhase,
    goes_back,
)
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.dependents import search, unasked
from fairlead.contracts.apiversions.offline_upgrade import Upgrade, carried_on
from fairlead.contracts.apiversions.told_waits import ToldWaits
from fairlead.contracts.apiversions.upgrade_plans import (
    UpgradePlan,
    caller_of,
    check_freezable,
    check_rules,
    kept_files,
    kept_plan,
    planned,
    try_definition,
    workload_of,
)
from fairlead.contracts.apiversions.upgrade_records import JOURNAL, Summary, told
from fairlead.core.amounts import counted
from fairlead.engine.command import Invocation, Precondition, Subcommand, Usage
from fairlead.engine.decide.storage_migration.names import JOURNAL_LABELS, migration_name
from fairlead.engine.job_run import CommandJob, JobStopped, run_job
from fairlead.engine.progress import RunProgress
from fairlead.engine.run_lease import LostLease, exclusively
from kubeloop import clock
from kubeloop.config_map_records import ConfigMapRecords
from kubeloop.election import Election
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.records import MemoryRecords

UNDER_WAY = frozenset(UpgradePhase) - FINAL - {UpgradePhase.BACKED_UP}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("crd", metavar="CRD", help="name of the CRD, PLURAL.GROUP")
    about = "the definition with the new storage version"
    parser.add_argument("-f", "--filename", metavar="NEWCRD", default="", help=about)
    parser.add_argument("--rules", metavar="FILE", default="", help="how objects become those of the new version")
    about = "workload to stop meanwhile: a Deployment or StatefulSet"
    parser.add_argument("--operator", metavar="NAMESPACE/KIND/NAME", default="", help=about)
    parser.add_argument(
        "--freeze", action="store_true", help="deny every write of the kind to everybody else meanwhile"
    )
    about = "directory for the backup; default ./fairlead-backup-CRD-TIME"
    parser.add_argument("--backup", metavar="DIR", type=Path, default=None, help=about)
    parser.add_argument(
        "--remove", action="store_true", help="remove the old versions at the end, not only unserve them"
    )
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--resume", action="store_true", help="go on with an upgrade that was cut off")
    ways.add_argument("--rollback", action="store_true", help="undo one: objects, CRD and operator as before")
    options.add_dependents(parser)
    options.add_common(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments
    refuse_namespaces(called, "an offline upgrade")
    goes_on = given.resume or given.rollback
    if goes_on and (given.filename or given.rules or given.operator or given.freeze or given.remove):
        raise Usage("--resume and --rollback go by what the upgrade began with: leave out -f, --rules and the rest")
    if not goes_on and not (given.filename and given.rules):
        raise Usage("an upgrade needs -f NEWCRD and --rules FILE")
    definition = await _definition(called)
    begun = _Begun(called, definition)
    try:
        async with asyncio.timeout(given.timeout):
            return await (begun.go_on() if goes_on else begun.begin())
    except BadBackup as error:
        raise Precondition(str(error)) from None
    except (TimeoutError, asyncio.CancelledError):
        return begun.interrupted()
    except (JobStopped, LostLease) as error:
        complain(f"{given.crd}: {error}; {begun.way_on}")
        return codes.ERROR
    except OSError as error:
        complain(f"the backup cannot be written ({(error.strerror or str(error)).lower()}); {begun.way_on}")
        return codes.RESUMABLE


async def _definition(called: Invocation) -> Tree:
    """The live one. One that was deleted meanwhile has left the operator stopped, and a freeze, which can be undone."""
    try:
        return await definition_of(called.client, called.arguments.crd)
    except NoDefinition:
        if not called.arguments.rollback:
            raise
        return {"metadata": {}}


class _Begun:
    """One call of the command."""

    def __init__(self, called: Invocation, definition: Tree) -> None:
        self._called, self._definition = called, definition
        self._given, self._client = called.arguments, called.client
        self._namespace = journal_namespace(definition, self._given.journal)
        self._summaries = ConfigMapRecords(called.client, self._namespace, JOURNAL_LABELS)
        self._entry = f"{migration_name(self._given.crd)}/{JOURNAL}"
        self._place: Path | None = None
        """Of the backup, once there is one."""

    async def begin(self) -> int:
        given, name = self._given, self._given.crd
        if (under_way := await self._summary()) is not None and under_way.state in UNDER_WAY:
            raise Precondition(
                f"an upgrade of {name} is under way ({under_way.state.value}): go on with --resume or undo it with"
                f" --rollback, each with --backup {under_way.directory}"
            )
        plan = planned(self._definition, given.filename, given.rules)
        operator = await workload_of(self._client, given.operator) if given.operator else None
        if given.freeze:
            await check_freezable(self._client)
        await asyncio.to_thread(check_rules, plan)
        rehearsed = await self._rehearsed(plan)
        journal = UpgradeJournal(
            crd=name,
            uid=self._definition["metadata"]["uid"],
            old=plan.old,
            new=plan.new,
            freeze=given.freeze,
            remove=given.remove,
            operator=operator,
            total=rehearsed.done,
        )
        if rehearsed.problem:
            complain(f"{rehearsed.problem}; nothing was written")
            return codes.ERROR
        if rehearsed.failed:
            print(rehearsal_text(rehearsed))
            raise Precondition(f"{counted(rehearsed.failed, 'object')} cannot be converted, so nothing was written")
        place = given.backup or Path(f"fairlead-backup-{name}-{clock.now():%Y%m%dT%H%M%SZ}")
        text = plan_text(plan, journal, rehearsed, place)
        if given.dry_run:
            await try_definition(self._client, plan)
            show({"plan": text.splitlines(), "rehearsal": rehearsed}, given.output, text)
            return codes.DONE
        print(text, file=sys.stderr)
        return await self._exclusively(lambda election: self._from_backup(plan, journal, place, election))

    async def go_on(self) -> int:
        place = self._given.backup or await self._recorded_place()
        backup = await asyncio.to_thread(opened, place)
        if backup.manifest.crd != self._given.crd:
            raise Precondition(f"{place} is a backup of {backup.manifest.crd}, not of {self._given.crd}")
        plan, begun = kept_plan(backup)
        summary = await self._summary()
        if summary is None:
            complain(f"the ConfigMap {migration_name(self._given.crd)} says nothing of it; it is made from {place}")
        elif summary.state in UNDER_WAY and summary.manifest_sha256 != backup.digest:
            raise Precondition(f"the upgrade that is under way has another backup: give --backup {summary.directory}")
        self._place = place
        return await self._exclusively(lambda election: self._carried(plan, begun, backup, election))

    @property
    def way_on(self) -> str:
        """What a person can do after a run that was cut off."""
        if self._place is None:
            return "nothing was changed in the cluster"
        command = f"fairlead api offline-upgrade {self._given.crd}"
        if self._given.rollback:
            return f"go on undoing it with `{command} --rollback --backup {self._place}`"
        command += f" --resume --backup {self._place}"
        return f"go on with `{command}`, or undo it with --rollback in the place of --resume"

    def interrupted(self) -> int:
        complain(f"interrupted; {self.way_on}")
        return 130 if self._place is None else codes.RESUMABLE

    async def _from_backup(
        self, plan: UpgradePlan, journal: UpgradeJournal, place: Path, election: Election | None
    ) -> int:
        through = await search(self._client, self._given.dependents, self._given.page_size)
        backer = Backer(self._client, self._definition, place, page=self._given.page_size, told=lambda *_: None)
        await backer.take(through, kept_files(plan, journal))
        self._place = place
        return await self._carried(plan, journal, await asyncio.to_thread(opened, place), election)

    async def _carried(
        self, plan: UpgradePlan, begun: UpgradeJournal, backup: Backup, election: Election | None
    ) -> int:
        given = self._given
        directory = DirectoryRecords(backup)
        directory.load()
        client = self._client if election is None else self._client.gated(election.gate)
        through = await search(self._client, given.dependents, given.page_size)
        if through.unlisted:
            complain(unasked(through.unlisted))
        upgrade = Upgrade(
            plan=plan,
            begun=begun,
            backup=backup,
            directory=directory,
            kinds=through.kinds,
            summaries=self._summaries,
            entry=self._entry,
            caller=await caller_of(self._client) if begun.freeze else "",
            back=given.rollback,
            page=given.page_size,
            settle_seconds=given.settle,
        )
        found = await _phase_in(directory)
        had_ended = found in FINAL
        if not given.rollback and found is not None and goes_back(found) and not had_ended:
            complain(f"{given.crd}: its undoing has begun, and that is gone on with")
        with terms_of(given, client, upgrade.records, None) as terms:
            journal = await carried_on(upgrade, structs.replace(terms, heard=ToldWaits(complain).heard))
        return self._ended(journal, backup, had_ended=had_ended)

    def _ended(self, journal: UpgradeJournal, backup: Backup, *, had_ended: bool) -> int:
        result, text = outcome_of(journal, backup.place, had_ended=had_ended)
        show(result, self._given.output, text)
        if journal.end is None:
            return codes.DONE
        complain(
            f"{journal.problem}; put it right and go on with --resume --backup {backup.place}, or undo with --rollback"
        )
        return {
            UpgradeEnd.FAILED: codes.OBJECTS_FAILED,
            UpgradeEnd.LOST: codes.RESUMABLE,
            UpgradeEnd.STUCK: codes.ERROR,
            UpgradeEnd.CHANGED: codes.CHANGED,
        }[journal.end]

    async def _rehearsed(self, plan: UpgradePlan) -> RehearsalJournal:
        """Every object converted here, before anything is written."""
        old, new = plan.parts
        served = {each["name"] for each in self._definition["spec"]["versions"] if each.get("served")}
        world = RehearsalWorld(
            plan.kind,
            old,
            new,
            tries=plan.new in served,
            without=plan.old if self._given.remove else "",
            page=self._given.page_size,
        )
        job = CommandJob(
            name="rehearse",
            record="rehearsal",
            journal=RehearsalJournal,
            decide=rehearsal.decide,
            world=world,
            tally=lambda journal: RunProgress(
                subject=plan.crd, phase="Planned", done=journal.done, failed=journal.failed
            ),
            counts=lambda question, answer: False,
        )
        with terms_of(self._given, self._client, MemoryRecords()) as terms:
            return await run_job(job, terms)

    async def _summary(self) -> Summary | None:
        return await told(self._summaries, self._entry)

    async def _recorded_place(self) -> Path:
        if (summary := await self._summary()) is not None:
            return Path(summary.directory)
        raise Usage("say with --backup DIR where the backup of the upgrade is")

    def _exclusively(self, work: Callable[[Election], Awaitable[int]]) -> Awaitable[int]:
        lease = Ref(LEASES, self._namespace, migration_name(self._given.crd))
        return exclusively(self._client, lease, work, told=complain, elsewhere=options.OTHER_JOURNAL)


async def _phase_in(directory: DirectoryRecords) -> UpgradePhase | None:
    """What the directory says of the upgrade before this run; None where it has not begun."""
    held = (await directory.get(JOURNAL)).value
    return msgspec.json.decode(held, type=UpgradeJournal).phase if held else None


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
