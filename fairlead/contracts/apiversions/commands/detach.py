"""`fairlead api detach`: a CRD does without the operator from then on, where that loses nothing (section 3.13)."""

from __future__ import annotations

import argparse
import asyncio

from fairlead.contracts.apiversions import attach_map
from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.attach import add_home, is_attached
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of, journal_namespace
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.decide.detaching import blockers, detach_patch, united
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import CRD_OWNER
from fairlead.engine.command import Invocation, Precondition, Subcommand, Usage
from fairlead.engine.decide.owned_definitions import is_webhook, place_of
from fairlead.engine.decide.registration import at
from fairlead.engine.driver.perform import request_for
from kubeloop import clock
from kubeloop.errors import Conflict, NotFound
from kubeloop.request import dry

MOST_TRIES = 10
LOOKED_AT_AFTER = 0.5
STAYS_SECONDS = 10.0
"""In which an operator that puts the conversion back has heard of everything."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("crd", metavar="CRD", help="name of the CRD, such as widgets.example.com")
    about = "write union schemas as well, so that served versions lose nothing of one another"
    parser.add_argument("--union", action="store_true", help=about)
    add_home(parser)
    options.add_dry_run(parser)
    options.add_output(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments
    if called.namespaces:
        raise Usage("a CRD is detached with all its objects, so no --namespace can be given")
    try:
        definition = await definition_of(called.client, given.crd)
    except NoDefinition as error:
        return complain(str(error))
    home = journal_namespace(definition, given.operator_namespace or _home(definition))
    await _check(called, definition, home)
    try:
        await attach_map.stop_asking(called.client, home, given.crd, dry_run=given.dry_run)
    except Conflict:
        text = f"somebody else has written the rules of {given.crd} meanwhile: see whether it is to be detached"
        return complain(f"{text}, and run it again", codes.CHANGED)
    try:
        notes = await _written(called, definition)
    except NotFound:
        return complain(f"{given.crd} is not there any more", codes.CHANGED)
    if notes is None:
        return complain(f"{given.crd} is written faster than it can be read: run it again", codes.CHANGED)
    removed = await attach_map.remove(called.client, home, given.crd, dry_run=given.dry_run)
    if not given.dry_run and not await _stays(called):
        return complain(
            f"the operator has attached {given.crd} again: take its rules out of the files of --conversion-rules",
            codes.CHANGED,
        )
    _told(called, removed=removed, notes=notes)
    return codes.DONE


def _home(definition: Tree) -> str:
    """Where the operator is that converts its objects."""
    service = at(definition, "spec", "conversion", "webhook", "clientConfig", "service")
    return str(service.get("namespace", "")) if is_attached(definition) else ""


async def _check(called: Invocation, definition: Tree, home: str) -> None:
    """Raises Precondition while it may not be detached."""
    given = called.arguments
    if is_webhook(definition) and not is_attached(definition):
        raise Precondition(
            f"objects of {given.crd} are converted by {place_of(definition)}, which the operator did not write: "
            "whoever wrote it removes it"
        )
    if (definition["metadata"].get("annotations") or {}).get(CRD_OWNER):
        raise Precondition(f"{given.crd} is the operator's own: start the operator with --conversion=none")
    found = await attach_map.others(called.client, home, given.crd)
    if found.attach:
        raise Precondition(
            f"ConfigMap {found.attach[0]} has {given.crd} attached: delete it, or write `attach: false` there"
        )
    refuse_blocked(definition, union=given.union)


def refuse_blocked(definition: Tree, *, union: bool) -> None:
    """Raises Precondition with what would clear it."""
    if not is_webhook(definition):
        return
    wanted, _ = united(definition) if union else (definition, ())
    if found := blockers(wanted):
        name = definition["metadata"]["name"]
        reasons = "; ".join(f"{each.text} (clear it with: {' or: '.join(each.commands)})" for each in found)
        raise Precondition(f"{name} cannot do without its converter: {reasons}")


async def _written(called: Invocation, definition: Tree) -> tuple[str, ...] | None:
    """What union schemas could not keep; None: others were faster every time."""
    given = called.arguments
    for _ in range(MOST_TRIES):
        if not is_webhook(definition):
            return ()
        refuse_blocked(definition, union=given.union)
        write, notes = detach_patch(definition, union=given.union)
        request = request_for(write)
        try:
            await called.client.call(dry(request) if given.dry_run else request)
        except Conflict:
            definition = await definition_of(called.client, given.crd)
            continue
        return notes
    return None


async def _stays(called: Invocation) -> bool:
    """Whether it stays so: an operator that hears of the rules later than of the CRD puts it back for a moment."""
    until = clock.monotonic() + STAYS_SECONDS
    await asyncio.sleep(LOOKED_AT_AFTER)
    while is_webhook(await definition_of(called.client, called.arguments.crd)):
        if clock.monotonic() >= until:
            return False
        await asyncio.sleep(LOOKED_AT_AFTER)
    return True


def _told(called: Invocation, *, removed: bool, notes: tuple[str, ...]) -> None:
    given = called.arguments
    for each in notes:
        complain(f"warning: {each}")
    result = {"crd": given.crd, "dryRun": given.dry_run, "rulesRemoved": removed, "notes": [*notes]}
    would = "tried, nothing is written: " if given.dry_run else ""
    show(result, given.output, f"{would}{given.crd} is detached: its objects are converted by nobody")


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
