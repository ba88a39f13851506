"""`fairlead uninstall`: shows what an installation consists of, asks, and removes it in the right order."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.commands.crds import add_part
from fairlead.cli.flags.common import add_cluster, add_output
from fairlead.cli.question import says_yes
from fairlead.contracts import contract

if TYPE_CHECKING:
    from fairlead.cli.connect import Cluster
    from fairlead.cli.removal import Item, Removal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_output(parser, "json")
    add_part(parser, lambda each: each.installed_for)
    parser.add_argument("--yes", action="store_true", help="remove without asking")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--crds", action="store_true", help="remove the kinds too, and their objects in all namespaces")
    kinds.add_argument("--keep-crds", action="store_true", help="keep the kinds and their objects (the default)")


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.connect import talk
    from fairlead.cli.main import UsageError

    if arguments.all_namespaces:
        raise UsageError("an installation looks after one namespace: name it with -n instead of -A")

    async def work(cluster: Cluster) -> int:
        from fairlead.cli.removal import Removal, find, remove

        namespace = cluster.namespaces[0]
        items = await find(cluster.client, arguments.part, namespace, kinds=arguments.crds)
        as_json = arguments.output == "json"
        if not as_json:
            print(shown(items, arguments.part, namespace, kinds=arguments.crds))
        if items and not arguments.yes and (as_json or not _agreed(items)):
            removal = Removal((), items)
            reason = "nothing was removed: add --yes to remove it"
        else:
            removal = await remove(cluster.client, items)
            reason = stopped(removal)
        if as_json:
            print(document(namespace, items, removal))
        elif removal.removed:
            print(f"Removed {_count(removal.removed)}.")
        if kept := held(removal):
            print(f"fairlead: {kept}", file=sys.stderr)
        if reason:
            print(f"fairlead: {reason}", file=sys.stderr)
        return exits.ERROR if reason else exits.OK

    return talk(arguments, work)


def shown(items: Sequence[Item], part: str, namespace: str, *, kinds: bool) -> str:
    """What is to be removed, for people."""
    name = contract(part).chart
    if not items:
        return f"Nothing of {name} is installed for namespace {namespace}."
    lines = [f"To be removed, in this order, of {name} for namespace {namespace}:"]
    lines += [f"  {item}" for item in items]
    if any(item.manager == "Helm" for item in items):
        lines.append("Helm installed some of it: `helm uninstall` removes them and its own record of the release.")
    if not kinds:
        lines.append("The kinds and their objects stay; --crds removes them too.")
    return "\n".join(lines)


def held(removal: Removal) -> str:
    """Which Leases stay because somebody holds them; empty when none do."""
    if not removal.held:
        return ""
    names = ", ".join(str(item) for item in removal.held)
    return f"{names} is held by a process that runs, and stays; end that process, then run the command again"


def stopped(removal: Removal) -> str:
    """Why the removal ended early and what is left; empty when all is gone."""
    if removal.error is None:
        return ""
    from fairlead.cli.failures import sentence

    left = ", ".join(str(item) for item in removal.left)
    return f"{sentence(removal.error)}; still there: {left}; run the command again once that is put right"


def document(namespace: str, items: Sequence[Item], removal: Removal) -> str:
    """The same for programs."""
    import msgspec

    return msgspec.json.format(
        msgspec.json.encode(
            {
                "namespace": namespace,
                "found": [_plain(item) for item in items],
                "removed": [_plain(item) for item in removal.removed],
                "left": [_plain(item) for item in (*removal.held, *removal.left)],
            }
        ),
        indent=2,
    ).decode()


def _plain(item: Item) -> dict[str, object]:
    ref = item.ref
    return {
        "apiVersion": ref.resource.api_version,
        "kind": ref.resource.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
        "objects": item.holds,
    }


def _agreed(items: Sequence[Item]) -> bool:
    return says_yes(f"Remove {_count(items)}?", sys.stdout)


def _count(items: Sequence[Item]) -> str:
    return f"{len(items)} object{'s' * (len(items) != 1)}"
