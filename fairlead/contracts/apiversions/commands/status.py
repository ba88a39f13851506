"""`fairlead api status`: which versions are served, stored, named and carried (section 2.3)."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from typing import Any

from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.decide.status import Status, VersionStatus
from fairlead.contracts.apiversions.live_objects import paced
from fairlead.contracts.apiversions.status_look import brief, look
from fairlead.engine.command import Invocation, Subcommand, Usage
from fairlead.engine.decide.registration import DEFINITIONS

WIDTH, INDENT = 80, 15
SHOWN = 5


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "names of CRDs, such as widgets.example.com; default all of them, without a look at objects"
    parser.add_argument("crds", metavar="CRD", nargs="*", help=about)
    options.add_dependents(parser)
    options.add_journal(parser)
    options.add_page_size(parser)
    options.add_rate(parser)
    options.add_output(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments
    if called.namespaces:
        raise Usage("a CRD is that of all namespaces, so status takes no --namespace")
    if not given.crds:
        listed = await called.client.list(DEFINITIONS, dict[str, Any])
        every = [brief(each) for each in listed.items]
        show({"crds": every}, given.output, _table(every))
        return codes.DONE
    client = paced(called.client, given.qps, given.burst)
    found = []
    for name in dict.fromkeys(given.crds):
        try:
            definition = await definition_of(client, name)
        except NoDefinition as error:
            return complain(str(error))
        found.append(
            await look(client, definition, named=given.dependents, journal=given.journal, page=given.page_size)
        )
    show({"crds": found}, given.output, "\n\n".join(_text(each) for each in found))
    return codes.DONE


def _table(every: list[Status]) -> str:
    if not every:
        return "no CRDs are defined"
    rows = [("NAME", "SERVED", "STORAGE", "STORED", "CONVERSION")]
    for each in every:
        served = ",".join(one.name for one in each.versions if one.served)
        storage = next((one.name for one in each.versions if one.storage), "")
        rows.append((each.crd, served, storage, ",".join(each.stored_versions), each.target or each.strategy))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _text(status: Status) -> str:
    lines = [status.crd]
    for name, text in _rows(status):
        lines += textwrap.wrap(
            text, WIDTH, initial_indent=f"  {name:<{INDENT - 2}}", subsequent_indent=" " * INDENT
        ) or [f"  {name}"]
    return "\n".join(lines)


def _rows(status: Status) -> list[tuple[str, str]]:
    ends = ", ".join(f"{each:%Y-%m-%d}" for each in status.authorities_end)
    conversion = " ".join(filter(None, (status.strategy, status.target and f"by {status.target}")))
    rows = [
        ("versions", "; ".join(map(_version, status.versions))),
        ("stored in", ", ".join(status.stored_versions) or "nothing"),
        ("conversion", f"{conversion}{f', authorities until {ends}' if ends else ''}"),
    ]
    if status.deleted_since:
        rows.append(("deleted", f"since {status.deleted_since}"))
    if status.objects is not None:
        rows.append(("objects", str(status.objects)))
        rows.append(("written in", f"{_counts(status.managed)} (managedFields)"))
        rows.append(("owners in", f"{_counts(status.owned)} (ownerReferences of dependents)"))
        rows.append(("controllers", _counts(status.controllers)))
    for version, count in status.carrying.items():
        some = ", ".join(count.names[:SHOWN])
        more = f" and {count.objects - SHOWN} more" if count.objects > SHOWN else ""
        text = f"{count.objects} in {version} would lose data by a replace without annotations: {some}{more}"
        rows.append(("carrying", text))
    if status.all_carry_bytes:
        rows.append(("carried", f"{status.most_carry_bytes} bytes at most, {status.all_carry_bytes} in all"))
    for version, message in status.unlisted.items():
        rows.append(("cannot list", f"{version}: {message}"))
    rows += [("cannot read", f"{each.name} in {each.version}: {each.message}") for each in status.unconvertible]
    if status.more_unconvertible:
        rows.append(("cannot read", f"and {status.more_unconvertible} more"))
    if status.unlisted_kinds:
        rows.append(("not seen", f"{', '.join(status.unlisted_kinds)}: you may not list them"))
    if status.migration is not None:
        when = f" at {status.migration.completed_at}" if status.migration.completed_at else ""
        rows.append(
            (
                "migration",
                f"{status.migration.phase}{when}{f': {status.migration.problem}' if status.migration.problem else ''}",
            )
        )
    return [*rows, *(("advice", each) for each in status.advice)]


def _version(version: VersionStatus) -> str:
    words = ["served" if version.served else "not served"]
    words += ["storage"] if version.storage else []
    words += ["deprecated"] if version.deprecated else []
    return f"{version.name} {', '.join(words)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
