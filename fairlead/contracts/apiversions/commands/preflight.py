"""`fairlead api preflight`: what a new definition would do, before anybody applies it (section 3.11)."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from fairlead.contracts.apiversions.commands import codes, options
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.converters import rules_for
from fairlead.contracts.apiversions.decide.crd_versions import name_of, versions_of
from fairlead.contracts.apiversions.decide.preflight.definitions import merged
from fairlead.contracts.apiversions.decide.preflight.findings import ORDER, Finding, is_blocked, sorted_findings
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet, RulesRejected
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.junit import Case, junit
from fairlead.contracts.apiversions.live_objects import paced
from fairlead.contracts.apiversions.preflight_look import TRIES, LookTerms, look, without_cluster
from fairlead.contracts.apiversions.release_look import look_at_release, release_of
from fairlead.contracts.apiversions.rule_files import definitions_in, rules_in
from fairlead.core.amounts import counted
from fairlead.core.release import Release
from fairlead.engine.command import Invocation, Subcommand, Usage
from fairlead.engine.object_files import UnreadableFile
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import find

WIDTH = 80
WORDS = {"block": "BLOCK", "warn": "WARN", "info": "INFO"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "definitions to come, of any number of CRDs; may be repeated"
    parser.add_argument("-f", "--file", metavar="FILE", action="append", default=[], help=about)
    about = "release of the operator to come, instead of definitions"
    parser.add_argument("--to-operator-version", metavar="VERSION", default="", help=about)
    about = "what that release says of itself, as its `fairlead manifests --release` prints it; default a known one"
    parser.add_argument("--release", metavar="FILE", default="", help=about)
    parser.add_argument("--rules", metavar="FILE", default="", help="rule sets that convert the kinds then")
    about = "definitions in force, from a file instead of the cluster; objects are not looked at"
    parser.add_argument("--crd", metavar="FILE", default="", help=about)
    about = "contexts of the kubeconfig, separated by commas: all of them are looked at, with one report"
    parser.add_argument("--contexts", metavar="A,B", default="", help=about)
    about = f"objects that are tried on the server in each version, converted, by dry runs; 0 for none; default {TRIES}"
    parser.add_argument("--tries", metavar="N", type=options.whole("--tries", 0, 100_000), default=TRIES, help=about)
    options.add_dependents(parser)
    options.add_journal(parser)
    options.add_page_size(parser)
    options.add_rate(parser)
    options.add_output(parser, "junit")


async def _run(called: Invocation) -> int:
    given = called.arguments
    if called.namespaces:
        raise Usage("a CRD is that of all namespaces, so preflight takes no --namespace")
    try:
        coming = _coming(given)
        if given.crd:
            findings = await _offline(given, [*coming.definitions])
        else:
            findings = await _online(called, coming)
    except (UnreadableFile, RulesRejected) as error:
        raise Usage(str(error)) from None
    except KubeError as error:
        if called.connected is not None:
            raise
        return complain(str(error))
    return _report(given, sorted_findings(findings), [name_of(each) for each in coming.definitions])


class _Coming(Struct, frozen=True):
    """What may be applied."""

    definitions: tuple[Tree, ...]
    release: Release | None = None


def _coming(given: argparse.Namespace) -> _Coming:
    if bool(given.file) == bool(given.to_operator_version):
        raise Usage("name what is to come: either -f FILE or --to-operator-version VERSION")
    if given.release and not given.to_operator_version:
        raise Usage("--release belongs to --to-operator-version VERSION")
    if given.file:
        return _Coming(tuple(each for file in given.file for each in definitions_in(file)))
    release = release_of(given.to_operator_version, given.release)
    return _Coming(tuple(each.definition for each in release.crds), release)


async def _offline(given: argparse.Namespace, coming: Sequence[Tree]) -> list[Finding]:
    live = {name_of(each): each for each in definitions_in(given.crd)}
    findings = []
    for new in coming:
        held = live.get(name_of(new))
        findings += without_cluster(held, new, await _rules(None, held, new, given.rules))
    return findings


async def _online(called: Invocation, coming: _Coming) -> list[Finding]:
    given = called.arguments
    contexts = [each.strip() for each in given.contexts.split(",") if each.strip()]
    if not contexts:
        return await _on_cluster(called.client, called, coming)
    findings = []
    for context in contexts:
        async with _client(given, context) as client:
            found = await _on_cluster(client, called, coming)
        findings += [structs.replace(each, context=context) for each in found]
    return findings


@asynccontextmanager
async def _client(given: argparse.Namespace, context: str) -> AsyncIterator[Client]:
    paths = [Path(given.kubeconfig)] if given.kubeconfig else None
    client = Client(HttpTransport(find(paths, context, impersonate=given.impersonate)), user_agent="fairlead")
    try:
        yield client
    finally:
        await client.close()


async def _on_cluster(client: Client, called: Invocation, coming: _Coming) -> list[Finding]:
    given = called.arguments
    client = paced(client, given.qps, given.burst)
    terms = LookTerms(
        page=given.page_size, tries=given.tries, dependents=tuple(given.dependents), journal=given.journal
    )
    if coming.release is not None:
        hashes = [each.get() for each in called.hashes]
        rules = partial(_rules, client, file=given.rules)
        return await look_at_release(client, coming.release, rules, terms, hashes)
    findings = []
    for new in coming.definitions:
        try:
            live: Tree | None = await definition_of(client, name_of(new))
        except NoDefinition:
            live = None
        findings += await look(client, live, new, await _rules(client, live, new, given.rules), terms)
    return findings


async def _rules(client: Client | None, live: Tree | None, new: Tree, file: str) -> RuleSet | None:
    """A file may hold sets of some of the CRDs."""
    held = file and any(each.crd == name_of(new) for each in rules_in(file))
    wanted = new if live is None else merged(live, new)  # the text may say nothing of who converts
    comes = live is not None and not versions_of(new).keys() <= versions_of(live).keys()
    return await rules_for(client, wanted, file if held else "", upcoming=comes)


def _report(given: argparse.Namespace, findings: list[Finding], names: list[str]) -> int:
    if given.output == "junit":
        print(junit("fairlead api preflight", _cases(findings, names)), end="")
    else:
        show({"findings": findings, "blocked": is_blocked(findings)}, given.output, _text(findings, names))
    return codes.FINDINGS if is_blocked(findings) else codes.DONE


def _cases(findings: list[Finding], names: list[str]) -> list[Case]:
    """One for each finding, of which those fail that block; a definition without any has passed."""
    cases = []
    for each in findings:
        name = " ".join(filter(None, (each.context, each.crd, each.version, each.code, each.path)))
        fix = (f"fix: {each.fix}",) if each.fix else ()
        cases.append(Case(name, (each.message, *fix) if each.severity == "block" else ()))
    silent = [each for each in names if not any(finding.crd == each for finding in findings)]
    return [*cases, *(Case(each) for each in silent)]


def _text(findings: list[Finding], names: list[str]) -> str:
    lines: list[str] = []
    for each in findings:
        lines += _lines(each)
    counts = {severity: sum(each.severity == severity for each in findings) for severity in ORDER}
    if not findings:
        return f"{len(names)} CRDs: nothing found" if len(names) > 3 else f"{', '.join(names)}: nothing found"
    told = ", ".join(
        (
            counted(counts["block"], "blocks", "block"),
            counted(counts["warn"], "warns", "warn"),
            counted(counts["info"], "informs", "inform"),
        )
    )
    return "\n".join([*lines, told])


def _lines(finding: Finding) -> list[str]:
    where = " ".join(filter(None, (finding.context, finding.crd, finding.version)))
    lines = [f"{WORDS[finding.severity]:<5}  {finding.code}  {where}"]
    lines += textwrap.wrap(finding.message, WIDTH, initial_indent=" " * 7, subsequent_indent=" " * 7)
    if finding.objects:
        more = (finding.count or 0) - len(finding.objects)
        text = f"objects: {', '.join(finding.objects)}{f' and {more} more' if more > 0 else ''}"
        lines += textwrap.wrap(text, WIDTH, initial_indent=" " * 7, subsequent_indent=" " * 9)
    if finding.fix:
        lines.append(f"       fix: {finding.fix}")
    return lines


COMMAND = Subcommand(
    add_arguments=_add_arguments, run=_run, needs_cluster=lambda given: not given.crd and not given.contexts
)
