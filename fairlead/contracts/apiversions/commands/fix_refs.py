"""`fairlead api fix-refs`: what names versions that are about to go names the storage version (section 3.6)."""

from __future__ import annotations

import argparse
import asyncio

from msgspec import Struct, structs

from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.carried import terms_of
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.commands.version_step import add_rules
from fairlead.contracts.apiversions.converters import kind_by, rules_for
from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.crd_versions import (
    NoSuchVersion,
    name_of,
    resource_of,
    storage_version,
    version_of,
    versions_of,
)
from fairlead.contracts.apiversions.decide.field_translation import translated
from fairlead.contracts.apiversions.decide.pruned_leaves import schemas_of
from fairlead.contracts.apiversions.decide.reference_fix import FixFailure, FixJournal, FixPhase, FixView, step_of
from fairlead.contracts.apiversions.decide.rule_sets import RulesRejected
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.dependents import search
from fairlead.core.amounts import counted
from fairlead.engine.command import Invocation, Subcommand, Usage
from fairlead.engine.decide.job import journaled
from fairlead.engine.decide.managed_fields import Entry, Fields
from fairlead.engine.job_run import CommandJob, JobStopped, run_job
from fairlead.engine.object_files import UnreadableFile
from fairlead.engine.progress import RunProgress
from kubeloop.records import MemoryRecords


class Fixed(Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """What `-o json` says."""

    crd: str
    version: str
    """That is named now."""
    hub: str = ""
    """That ownerReferences name, where it is another."""
    objects: int
    dependents: int
    failures: tuple[FixFailure, ...] = ()
    unlisted: tuple[str, ...] = ()
    message: str = ""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("crd", metavar="CRD", help="name of a CRD, PLURAL.GROUP")
    about = "a version that is about to go; may be repeated; default every one but the storage version"
    parser.add_argument("--version", metavar="VERSION", action="append", default=[], help=about)
    add_rules(parser)
    options.add_dependents(parser)
    for add in (options.add_dry_run, options.add_output, options.add_audit, options.add_walk):
        add(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments
    try:
        definition = await definition_of(called.client, given.crd)
        rules = await rules_for(called.client, definition, given.rules)
        hub = storage_version(definition) if rules is None else rules.hub
        going = _going(definition, given.version, hub)
        kind = None if rules is None else kind_by(rules, definition)
    except (NoDefinition, NoSuchVersion) as error:
        return complain(str(error))
    except (RulesRejected, UnreadableFile) as error:
        raise Usage(str(error)) from None
    try:
        async with asyncio.timeout(given.timeout):
            journal = await _fixed(called, definition, going, hub, kind)
    except TimeoutError:
        return complain(
            f"{given.crd} was not done within --timeout; run the command again, which leaves alone what is done",
            codes.RESUMABLE,
        )
    except JobStopped as error:
        return complain(f"{given.crd}: {error}")
    return _told(journal, definition, hub, called)


def _going(definition: Tree, named: list[str], hub: str) -> frozenset[str]:
    storage = storage_version(definition)
    for each in named:
        version_of(definition, each)
        if each in (storage, hub):
            what = "storage version" if each == storage else "hub"
            raise Usage(f"{each} is the {what} of {name_of(definition)}, which references are to name")
    return frozenset(named or [each for each in versions_of(definition) if each not in (storage, hub)])


async def _fixed(
    called: Invocation, definition: Tree, going: frozenset[str], hub: str, kind: KindConversion | None
) -> FixJournal:
    given, storage = called.arguments, storage_version(definition)
    stored = resource_of(definition, storage)
    looking = await search(called.client, given.dependents, given.page_size, stored=stored)
    schema = schemas_of(definition)[storage]

    def in_storage(entry: Entry, tree: Tree) -> Fields:
        return translated(entry, tree, storage, schema, kind)

    view = FixView(
        crd=name_of(definition),
        resource=stored,
        hub=hub,
        goes=going,
        has=frozenset(versions_of(definition)),
        kinds=looking.kinds,
        namespaces=called.namespaces,
        page_size=given.page_size,
    )
    job = CommandJob(
        name="fix-refs",
        record="fix-refs",
        journal=FixJournal,
        decide=journaled(step_of(in_storage), FixJournal),
        world=view,
        tally=lambda journal: _tally(journal, view),
    )
    with terms_of(given, called.client, MemoryRecords()) as terms:
        ended = await run_job(job, terms)
    return structs.replace(ended, unlisted=(*looking.unlisted, *ended.unlisted))


def _tally(journal: FixJournal, view: FixView) -> RunProgress:
    return RunProgress(
        subject=view.crd, phase=journal.phase.value, done=journal.seen, failed=journal.failed, cursor=journal.cursor
    )


def _told(journal: FixJournal, definition: Tree, hub: str, called: Invocation) -> int:
    result = Fixed(
        crd=name_of(definition),
        version=storage_version(definition),
        hub=hub if hub != storage_version(definition) else "",
        objects=journal.objects,
        dependents=journal.dependents,
        failures=journal.failures,
        unlisted=journal.unlisted,
        message=journal.problem,
    )
    show(result, called.arguments.output, "\n".join(_text(result, dry_run=called.arguments.dry_run)))
    if journal.phase is FixPhase.DONE:
        return codes.DONE
    return codes.OBJECTS_FAILED if journal.phase is FixPhase.INCOMPLETE else codes.ERROR


def _text(result: Fixed, *, dry_run: bool) -> list[str]:
    name = "could name" if dry_run else "name"
    owned = f"managedFields of {counted(result.objects, 'object')}"
    owners = f"ownerReferences of {counted(result.dependents, 'dependent')}"
    if result.hub:
        owned = f"{owned} {name} {result.version}"
    lines = [f"{result.crd}: {owned} and {owners} {name} {result.hub or result.version} now"]
    if result.message:
        lines.append(f"  {result.message}; run the command again")
    lines += [f"  {each.object}: {each.cause}" for each in result.failures]
    if result.unlisted:
        lines.append(f"  not looked at, because they cannot be listed: {', '.join(result.unlisted)}")
    return lines


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
