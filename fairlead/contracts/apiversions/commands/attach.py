"""`fairlead api attach`: rules are handed to the operator, which converts the objects of a CRD from then on (section
3.13)."""

from __future__ import annotations

import argparse
import asyncio

import msgspec

from fairlead.contracts.apiversions import attach_map, self_test
from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of, journal_namespace
from fairlead.contracts.apiversions.commands.rule_sources import rule_sets
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.hub_changes import hidden_by
from fairlead.contracts.apiversions.decide.payload_look import LookFailed, told
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet, RulesRejected, kind_of
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import CRD_OWNER, MANAGER
from fairlead.contracts.apiversions.payload_looks import look_at_all
from fairlead.contracts.apiversions.rule_files import code_of
from fairlead.engine.command import Invocation, Precondition, Subcommand, Usage
from fairlead.engine.decide.owned_definitions import is_olms, is_webhook, place_of, wrote_conversion
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Conflict, NotFound

WAIT_SECONDS = 60.0
BETWEEN_LOOKS = 0.5


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("crd", metavar="CRD", help="name of the CRD, such as widgets.example.com")
    parser.add_argument(
        "--rules", metavar="FILE", required=True, help="the rule set, or the name of one of this release"
    )
    add_home(parser)
    about = f"how long to wait for the operator; default {WAIT_SECONDS:g}s, 0 does not wait"
    seconds = options.seconds("--timeout")
    parser.add_argument("--timeout", metavar="DURATION", type=seconds, default=WAIT_SECONDS, help=about)
    options.add_yes(parser, "convert objects although some have fields of another version")
    options.add_dry_run(parser)
    options.add_output(parser)


def add_home(parser: argparse.ArgumentParser) -> None:
    about = "namespace of the operator; default that of the CRD's owner, else fairlead-system"
    parser.add_argument("--operator-namespace", metavar="NAMESPACE", default="", help=about)


def is_attached(definition: Tree) -> bool:
    """Whether the operator has pointed it at itself."""
    return wrote_conversion(definition, MANAGER)


async def _run(called: Invocation) -> int:
    given = called.arguments
    if called.namespaces:
        raise Usage("a CRD is attached with all its objects, so no --namespace can be given")
    rules = _rules(given)
    try:
        definition = await definition_of(called.client, given.crd)
    except NoDefinition as error:
        return complain(str(error))
    try:
        kind = _kind(rules, definition)
    except RulesRejected as error:
        for problem in error.problems:
            complain(f"{given.rules}: {problem}")
        return codes.FINDINGS
    _refuse_others(definition)
    home = journal_namespace(definition, given.operator_namespace)
    before = await attach_map.held(called.client, home, given.crd)
    await _refuse_other_maps(called.client, home, given.crd)
    await _refuse_other_hub(called.client, home, definition, rules, yes=given.yes)
    await _refuse_payloads(called.client, definition, kind, yes=given.yes)
    tree = msgspec.to_builtins(rules)
    try:
        await attach_map.store(called.client, home, tree, before, anyway=given.yes, dry_run=given.dry_run)
    except NotFound:
        raise Precondition(_no_home(home)) from None
    except Conflict:
        return complain(_outrun(home, given.crd), codes.CHANGED)
    return await _awaited(called, home, tree)


def _outrun(home: str, crd: str) -> str:
    name = f"{home}/{attach_map.map_name(crd)}"
    return f"somebody else has written ConfigMap {name} meanwhile: see which rules it has, and run it again for these"


def _no_home(home: str) -> str:
    return f"there is no namespace {home}: name that of the operator with --operator-namespace"


def _rules(given: argparse.Namespace) -> RuleSet:
    found = rule_sets(given.rules)
    if given.crd not in found:
        raise Usage(f"{given.rules} has no rules for {given.crd}: it has some for {', '.join(found)}")
    if found[given.crd].python and not found[given.crd].built_in:
        raise Usage(
            f"{given.rules} names Python code, which no ConfigMap may hold: give the file to the operator itself, "
            "with --conversion-rules and `attach: true`"
        )
    return found[given.crd]


def _kind(rules: RuleSet, definition: Tree) -> KindConversion:
    """Raises RulesRejected, also for rules that lose something or leave a version out."""
    kind = kind_of(rules, definition, code_of(rules))
    missing = [str(each["name"]) for each in definition["spec"]["versions"] if each["name"] not in kind.versions]
    problems = [f"it has no rules for version {each}: name it among the spokes" for each in missing]
    problems += [*self_test.problems_of(rules, kind), *self_test.mistaken(kind)]
    if problems:
        raise RulesRejected(problems)
    return kind


def _refuse_others(definition: Tree) -> None:
    name = definition["metadata"]["name"]
    if is_olms(definition):
        raise Precondition(f"OLM owns {name}, so the operator does not write it")
    if (definition["metadata"].get("annotations") or {}).get(CRD_OWNER):
        raise Precondition(f"{name} is the operator's own, which it registers itself: it needs no rules from a file")
    if is_webhook(definition) and not is_attached(definition):
        raise Precondition(
            f"objects of {name} are converted by {place_of(definition)}: "
            "remove its conversion first, or start the operator with --take-over-conversion"
        )


async def _refuse_other_maps(client: Client, home: str, crd: str) -> None:
    found = await attach_map.others(client, home, crd)
    if found.names:
        raise Precondition(
            f"ConfigMap {found.names[0]} has rules for {crd} already, and the older one counts: "
            "write `attach: true` there, or delete it"
        )


async def _refuse_other_hub(client: Client, home: str, definition: Tree, rules: RuleSet, *, yes: bool) -> None:
    if yes or rules.python:
        return
    before = await attach_map.hub_in_force(client, home, rules.crd)
    if found := hidden_by(before, rules.hub, definition):
        raise Precondition(f"{found}, or say --yes")


async def _refuse_payloads(client: Client, definition: Tree, kind: KindConversion, *, yes: bool) -> None:
    if yes or is_attached(definition):
        return
    look = await look_at_all(client, definition, kind)
    if isinstance(look, LookFailed):
        raise Precondition(f"the objects cannot be looked at: {look.text}")
    if look.foreign:
        raise Precondition(f"{told(look)}; write them anew, or have them converted as they are with --yes")


async def _awaited(called: Invocation, home: str, rules: Tree) -> int:
    given = called.arguments
    name = f"{home}/{attach_map.map_name(given.crd)}"
    result = {"crd": given.crd, "configMap": name, "dryRun": given.dry_run, "attached": False}
    if given.dry_run:
        show(result, given.output, f"tried, nothing is written: rules of {given.crd} in ConfigMap {name}")
        return codes.DONE
    until = clock.monotonic() + given.timeout
    while not is_attached(await definition_of(called.client, given.crd)):
        if clock.monotonic() >= until:
            text = f"rules of {given.crd} are in ConfigMap {name}; the operator attaches it when all replicas have them"
            show(result, given.output, text)
            if not given.timeout:
                return codes.DONE
            waited = f"{given.crd} is not attached after {given.timeout:g} seconds"
            return complain(f"{waited}: see that the operator runs, and what the Events of the ConfigMap say")
        await asyncio.sleep(BETWEEN_LOOKS)
    if not await attach_map.holds(called.client, home, rules):
        return complain(_outrun(home, given.crd), codes.CHANGED)
    show(result | {"attached": True}, given.output, f"{given.crd} is attached: its rules are in ConfigMap {name}")
    return codes.DONE


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
