"""`fairlead api rules suggest`: a draft of rules from the schemas of a definition (section 6.1, B16)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import yaml

from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition
from fairlead.contracts.apiversions.commands.rule_sources import add_definition, one_definition
from fairlead.contracts.apiversions.commands.said import complain
from fairlead.contracts.apiversions.decide.plain_rules import plain_rules
from fairlead.contracts.apiversions.decide.rehub import written_op
from fairlead.contracts.apiversions.decide.rule_sets import KIND, RulesRejected, kind_of, read_rules, schemas_of
from fairlead.contracts.apiversions.decide.suggestion import Suggested, suggested
from fairlead.engine.command import Invocation, Subcommand, Usage


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "its name, such as widgets.example.com; not needed where --crd has one definition"
    parser.add_argument("crd_name", metavar="CRD", nargs="?", default="", help=about)
    add_definition(parser)
    parser.add_argument("--hub", metavar="VERSION", default="", help="default: the version that is stored")


async def _run(called: Invocation) -> int:
    try:
        definition = await one_definition(called)
    except NoDefinition as error:
        return complain(str(error))
    schemas = schemas_of(definition)
    hub = called.arguments.hub or plain_rules(definition).hub
    if hub not in schemas:
        raise Usage(f"--hub names {hub}: versions are {', '.join(schemas)}")
    if len(schemas) == 1:
        raise Usage(f"{definition['metadata']['name']} has one version: there is nothing to convert")
    drafts = {name: suggested(schema, schemas[hub]) for name, schema in schemas.items() if name != hub}
    text = "\n".join(_file(definition["metadata"]["name"], hub, drafts)) + "\n"
    print(text, end="")
    try:
        problems = [*self_test.problems(kind_of(read_rules(yaml.safe_load(text)), definition))]
    except RulesRejected as error:
        problems = [*error.problems]
    for each in problems:
        print(f"the draft cannot be used as it is: {each}", file=sys.stderr)
    return codes.FINDINGS if problems else codes.DONE


def _file(name: str, hub: str, drafts: dict[str, list[Suggested]]) -> Iterator[str]:
    yield "# A draft: names that are alike can mean different things. Read each line, then run `rules check`."
    yield f"kind: {KIND}"
    yield f"crd: {name}"
    yield f"hub: {hub}"
    yield "spokes:"
    for version, draft in drafts.items():
        yield f"- version: {version}"
        if draft:
            yield "  toHub:"
        for each in draft:
            op = yaml.safe_dump(written_op(each.op), default_flow_style=True, sort_keys=False, width=10_000).strip()
            yield f"  - {op} # {each.why}"


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run, needs_cluster=lambda given: not given.crd)
