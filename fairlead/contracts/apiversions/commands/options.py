"""Options that commands of `fairlead api` share (section 2.3); those about the cluster are added for all of them.

A command takes those that mean something to it: `add_walk` for what goes through many objects, and single ones beside.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from kubeloop.durations import parse_go

QPS, BURST, CONCURRENCY, PAGE_SIZE = 50.0, 100, 8, 500
SETTLE_SECONDS = 10.0
MOST_CONCURRENT, LARGEST_PAGE = 64, 5000
OUTPUTS = ("text", "json", "yaml")
PROGRESS = ("auto", "plain", "json", "none")
OTHER_JOURNAL = ", or name another namespace with --journal"
"""What else helps where the journal, or its Lease, cannot be kept."""


def add_walk(parser: argparse.ArgumentParser) -> None:
    """`--qps --burst --concurrency --page-size --timeout --progress`: how fast, and what is told meanwhile."""
    group = parser.add_argument_group("pace")
    add_rate(group)
    about = f"objects in work at once, 1 to {MOST_CONCURRENT}; default {CONCURRENCY}"
    concurrency = whole("--concurrency", 1, MOST_CONCURRENT)
    group.add_argument("--concurrency", metavar="N", type=concurrency, default=CONCURRENCY, help=about)
    add_page_size(group)
    about = "end after so long, such as 30m; default no limit"
    group.add_argument("--timeout", metavar="DURATION", type=seconds("--timeout"), default=None, help=about)
    about = "what is told on standard error meanwhile: auto is for people on a terminal and plain elsewhere"
    group.add_argument("--progress", choices=PROGRESS, default="auto", help=about)


def add_rate(parser: argparse._ActionsContainer) -> None:
    """`--qps --burst`, which a command that only reads takes alone."""
    about = f"requests a second at most; 0: no limit; default {QPS:g}"
    parser.add_argument("--qps", metavar="N", type=_number("--qps", 0.0), default=QPS, help=about)
    about = f"requests at once before the limit counts; default {BURST}"
    parser.add_argument("--burst", metavar="N", type=whole("--burst", 1, 100_000), default=BURST, help=about)


def add_page_size(parser: argparse._ActionsContainer) -> None:
    about = f"objects of one list, 1 to {LARGEST_PAGE}; default {PAGE_SIZE}"
    page = whole("--page-size", 1, LARGEST_PAGE)
    parser.add_argument("--page-size", metavar="N", type=page, default=PAGE_SIZE, help=about)


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only try on the server what would be written")


def add_output(parser: argparse.ArgumentParser, *more: str) -> None:
    """`-o`, with the forms that all have and more of this command."""
    parser.add_argument(
        "-o", "--output", choices=(*OUTPUTS, *more), default="text", help="form of the result; default text"
    )


def add_yes(parser: argparse.ArgumentParser, about: str = "go on where the command would stop and ask") -> None:
    parser.add_argument("--yes", action="store_true", help=about)


def add_settle(parser: argparse.ArgumentParser) -> None:
    about = f"until every API server has heard of a changed CRD; default {SETTLE_SECONDS:g}s"
    parser.add_argument("--settle", metavar="DURATION", type=seconds("--settle"), default=SETTLE_SECONDS, help=about)


def add_journal(parser: argparse.ArgumentParser) -> None:
    about = "namespace of journal and Lease; default that of the CRD's owner, else fairlead-system"
    parser.add_argument("--journal", metavar="NAMESPACE", default="", help=about)


def add_dependents(parser: argparse.ArgumentParser) -> None:
    about = "kind of objects that may be owned by those of the CRD, such as apps/Deployment or Secret; may be repeated;"
    parser.add_argument(
        "--dependents",
        metavar="GROUP/KIND",
        type=_group_and_kind,
        action="append",
        default=[],
        help=f"{about} default every kind that may be listed",
    )


def add_audit(parser: argparse.ArgumentParser) -> None:
    about = "append a line of JSON for every write to this file; - is standard error"
    parser.add_argument("--audit", metavar="FILE", default="", help=about)


def add_common(parser: argparse.ArgumentParser) -> None:
    """All of them, for a command that walks live objects and writes."""
    for add in (add_dry_run, add_output, add_yes, add_settle, add_journal, add_audit, add_walk):
        add(parser)


def seconds(option: str) -> Callable[[str], float]:
    """The type of an option that is a Go duration, as seconds."""

    def read(text: str) -> float:
        try:
            found = parse_go(text)
        except ValueError:
            found = -1.0
        if found < 0:
            raise argparse.ArgumentTypeError(f'{option} needs a duration such as 10s or 5m, not "{text}"')
        return found

    return read


def whole(option: str, least: int, most: int) -> Callable[[str], int]:
    """The type of an option that is a whole number."""

    def read(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = least - 1
        if not least <= found <= most:
            raise argparse.ArgumentTypeError(f'{option} needs a whole number from {least} to {most}, not "{text}"')
        return found

    return read


def _number(option: str, least: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = least - 1
        if not least <= found < 1e9:
            raise argparse.ArgumentTypeError(f'{option} needs a number from {least:g} on, not "{text}"')
        return found

    return read


def _group_and_kind(text: str) -> tuple[str, str]:
    """`apps/Deployment` as group and kind; a kind of the core group needs no slash."""
    group, _, kind = text.rpartition("/")
    if not kind or "/" in group:
        raise argparse.ArgumentTypeError(f'--dependents needs GROUP/KIND such as apps/Deployment, not "{text}"')
    return ("" if group == "core" else group, kind)
