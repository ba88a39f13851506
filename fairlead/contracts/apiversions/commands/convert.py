"""`fairlead api convert`: manifests in files, in another version (section 2.3 and section 6.1, B9)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.commands.rule_sources import (
    add_sources,
    definitions,
    kind_with,
    rule_sets,
    rules_of,
)
from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.manifests.conversions import ConvertedText, ManifestFinding, ManifestWish, converted
from fairlead.contracts.apiversions.manifests.files import EXTENSIONS, files_in, text_of, write_whole
from fairlead.core.amounts import counted
from fairlead.engine.command import Invocation, Subcommand, Usage
from fairlead.engine.object_files import STDIN, UnreadableFile, documents_in

SHOWN_FIELDS = 6
"""Of those that are carried, in one line."""


class ConvertedFile(Struct, frozen=True):
    path: Path | None
    """None: standard input."""
    before: str
    outcome: ConvertedText

    @property
    def name(self) -> str:
        return "standard input" if self.path is None else str(self.path)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "a file, - for standard input, or a folder: Helm charts and kustomize trees too; may be repeated"
    parser.add_argument("-f", "--filename", metavar="FILE|DIR", action="append", required=True, help=about)
    parser.add_argument("--to", metavar="VERSION", required=True, help="the version that the objects become")
    add_sources(parser)
    about = "rewrite the files, with comments, order and templates as they are; default: print the new texts"
    parser.add_argument("--in-place", action="store_true", help=about)
    parser.add_argument("--dry-run", action="store_true", help="only list what would change")
    about = "leave out what the new version has no place for; default: it is kept in annotations"
    parser.add_argument("--drop-carried", action="store_true", help=about)
    about = "rewrite the files in which everything can be converted; default: all files or none"
    parser.add_argument("--keep-going", action="store_true", help=about)
    about = f"of files in folders, with commas between; default {','.join(EXTENSIONS)}"
    parser.add_argument("--extensions", metavar="LIST", type=_extensions, default=EXTENSIONS, help=about)


def _extensions(text: str) -> tuple[str, ...]:
    found = tuple(each.strip() for each in text.split(",") if each.strip())
    if not found or not all(each.startswith(".") for each in found):
        raise argparse.ArgumentTypeError(f'--extensions needs a list such as .yaml,.tpl, not "{text}"')
    return found


async def _run(called: Invocation) -> int:
    given = called.arguments
    if given.in_place and STDIN in given.filename:
        raise Usage("--in-place rewrites files: standard input is none")
    texts = {path: _text(path) for path in _paths(given)}
    found = await definitions(called, lambda name: any(name.partition(".")[2] in text for text in texts.values()))
    kinds = await _kinds(found, called)
    files = [_converted(path, text, kinds, given) for path, text in texts.items()]
    failed = any(each.outcome.problems for each in files)
    _tell(files, given)
    if given.dry_run:
        return codes.FINDINGS if failed else codes.DONE
    if failed and not given.keep_going:
        print("nothing was written: see above, or say --keep-going", file=sys.stderr)
        return codes.FINDINGS
    _write(files, given)
    return codes.OBJECTS_FAILED if failed else codes.DONE


async def _kinds(found: dict[str, Any], called: Invocation) -> dict[tuple[str, str], KindConversion]:
    given = called.arguments
    sets = rule_sets(given.rules)
    if missing := next((each for each in sets if each not in found), ""):
        raise Usage(f"{given.rules} is about {missing}, which {given.crd or 'the cluster'} does not define")
    with_version = {
        name: each
        for name, each in found.items()
        if any(version["name"] == given.to for version in each["spec"]["versions"]) and (not sets or name in sets)
    }
    if not found:
        return {}
    if not with_version:
        names = sorted({version["name"] for each in found.values() for version in each["spec"]["versions"]})
        raise Usage(f"--to names {given.to}, which is no version of what is defined: there are {', '.join(names)}")
    kinds = {}
    for each in with_version.values():
        if len(each["spec"]["versions"]) > 1:
            kind = kind_with(each, await rules_of(called, each), given.rules)
            if given.to not in kind.versions:
                raise Usage(f"--to names {given.to}, which the rules do not know: {', '.join(kind.versions)}")
            kinds[kind.group, kind.kind] = kind
    return kinds


def _paths(given: argparse.Namespace) -> list[Path | None]:
    try:
        found: list[Path | None] = []
        for name in given.filename:
            found += [None] if name == STDIN else files_in(name, given.extensions)
    except UnreadableFile as error:
        raise Usage(str(error)) from None
    return [*dict.fromkeys(found)]


def _text(path: Path | None) -> str:
    try:
        return sys.stdin.read() if path is None else text_of(path)
    except UnicodeDecodeError:
        raise Usage("standard input is not text in UTF-8: give YAML or JSON") from None
    except UnreadableFile as error:
        raise Usage(str(error)) from None


def _converted(
    path: Path | None, text: str, kinds: dict[tuple[str, str], KindConversion], given: argparse.Namespace
) -> ConvertedFile:
    def beside(name: str) -> list[object]:
        try:
            other = Path(name) if path is None else path.parent / name
            return documents_in(text_of(other), name)
        except UnreadableFile:
            return []

    wish = ManifestWish(kinds=kinds, version=given.to, drops_carried=given.drop_carried, beside=beside)
    try:
        return ConvertedFile(path, text, converted(text, str(path or "standard input"), wish))
    except UnreadableFile as error:
        problem = ManifestFinding(line=1, what="", old="", new="", problem=str(error))
        return ConvertedFile(path, text, ConvertedText(text, (problem,)))


def _tell(files: list[ConvertedFile], given: argparse.Namespace) -> None:
    """File, line, object, old and new version, before anything is written."""
    rows = [(each, found) for each in files for found in each.outcome.found]
    for each, found in rows:
        what = f"{found.what}: {found.old} -> {found.new}" if found.what else "not read"
        print(f"{each.name}:{found.line}: {what}", file=sys.stderr)
        if found.carried:
            becomes = "left out" if given.drop_carried else "kept in annotations"
            more = len(found.carried) - SHOWN_FIELDS
            listed = ", ".join(found.carried[:SHOWN_FIELDS]) + (f" and {more} more" if more > 0 else "")
            print(f"  {becomes}, as {found.new} has no place for it: {listed}", file=sys.stderr)
        if found.problem:
            print(f"  cannot be converted: {found.problem}", file=sys.stderr)
    for each in files:
        for note in each.outcome.notes:
            print(f"{each.name}: {note}", file=sys.stderr)
    if not rows:
        print(f"nothing to convert to {given.to} in {counted(len(files), 'file')}", file=sys.stderr)


def _write(files: list[ConvertedFile], given: argparse.Namespace) -> None:
    if not given.in_place:
        texts = [each.outcome.text for each in files if not each.outcome.problems]
        for index, text in enumerate(texts):
            begins = text.lstrip().startswith(("---", "%"))
            print("" if not index or begins else "---\n", text, sep="", end="" if text.endswith("\n") else "\n")
        return
    written = [each for each in files if each.outcome.text != each.before]
    for each in written:
        if each.path is not None:
            try:
                write_whole(each.path, each.outcome.text)
            except UnreadableFile as error:
                raise Usage(str(error)) from None
    print(f"{len(written)} of {counted(len(files), 'file')} rewritten", file=sys.stderr)


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run, needs_cluster=lambda given: not given.crd)
