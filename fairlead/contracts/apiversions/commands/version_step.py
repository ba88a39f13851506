"""One step in the life of a version, as commands take it: decided, tried or written once, and seen to be in force.

The write names the version of the CRD that was decided about; where somebody else was faster, all is decided anew.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.decide.crd_versions import NoSuchVersion, name_of, served_versions
from fairlead.contracts.apiversions.decide.lifecycle import LifecycleRefused, LifecycleStep, owned_elsewhere
from fairlead.contracts.apiversions.decide.rule_sets import RulesRejected
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.engine.command import Invocation, Usage
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.object_files import UnreadableFile
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.discovery import served_names
from kubeloop.errors import Conflict, NotFound
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON_PATCH, Request, dry, patch

IN_FORCE_SECONDS = 30.0
BETWEEN_LOOKS = 0.2
MOST_TRIES = 10
"""Times that the CRD is read and decided about, because others write it as well."""


def add_arguments(parser: argparse.ArgumentParser, *, version: bool = True) -> None:
    """The CRD, its version, and what all of these commands take."""
    parser.add_argument("crd", metavar="CRD", help="name of the CRD, such as widgets.example.com")
    if version:
        parser.add_argument("version", metavar="VERSION", help="one of its versions, such as v1")
    options.add_dry_run(parser)
    options.add_yes(parser)
    options.add_output(parser)


def add_rules(parser: argparse.ArgumentParser) -> None:
    about = "rule set that converts the kind; default the one in force, else one in a labelled ConfigMap"
    parser.add_argument("--rules", metavar="FILE", default="", help=about)


async def run(called: Invocation, decide: Callable[[Tree], Awaitable[LifecycleStep | LifecycleRefused]]) -> int:
    """The exit code of one step that `decide` answers with for the live definition."""
    given = called.arguments
    if called.namespaces:
        raise Usage("versions are those of a CRD and of all its objects, so no --namespace can be given")
    for _ in range(MOST_TRIES):
        code = await _tried(called, decide)
        if code is not None:
            return code
    return complain(f"{given.crd} changes faster than it can be read: nothing was written, run it again", codes.CHANGED)


async def _tried(
    called: Invocation, decide: Callable[[Tree], Awaitable[LifecycleStep | LifecycleRefused]]
) -> int | None:
    """None where somebody else wrote the CRD meanwhile: nothing is written, and all is decided anew."""
    given = called.arguments
    try:
        live = await definition_of(called.client, given.crd)
        step = owned_elsewhere(live) or await decide(live)
    except (NoDefinition, NoSuchVersion) as error:
        return complain(str(error))
    except (RulesRejected, UnreadableFile) as error:
        raise Usage(str(error)) from None
    if isinstance(step, LifecycleRefused):
        _show(called, live, changed=False, reasons=step.reasons, text="")
        for each in step.reasons:
            complain(each)
        return codes.PRECONDITION
    return await _take(called, live, step)


async def _take(called: Invocation, live: Tree, step: LifecycleStep) -> int | None:
    given = called.arguments
    if step.patch:
        request = _request(live, step)
        try:
            answer = await called.client.call(dry(request) if given.dry_run else request)
        except (Conflict, NotFound):
            return None
        if not given.dry_run:
            await _come_into_force(called.client, msgspec.json.decode(answer.body))
    for each in step.warnings:
        complain(f"warning: {each}")
    would = "tried, nothing is written: " if given.dry_run and step.patch else ""
    _show(called, live, changed=bool(step.patch) and not given.dry_run, text=f"{would}{step.said}")
    return codes.DONE


def _request(live: Tree, step: LifecycleStep) -> Request:
    return patch(
        Ref(DEFINITIONS, "", name_of(live), live["metadata"]["uid"]),
        JSON_PATCH,
        msgspec.json.encode(step.patch),
        resource_version=live["metadata"]["resourceVersion"],
    )


async def would_be_taken(client: Client, live: Tree, step: LifecycleStep) -> bool:
    """Whether the CRD is as it was decided about; raises KubeError where the server refuses the write."""
    try:
        await client.call(dry(_request(live, step)))
    except (Conflict, NotFound):
        return False
    return True


def _show(called: Invocation, live: Tree, *, changed: bool, text: str, reasons: tuple[str, ...] = ()) -> None:
    given = called.arguments
    result = {
        "crd": name_of(live),
        "version": getattr(given, "version", ""),
        "changed": changed,
        "dryRun": given.dry_run,
        "message": text,
        "reasons": [*reasons],
    }
    if text or given.output != "text":
        show(result, given.output, text)


async def _come_into_force(client: Client, written: Tree) -> None:
    """Returns when the server lists the resource in the versions that are served and in no other, or after a while."""
    group, plural = written["spec"]["group"], written["spec"]["names"]["plural"]
    wanted = {each["name"]: each["name"] in served_versions(written) for each in written["spec"]["versions"]}
    deadline = clock.monotonic() + IN_FORCE_SECONDS
    while clock.monotonic() < deadline:
        found = {each: plural in await served_names(client, group, each) for each in wanted}
        if found == wanted:
            return
        await asyncio.sleep(BETWEEN_LOOKS)
