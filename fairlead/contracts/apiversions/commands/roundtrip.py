"""`fairlead api roundtrip`: objects there and back between all versions, and what does not come back (section 2.3)."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from random import Random

from msgspec import Struct

from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition
from fairlead.contracts.apiversions.commands.options import add_output, add_page_size, whole
from fairlead.contracts.apiversions.commands.rule_sources import add_sources, kind_with, one_definition, rules_of
from fairlead.contracts.apiversions.commands.said import complain, show
from fairlead.contracts.apiversions.decide.convert import KindConversion, KindVersion
from fairlead.contracts.apiversions.decide.round_trip import RoundTripFailure, failures, pairs
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.junit import Case, junit
from fairlead.contracts.apiversions.live_objects import objects
from fairlead.contracts.apiversions.samples import sample
from fairlead.engine.command import Invocation, Subcommand, Usage
from fairlead.engine.object_files import UnreadableFile, objects_in
from kubeloop.objects.meta import Resource

FUZZ = 200
"""Made-up objects of each version, where nothing else is asked for."""
MOST_TOLD = 20
"""Failures of one way that are told in full; the others are counted."""


class Report(Struct, frozen=True, kw_only=True, rename="camel"):
    crd: str
    rules: str
    """The file, `of the cluster`, or `none`."""
    versions: tuple[str, ...]
    objects: dict[str, int]
    """How many there were of each source: live, files, made up."""
    failed: int
    """Ways that an object did not survive."""
    failures: tuple[RoundTripFailure, ...]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "its name, such as widgets.example.com; not needed where --crd has one definition"
    parser.add_argument("crd_name", metavar="CRD", nargs="?", default="", help=about)
    add_sources(parser)
    parser.add_argument("--live", action="store_true", help="try the objects of the cluster, page by page")
    about = "try the objects of this file; may be repeated; - is standard input"
    parser.add_argument("-f", "--filename", metavar="FILE", action="append", default=[], help=about)
    about = f"try so many made-up objects of each version; default {FUZZ} where neither --live nor -f is given"
    parser.add_argument("--fuzz", metavar="N", type=whole("--fuzz", 0, 1_000_000), default=None, help=about)
    about = "makes other objects up; the same number makes the same ones"
    parser.add_argument("--seed", metavar="TEXT", default="", help=about)
    add_page_size(parser)
    add_output(parser, "junit")


async def _run(called: Invocation) -> int:
    given = called.arguments
    if given.crd and given.live:
        raise Usage("--live needs the cluster, and --crd works without one: leave one of them out")
    try:
        definition = await one_definition(called)
    except NoDefinition as error:
        return complain(str(error))
    rules = await rules_of(called, definition)
    kind = kind_with(definition, rules, given.rules)
    if not kind.spokes:
        raise Usage(f"{definition['metadata']['name']} has one version to convert: there is no way to try")
    counted: Counter[str] = Counter()
    told: dict[tuple[str, str], list[RoundTripFailure]] = {}
    failed = 0
    async for source, tree in _objects(called, definition, kind):
        counted[source] += 1
        await asyncio.sleep(0)  # somebody may want it to end
        for each in failures(tree, kind):
            failed += 1
            held = told.setdefault((each.first, each.other), [])
            if len(held) < MOST_TOLD:
                held.append(each)
    report = Report(
        crd=definition["metadata"]["name"],
        rules=given.rules or ("none" if rules is None else "of the cluster"),
        versions=kind.versions,
        objects=dict(counted),
        failed=failed,
        failures=tuple(each for held in told.values() for each in held),
    )
    if given.output == "junit":
        print(junit(f"roundtrip {report.crd}", _cases(report, kind)), end="")
    else:
        show(report, given.output, "\n".join(_text(report)))
    return codes.FINDINGS if failed else codes.DONE


async def _objects(called: Invocation, definition: Tree, kind: KindConversion) -> AsyncIterator[tuple[str, Tree]]:
    given = called.arguments
    for name in given.filename:
        for tree in _of_file(name, kind):
            yield "files", tree
    if given.live:
        async for tree in _live(called, definition, kind):
            yield "live", tree
    fuzz = given.fuzz if given.fuzz is not None else 0 if given.live or given.filename else FUZZ
    for tree in _made_up(kind, fuzz, given.seed):
        yield "madeUp", tree


def _of_file(name: str, kind: KindConversion) -> list[Tree]:
    try:
        found = objects_in(name)
    except UnreadableFile as error:
        raise Usage(str(error)) from None
    trees: list[Tree] = [each for each in found if isinstance(each, dict) and _is_of(each, kind)]
    if not trees:
        raise Usage(f"{name} holds no {kind.kind} of {kind.group}")
    return trees


def _is_of(tree: Tree, kind: KindConversion) -> bool:
    return tree.get("kind") == kind.kind and str(tree.get("apiVersion")).startswith(f"{kind.group}/")


async def _live(called: Invocation, definition: Tree, kind: KindConversion) -> AsyncIterator[Tree]:
    """In the stored version, which the server converts for nobody: so one odd object hides no other one."""
    spec = definition["spec"]
    stored = next(each["name"] for each in spec["versions"] if each.get("storage"))
    resource = Resource(
        kind.group, stored, spec["names"]["plural"], kind.kind, namespaced=spec.get("scope") == "Namespaced"
    )
    namespaces = called.namespaces if resource.namespaced else ()
    async for tree in objects(called.client, resource, namespaces=namespaces, page=called.arguments.page_size):
        yield {**tree, "apiVersion": f"{kind.group}/{stored}", "kind": kind.kind}


def _made_up(kind: KindConversion, count: int, seed: str) -> Iterator[Tree]:
    versions: list[KindVersion] = [kind.hub, *(each.version for each in kind.spokes.values())]
    for version in versions:
        chance = Random(f"{seed} {kind.group} {kind.kind} {version.name}")  # noqa: S311  (the same every time)
        for index in range(count):
            head = {"apiVersion": f"{kind.group}/{version.name}", "kind": kind.kind}
            yield {**head, "metadata": {"name": f"{version.name}-{index}"}, **sample(version.schema, chance)}


def _cases(report: Report, kind: KindConversion) -> list[Case]:
    unknown = [each for each in report.failures if not each.other]
    cases = [
        Case(
            f"{first} to {other} and back",
            tuple("\n".join(_told(each)) for each in report.failures if (each.first, each.other) == (first, other)),
        )
        for first, other in pairs(kind)
    ]
    if unknown:
        cases.append(Case("known versions", tuple("\n".join(_told(each)) for each in unknown)))
    return cases


_SOURCES = {"live": "of the cluster", "files": "of files", "madeUp": "made up"}


def _text(report: Report) -> Iterator[str]:
    for each in report.failures:
        yield from _told(each)
    if hidden := report.failed - len(report.failures):
        yield f"… and {hidden} more"
    counts = ", ".join(f"{count} {_SOURCES[source]}" for source, count in report.objects.items()) or "no objects"
    ways = len(report.versions) * (len(report.versions) - 1)
    verdict = f"{report.failed} times something did not come back" if report.failed else "everything comes back"
    yield f"{report.crd}: {counts}, {ways} ways between {', '.join(report.versions)}, rules {report.rules}: {verdict}"


def _told(failure: RoundTripFailure) -> Iterator[str]:
    way = f"from {failure.first} to {failure.other} and back" if failure.other else f"in {failure.first}"
    yield f"{failure.what} {way}{f': {failure.problem}' if failure.problem else ''}"
    yield from (f"  {each}" for each in failure.differences)


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run, needs_cluster=lambda given: not given.crd)
