"""`fairlead get`: every rollout in a row."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.flags.common import add_cluster, add_output

if TYPE_CHECKING:
    from msgspec import UnsetType

    from fairlead.cli.connect import Cluster
    from fairlead.core.explain import End, Explain, Lane

Columns = dict[str, str]
_MORE = re.compile(r" \(and \d+ more\)$")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_output(parser, "json", "yaml", "wide")


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.connect import fail, talk

    async def work(cluster: Cluster) -> int:
        from fairlead.cli.documents_of import explain_all
        from fairlead.cli.elsewhere import missing_namespace
        from fairlead.cli.selection import none_at_all
        from fairlead.cli.views.documents import written
        from fairlead.cli.views.provenance import said_of
        from fairlead.core.printable import on_one_line
        from kubeloop import clock

        seen = await explain_all(cluster.client, cluster.namespaces)
        if not seen and (missing := await missing_namespace(cluster.client, cluster.namespaces)):
            return fail(missing, exits.NOT_FOUND)
        if arguments.output in ("json", "yaml"):
            print(written(seen, arguments.output), end="")
        elif not seen:
            print(f"{none_at_all(cluster.namespaces)}: nothing is rolled there", file=sys.stderr)
        else:
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
            shown = rows(seen, clock.now(), namespaces=cluster.everywhere, wide=arguments.output == "wide")
            print(table(shown, width))
            for sentence in said_of(seen):
                print(on_one_line(sentence), file=sys.stderr)
        return exits.OK

    return talk(arguments, work)


def rows(seen: Sequence[Explain], now: datetime, *, namespaces: bool = False, wide: bool = False) -> list[Columns]:
    """A row per rollout, those first that do not go on; columns by their titles."""
    from fairlead.cli.selection import worst_first
    from fairlead.cli.views.render import name_of, short
    from fairlead.cli.views.severity import waits_of

    shown = []
    names = Counter((one.namespace, one.part, one.rollout) for one in seen)
    for one in worst_first(seen):
        is_told = names[one.namespace, one.part, one.rollout] == 1
        stands, first = one.stands, next(iter(waits_of(one)), None)
        more = f" (and {len(one.blocked_by) - 1} more)" if len(one.blocked_by) > 1 else ""
        row = {"NAMESPACE": one.namespace} if namespaces else {}
        row |= {
            "PART": one.part,
            "ROLLOUT": name_of(one) if is_told else f"{one.noun}/{name_of(one)}",
            "OUTCOME": one.outcome,
            "PHASE": stands.phase,
            "DONE": f"{stands.done}/{stands.total} {stands.unit}",
            "WAITING FOR": f"{first.text}{more}" if first else "-",
            "SINCE": short((now - first.since).total_seconds()) if first and first.since else "-",
        }
        if wide:
            row |= {
                "FROM": _end(one.leaves) or _names(one, "source") or _each(stands.lanes, "from_revision"),
                "TO": _end(one.goes_to) or _names(one, "target") or _each(stands.lanes, "to_revision"),
                "LANES": ",".join(f"{lane.name}={lane.done}/{lane.total}" for lane in stands.lanes) or "-",
            }
        shown.append(row)
    return shown


def _end(end: End | UnsetType) -> str:
    """A generation and its image, by the end of its name; empty where the rollout has none."""
    from msgspec import UNSET

    if end is UNSET:
        return ""
    return f"generation {end.generation} ({end.image.rpartition('/')[2] or '?'})"


def _names(one: Explain, role: str) -> str:
    """The workloads of this role; empty where the rollout is not between workloads."""
    return ",".join(each.object for each in one.workloads or () if each.role == role)


def _each(lanes: tuple[Lane, ...], field: str) -> str:
    """The distinct values of the lanes, in their order."""
    values: dict[str, None] = dict.fromkeys(getattr(lane, field) for lane in lanes)
    return ",".join(filter(None, values)) or "-"


def table(shown: Sequence[Columns], width: int = 0) -> str:
    """Columns side by side; with a width, the longest columns are cut, down to their titles, until a line fits."""
    titles = list(shown[0])
    widths = {title: max(len(title), *(len(row[title]) for row in shown)) for title in titles}
    for longest in sorted(titles, key=lambda title: -widths[title]) if width else ():
        over = sum(widths.values()) + 3 * (len(titles) - 1) - width
        widths[longest] = max(len(longest), widths[longest] - max(over, 0))
    lines = [{title: title for title in titles}, *shown]
    return "\n".join("   ".join(_cut(line[title], widths[title]) for title in titles).rstrip() for line in lines)


def _cut(text: str, width: int) -> str:
    """What fits; that there is more is kept."""
    from fairlead.cli.views.render import cut
    from fairlead.core.printable import on_one_line

    text = on_one_line(text)
    found = _MORE.search(text) if len(text) > width else None
    more = found[0] if found is not None and len(found[0]) < width - 1 else ""
    return f"{cut(text.removesuffix(more), width - len(more))}{more}".ljust(width)
