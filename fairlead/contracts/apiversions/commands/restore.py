"""`fairlead api restore`: the objects of a backup as they were; nothing is deleted (section 3.7.6)."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from fairlead.contracts.apiversions.backup_directory import Backup, DirectoryRecords, TriedRecords, opened
from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of
from fairlead.contracts.apiversions.commands.no_namespaces import refuse_namespaces
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.decide.offline import restore_steps
from fairlead.contracts.apiversions.decide.offline.backup_format import BadBackup
from fairlead.contracts.apiversions.decide.offline.object_parts import parts_of
from fairlead.contracts.apiversions.decide.offline.object_restore import listed, schemas_through
from fairlead.contracts.apiversions.decide.offline.restore_journal import (
    PAGE,
    RestoredObject,
    RestoreJournal,
    RestoreWorld,
)
from fairlead.contracts.apiversions.decide.offline.restored_owners import depths
from fairlead.contracts.apiversions.decide.pruned_leaves import lost_of
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.routed_records import RoutedRecords
from fairlead.core.amounts import counted
from fairlead.engine.command import Invocation, Precondition, Subcommand
from fairlead.engine.driver.request_pace import RequestPace
from fairlead.engine.job_run import CommandJob, RunTerms, run_job
from fairlead.engine.progress import ProgressReporter, RunProgress
from kubeloop.client import Client
from kubeloop.records import MemoryRecords
from kubeloop.schemas.structural import Node

JOURNAL = "restore"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path, help="a backup")
    about = "write over objects of the same name that are others than those of the backup"
    parser.add_argument("--replace-different-uid", action="store_true", help=about)
    options.add_dry_run(parser)
    options.add_output(parser)
    options.add_walk(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments
    refuse_namespaces(called, "a restore")
    try:
        backup = await asyncio.to_thread(opened, given.directory)
        world = await world_of(
            called.client,
            backup,
            replaces_others=given.replace_different_uid,
            dry_run=given.dry_run,
            page=given.page_size,
        )
        terms = terms_of(called.client, backup, given)
    except BadBackup as error:
        complain(str(error))
        return codes.ERROR
    try:
        async with asyncio.timeout(given.timeout):
            journal = await restore(world, backup, terms)
    except TimeoutError:
        late = f"{backup.place} was not restored within --timeout; run the command again and it goes on where it was"
        return complain(late, codes.RESUMABLE)
    except asyncio.CancelledError:
        cut = f"interrupted; run `fairlead api restore {backup.place}` again and it goes on where it was"
        return complain(cut, codes.RESUMABLE)
    show(journal, given.output, _text(journal, backup, dry_run=given.dry_run))
    if journal.problem:
        complain(f"{journal.problem}; run the command again")
        return codes.RESUMABLE
    return codes.OBJECTS_FAILED if journal.failed_count else codes.DONE


async def world_of(
    client: Client, backup: Backup, *, replaces_others: bool = False, dry_run: bool = False, page: int = PAGE
) -> RestoreWorld:
    """What is to be restored; raises Precondition where the cluster cannot take it."""
    manifest = backup.manifest
    try:
        live = await definition_of(client, manifest.crd)
    except NoDefinition:
        raise Precondition(
            f"there is no CRD {manifest.crd}: create it first, with `kubectl create -f {backup.place}/crd.yaml`"
        ) from None
    _check_served(live, backup)
    schemas = schemas_through(live, manifest.version)
    await asyncio.to_thread(_check_stored, schemas, backup)
    uids, owners = await asyncio.to_thread(_owned_in, backup)
    below = depths(uids, owners)
    return RestoreWorld(
        paths=tuple(sorted(manifest.paths, key=lambda each: (below.get(each, 0), each))),
        parts=parts_of(live, manifest.version),
        dependents=manifest.dependents,
        replaces_others=replaces_others,
        dry_run=dry_run,
        page=page,
        schemas=schemas,
        depths=below,
        uids=frozenset(uids),
        versions=frozenset(each["name"] for each in live["spec"]["versions"]),
    )


def _owned_in(backup: Backup) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Paths by UID, and the UIDs of owners by path."""
    metas = {path: msgspec.json.decode(backup.content(path))["metadata"] for path in backup.manifest.paths}
    owners = {path: tuple(each["uid"] for each in meta.get("ownerReferences") or ()) for path, meta in metas.items()}
    return {meta["uid"]: path for path, meta in metas.items()}, {path: held for path, held in owners.items() if held}


