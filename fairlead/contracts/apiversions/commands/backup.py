"""`fairlead api backup`: the objects of a CRD and the CRD itself as files, whole or not at all (section 3.7.6)."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from fairlead.contracts.apiversions.backing_up import Backer
from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.live_definition import definition_of
from fairlead.contracts.apiversions.commands.no_namespaces import refuse_namespaces
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.decide.offline.backup_format import BadBackup, Manifest
from fairlead.contracts.apiversions.dependents import search
from fairlead.contracts.apiversions.live_objects import paced
from fairlead.core.amounts import counted
from fairlead.engine.command import Invocation, Precondition, Subcommand
from fairlead.engine.progress import ProgressReporter, RunProgress


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("crd", metavar="CRD", help="name of the CRD, such as widgets.example.com")
    about = "directory to make; it must not be there yet"
    parser.add_argument("--out", metavar="DIR", required=True, type=Path, help=about)
    options.add_dependents(parser)
    options.add_output(parser)
    options.add_walk(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments
    refuse_namespaces(called, "a backup")
    reporter = ProgressReporter(given.progress, sys.stderr)
    try:
        async with asyncio.timeout(given.timeout):
            manifest = await _taken(called, reporter)
    except BadBackup as error:
        raise Precondition(str(error)) from None
    except TimeoutError:
        complain(f"{given.crd} was not kept within --timeout; nothing is left of {given.out}")
        return codes.ERROR
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        complain(f"{given.out} cannot be written ({why}); nothing is left of it")
        return codes.ERROR
    finally:
        reporter.close()
    show(_result(manifest, given.out), given.output, _text(manifest, given.out))
    return codes.DONE


async def _taken(called: Invocation, reporter: ProgressReporter) -> Manifest:
    given = called.arguments
    client = paced(called.client, given.qps, given.burst)
    definition = await definition_of(client, given.crd)
    through = await search(client, given.dependents, given.page_size)

    def told(phase: str, done: int) -> None:
        reporter.show(RunProgress(subject=given.crd, phase=phase, done=done))

    return await Backer(client, definition, given.out, page=given.page_size, told=told).take(through)


def _result(manifest: Manifest, place: Path) -> dict[str, object]:
    return {
        "crd": manifest.crd,
        "directory": str(place),
        "version": manifest.version,
        "objects": manifest.objects,
        "dependents": len(manifest.dependents),
        "unlisted": list(manifest.unlisted),
        "resourceVersion": manifest.resource_version,
    }


def _text(manifest: Manifest, place: Path) -> str:
    lines = [f"{manifest.crd}: {counted(manifest.objects, 'object')} in {manifest.version} kept in {place}"]
    if manifest.dependents:
        lines.append(f"named in its manifest as owned by them: {counted(len(manifest.dependents), 'object')}")
    if manifest.unlisted:
        lines.append(f"not looked through for objects that they own: {', '.join(manifest.unlisted)}")
    return "\n".join(lines)


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
