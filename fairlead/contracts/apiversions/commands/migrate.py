"""`fairlead api migrate`: every object of a CRD is stored in its storage version, and the others are forgotten
(section 3.5)."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable

from msgspec import Struct

from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.carried import terms_of
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.unconverted_writes import unconverted
from fairlead.contracts.apiversions.kinds import CRD_OWNER, HOME
from fairlead.engine.command import Invocation, Precondition, Subcommand
from fairlead.engine.decide.storage_migration.journal import MigrationPhase, ObjectFailure, StorageJournal, StorageView
from fairlead.engine.decide.storage_migration.names import JOURNAL_LABELS, journal_entry, migration_name
from fairlead.engine.decide.storage_migration.steps import decide_of
from fairlead.engine.job_run import CommandJob, JobStopped, run_job
from fairlead.engine.progress import RunProgress
from fairlead.engine.run_lease import LostLease, exclusively, identity
from kubeloop.client import Client
from kubeloop.config_map_records import ConfigMapRecords
from kubeloop.election import Election
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref


class Migrated(Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """What `-o json` says of one CRD."""

    crd: str
    result: str
    """The phase at which it ended: `Clean`, `Rehearsed`, `Incomplete` or `Conflict`, or where it was stopped."""
    storage_version: str = ""
    rewritten: int = 0
    skipped: int = 0
    failed: int = 0
    repaired: int = 0
    failures: tuple[ObjectFailure, ...] = ()
    truncated: bool = False
    message: str = ""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("crds", metavar="CRD", nargs="+", help="name of a CRD, PLURAL.GROUP")
    parser.add_argument("--force", action="store_true", help="also where storedVersions is clean already")
    about = "write through /status, past admission webhooks that refuse old objects"
    parser.add_argument("--via-status", action="store_true", help=about)
    options.add_common(parser)


async def _run(called: Invocation) -> int:
    worst = codes.DONE
    results: list[Migrated] = []
    texts: list[str] = []
    for name in dict.fromkeys(called.arguments.crds):
        code, result = await _one(called, name)
        worst = max(worst, code)
        if result is not None:
            results.append(result)
            texts += _text(result)
        if code == codes.RESUMABLE:
            break
    if texts or called.arguments.output != "text":
        show(results, called.arguments.output, "\n".join(texts))
    return worst


async def _one(called: Invocation, name: str) -> tuple[int, Migrated | None]:
    given = called.arguments
    try:
        definition = await definition_of(called.client, name)
    except NoDefinition as error:
        return complain(str(error)), None
    if given.via_status and not _has_status(definition):
        without = f"the storage version of {name} has no status subresource: leave out --via-status"
        return complain(without, codes.PRECONDITION), None
    try:
        async with asyncio.timeout(given.timeout):
            journal = await _migrated(called, definition)
    except TimeoutError:
        late = f"{name} was not done within --timeout; run the command again and it goes on where it was"
        return complain(late, codes.RESUMABLE), None
    except asyncio.CancelledError:
        if given.dry_run:  # nothing was begun
            raise
        cut = f"interrupted; run `fairlead api migrate {name}` again and it goes on where it was"
        return complain(cut, codes.RESUMABLE), None
    except (JobStopped, LostLease) as error:
        return complain(f"{name}: {error}; run the command again, which goes on where its journal says"), None
    except Precondition as error:  # of one CRD; the others are migrated
        return complain(str(error), codes.PRECONDITION), None
    if journal.phase is MigrationPhase.CHECK:
        about = "" if name in journal.problem else f"{name}: "
        return complain(f"{about}{journal.problem}", codes.PRECONDITION), None
    return _code(journal), _result(journal)


def _migrated(called: Invocation, definition: Tree) -> Awaitable[StorageJournal]:
    given, name = called.arguments, definition["metadata"]["name"]
    namespace = journal_namespace(definition, given.journal)
    if given.dry_run:
        return _walked(called, name, namespace, None)
    lease = Ref(LEASES, namespace, migration_name(name))

    def told(text: str) -> None:
        complain(text)

    def work(election: Election) -> Awaitable[StorageJournal]:
        return _walked(called, name, namespace, election)

    return exclusively(called.client, lease, work, told, elsewhere=options.OTHER_JOURNAL)


async def _walked(called: Invocation, name: str, namespace: str, election: Election | None) -> StorageJournal:
    given = called.arguments
    client = called.client if election is None else _guarded(called.client, election)
    view = StorageView(
        crd=name,
        run=identity(),
        force=given.force,
        dry_run=given.dry_run,
        namespaces=called.namespaces,
        page_size=given.page_size,
        settle_seconds=given.settle,
        via_status=given.via_status,
        loses=given.yes,
    )
    job = CommandJob(
        name="migrate",
        record=journal_entry(name),
        journal=StorageJournal,
        decide=decide_of(unconverted),
        world=view,
        tally=tally,
    )
    records = ConfigMapRecords(called.client, namespace, JOURNAL_LABELS)
    with terms_of(given, client, records, election.gate if election is not None else None) as terms:
        found = await run_job(job, terms)
    # The journal of an earlier run: there was nothing to do for this one.
    return found if found.run == view.run else StorageJournal(crd=name, phase=found.phase)


def _guarded(client: Client, election: Election) -> Client:
    """The same client, through which nothing is written when the Lease is lost."""
    return client.gated(election.gate)


def tally(journal: StorageJournal) -> RunProgress:
    counts = journal.counts
    return RunProgress(
        subject=journal.crd,
        phase=journal.phase.value,
        done=counts.done,
        skipped=counts.skipped,
        failed=counts.failed,
        total=counts.total,
        cursor=journal.cursor,
    )


def journal_namespace(definition: Tree, given: str) -> str:
    """Where its journal is: as `--journal` says, else with the installation that owns it."""
    annotations = definition["metadata"].get("annotations") or {}
    return given or annotations.get(CRD_OWNER) or HOME


def _has_status(definition: Tree) -> bool:
    versions = definition["spec"]["versions"]
    return any("status" in (each.get("subresources") or {}) for each in versions if each.get("storage"))


def _code(journal: StorageJournal) -> int:
    match journal.phase:
        case MigrationPhase.CLEAN | MigrationPhase.REHEARSED:
            return codes.DONE
        case MigrationPhase.INCOMPLETE:
            return codes.OBJECTS_FAILED
        case MigrationPhase.CONFLICT:
            return codes.CHANGED
    return codes.ERROR


def _result(journal: StorageJournal) -> Migrated:
    counts = journal.rewritten if journal.phase is not MigrationPhase.REWRITE else journal.counts
    return Migrated(
        crd=journal.crd,
        result=journal.phase.value,
        storage_version=journal.plan.resource.version if journal.plan is not None else "",
        rewritten=counts.done,
        skipped=counts.skipped,
        failed=len(journal.failures)
        if journal.phase is MigrationPhase.INCOMPLETE and not counts.failed
        else counts.failed,
        repaired=journal.repaired,
        failures=journal.failures,
        truncated=journal.truncated,
        message=journal.problem,
    )


def _text(result: Migrated) -> list[str]:
    beside = [f"{result.rewritten} written"]
    beside += [f"{count} {word}" for count, word in ((result.skipped, "skipped"), (result.failed, "failed")) if count]
    done = f"({', '.join(beside)})"
    match result.result:
        case "Clean" if not result.storage_version:
            lines = [f"{result.crd}: nothing to do, storedVersions is clean; --force writes every object anyway"]
        case "Clean":
            lines = [f"{result.crd}: every object is stored in {result.storage_version} {done}"]
        case "Rehearsed" if not result.message:
            lines = [f"{result.crd}: nothing was written; every object could be ({result.rewritten} tried)"]
        case "Rehearsed":
            lines = [f"{result.crd}: {result.message} {done}"]
        case "Conflict":
            lines = [f"{result.crd}: {result.message}; storedVersions stays, run the command again"]
        case "Incomplete":
            lines = [f"{result.crd}: {result.message}; storedVersions stays {done}"]
        case phase:
            lines = [f"{result.crd}: stopped at {phase}: {result.message}; run the command again and it goes on"]
    lines += [f"  {each.object}: {each.cause}" for each in result.failures]
    return lines + (["  and more, which are not named"] if result.truncated else [])


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
