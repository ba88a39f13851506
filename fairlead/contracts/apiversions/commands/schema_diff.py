"""`fairlead api schema-diff`: what differs between definitions, as Markdown (section 6.1, B15)."""

from __future__ import annotations

import argparse

from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.commands.options import add_output
from fairlead.contracts.apiversions.commands.said import show
from fairlead.contracts.apiversions.decide.rule_sets import schemas_of
from fairlead.contracts.apiversions.decide.schema_report import (
    Section,
    between_definitions,
    between_schemas,
    markdown,
)
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.rule_files import definitions_in
from fairlead.engine.command import Invocation, Subcommand, Usage
from fairlead.engine.object_files import UnreadableFile


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="FILE", help="definitions")
    about = "definitions of a later release; not needed with --versions"
    parser.add_argument("after", metavar="FILE", nargs="?", default="", help=about)
    about = "compare two versions of each definition, such as v1,v2"
    parser.add_argument("--versions", metavar="OLD,NEW", default="", help=about)
    add_output(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments
    if bool(given.after) == bool(given.versions):
        raise Usage("give two files, or one and --versions OLD,NEW")
    before = _definitions(given.before)
    found = (
        _between_versions(before, given.versions)
        if given.versions
        else _between_files(before, _definitions(given.after))
    )
    text = "\n".join(markdown(name, sections) for name, sections in found.items())
    show(found, given.output, text.rstrip("\n"))
    return codes.DONE


def _definitions(name: str) -> dict[str, Tree]:
    try:
        return {each["metadata"]["name"]: each for each in definitions_in(name)}
    except UnreadableFile as error:
        raise Usage(str(error)) from None


def _between_files(before: dict[str, Tree], after: dict[str, Tree]) -> dict[str, list[Section]]:
    nothing: Tree = {"spec": {"versions": []}}
    return {
        name: between_definitions(before.get(name, nothing), after.get(name, nothing))
        for name in dict.fromkeys([*before, *after])
    }


def _between_versions(definitions: dict[str, Tree], versions: str) -> dict[str, list[Section]]:
    old, _, new = versions.partition(",")
    found = {}
    for name, each in definitions.items():
        schemas = schemas_of(each)
        if old in schemas and new in schemas:
            rows = tuple(between_schemas(schemas[old], schemas[new]))
            found[name] = [Section(f"{old} to {new}", rows)] if rows else []
    if not found:
        known = sorted({name for each in definitions.values() for name in schemas_of(each)})
        raise Usage(f"--versions needs two versions of a definition, such as v1,v2: there are {', '.join(known)}")
    return found


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run, needs_cluster=lambda _: False)