def terms_of(client: Client, backup: Backup, given: argparse.Namespace) -> RunTerms:
    records = DirectoryRecords(backup)
    records.load()
    memory = MemoryRecords()
    return RunTerms(
        client=client,
        records=RoutedRecords({JOURNAL: memory}, records),
        tried_records=RoutedRecords({JOURNAL: memory}, TriedRecords(records)),
        pace=RequestPace(given.qps, given.burst),
        at_once=given.concurrency,
        dry_run=given.dry_run,
        reporter=ProgressReporter(given.progress, sys.stderr),
    )


async def restore(world: RestoreWorld, backup: Backup, terms: RunTerms) -> RestoreJournal:
    """What has become of the objects."""

    def tally(journal: RestoreJournal) -> RunProgress:
        skipped, failed = journal.skipped_count, journal.failed_count
        done = journal.same + journal.changed + journal.created
        total = len(world.paths)
        return RunProgress(
            subject=backup.manifest.crd, phase="Restore", done=done, skipped=skipped, failed=failed, total=total
        )

    job = CommandJob(
        name="restore",
        record=JOURNAL,
        journal=RestoreJournal,
        decide=restore_steps.decide,
        world=world,
        tally=tally,
        counts=lambda question, answer: False,
    )
    return await run_job(job, terms)


def _check_served(live: Tree, backup: Backup) -> None:
    manifest = backup.manifest
    served = [each["name"] for each in live["spec"]["versions"] if each.get("served")]
    if manifest.version not in served:
        raise Precondition(
            f"the backup holds objects in {manifest.version}, and {manifest.crd} serves {', '.join(served) or 'none'}:"
            f" serve {manifest.version} again, with its schema as in {backup.place}/crd.yaml"
        )
    if live["spec"]["scope"] != backup.definition["spec"]["scope"]:
        raise Precondition(f"{manifest.crd} is not {backup.definition['spec']['scope']} any more, as the backup is")


def _check_stored(schemas: Mapping[str, Node], backup: Backup) -> None:
    """Whether another version, under whose name objects would be stored by nobody's conversion, knows their fields."""
    manifest = backup.manifest
    for version, schema in schemas.items():
        if version == manifest.version:
            continue
        lost = [each for path in manifest.paths if (each := lost_of(msgspec.json.decode(backup.content(path)), schema))]
        if lost:
            raise Precondition(
                f"{counted(len(lost), 'object')} would be stored in {version}, which has no "
                f"{listed(lost[0])}, and nobody converts {manifest.crd}: attach rules with "
                f"`fairlead api attach {manifest.crd} --rules FILE`,"
                f" or widen the schemas with `fairlead api serve {manifest.crd} {manifest.version} --union`"
            )


def _text(journal: RestoreJournal, backup: Backup, *, dry_run: bool) -> str:
    would = "would be " if dry_run else ""
    same, changed, made = journal.same, journal.changed, journal.created
    crd = backup.manifest.crd
    kept = counted(same, "object is", "objects are")
    lines = [f"{crd}: {kept} as in the backup, {changed} {would}brought back, {made} {would}made again"]
    if journal.pointed:
        lines.append(f"{counted(journal.pointed, 'object')} that they own {would}pointed to them")
    lines += _named("orphaned", journal.orphaned, journal.orphaned_count)
    lines += _named("skipped", journal.skipped, journal.skipped_count)
    lines += _named("failed", journal.failed, journal.failed_count)
    return "\n".join(lines)


def _named(word: str, some: tuple[RestoredObject, ...], count: int) -> list[str]:
    lines = [f"{word}: {each.name}: {each.text}" for each in some]
    return [*lines, f"{word}: {count - len(some)} more"] if count > len(some) else lines


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
