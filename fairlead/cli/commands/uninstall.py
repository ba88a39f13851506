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
    from fairlead.engine.letting_go import HeldDefinition
    from kubeloop.client import Client


PUT_BACK = "that process registers definitions itself, and has them converted by it again"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_output(parser, "json")
    add_part(parser, lambda each: each.installed_for)
    parser.add_argument("--yes", action="store_true", help="remove without asking")
    about = "remove it although requests that need its conversion will fail then; it names them"
    parser.add_argument("--leave-conversion", action="store_true", help=about)
    about = "write union schemas to definitions that could not do without its conversion otherwise"
    parser.add_argument("--union", action="store_true", help=about)
    about = "only let go of definitions that name it, and remove nothing: for whoever removes the rest himself"
    parser.add_argument("--only-detach", action="store_true", help=about)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--crds", action="store_true", help="remove the kinds too, and their objects in all namespaces")
    kinds.add_argument("--keep-crds", action="store_true", help="keep the kinds and their objects (the default)")


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.connect import talk
    from fairlead.cli.main import UsageError

    if arguments.all_namespaces:
        raise UsageError("an installation looks after one namespace: name it with -n instead of -A")
    if arguments.crds and contract(arguments.part).holds_data:
        raise UsageError(
            f"the kinds of {arguments.part} stay, because their objects stand for data: leave --crds out, delete the "
            "objects that are no longer needed, and then the kinds with kubectl"
        )

    async def work(cluster: Cluster) -> int:
        return await carried_out(cluster.client, cluster.namespaces[0], arguments)

    return talk(arguments, work)


async def carried_out(client: Client, namespace: str, arguments: argparse.Namespace) -> int:
    """The exit code of the removal of what is installed in the namespace."""
    from fairlead.cli.connect import fail
    from fairlead.cli.elsewhere import missing_namespace
    from fairlead.cli.removal import Removal, find, freed, held_definitions, leaving, let_go, remove, stop

    alone: bool = arguments.only_detach
    items = () if alone else await find(client, arguments.part, namespace, kinds=arguments.crds)
    gone = await leaving(client, arguments.part, namespace, None if alone else items, union=arguments.union)
    definitions = await held_definitions(client, gone)
    if not items and not definitions and (missing := await missing_namespace(client, (namespace,), one=True)):
        return fail(missing, exits.NOT_FOUND)
    stops = alone and bool(gone.own) and any(not each.obstacles for each in definitions)
    as_json = arguments.output == "json"
    if not as_json:
        print(_announced(items, definitions, namespace, arguments), end="")
        print("Its operator is scaled to 0 first: it would put its conversion back.\n" * stops, end="")
    blocked = not arguments.leave_conversion and any(each.obstacles for each in definitions)
    unmarked = 0
    if blocked:
        removal = Removal((), items)
        reason = "nothing was removed: clear what keeps definitions attached, or add --leave-conversion"
    elif (items or definitions) and not arguments.yes and (as_json or not _agreed(items, definitions)):
        removal = Removal((), items)
        reason = "nothing was removed: add --yes to remove it"
    else:
        stopped_first = await stop(client, arguments.part, namespace) if stops else None
        await let_go(client, gone, definitions)
        removal = stopped_first or await remove(client, items)
        # An operator puts back what is its own for as long as it runs.
        await let_go(client, gone, definitions)
        reason = stopped(removal) or (PUT_BACK if removal.held and gone.own and definitions else "")
        if (items or definitions) and not removal.held and removal.error is None:
            unmarked = await freed(client, arguments.part)
    if as_json:
        print(document(namespace, items, removal, definitions, unmarked))
    else:
        if removal.removed:
            print(f"Removed {_count(removal.removed)}.")
        if unmarked:
            print(f"{_counted(unmarked)} had the operator's finalizer and can be deleted without an operator now.")
    if kept := held(removal):
        print(f"fairlead: {kept}", file=sys.stderr)
    if reason:
        print(f"fairlead: {reason}", file=sys.stderr)
    return exits.BLOCKED if blocked else _code(removal, reason)


def _code(removal: Removal, reason: str) -> int:
    from fairlead.cli.removal import Ended

    if isinstance(removal.error, Ended):
        return exits.INTERRUPTED
    return exits.ERROR if reason else exits.OK


def _announced(
    items: Sequence[Item], definitions: Sequence[HeldDefinition], namespace: str, arguments: argparse.Namespace
) -> str:
    """What is to happen, for people; ends its lines."""
    removed = "" if arguments.only_detach else f"{shown(items, arguments.part, namespace, kinds=arguments.crds)}\n"
    return removed + shown_definitions(definitions, leave=arguments.leave_conversion)


def shown(items: Sequence[Item], part: str, namespace: str, *, kinds: bool) -> str:
    """What is to be removed, for people."""
    name = contract(part).chart
    if not items:
        return f"Nothing of {name} is installed for namespace {namespace}."
    lines = [f"To be removed, in this order, of {name} for namespace {namespace}:"]
    lines += [f"  {item}" for item in items]
    if any(item.manager == "Helm" for item in items):
        lines.append("Helm installed some of it: `helm uninstall` removes them and its own record of the release.")
    if contract(part).holds_data:
        lines.append("The kinds, their objects and all Secrets stay.")
    elif not kinds:
        lines.append("The kinds and their objects stay; --crds removes them too.")
    return "\n".join(lines)


def shown_definitions(definitions: Sequence[HeldDefinition], *, leave: bool) -> str:
    """What becomes of definitions that name it, for people; ends its lines."""
    if not definitions:
        return ""
    told = (_left(each) if leave and each.obstacles else str(each) for each in definitions)
    return "".join(f"{line}\n" for line in ("Definitions whose objects it converts:", *(f"  {each}" for each in told)))


def _left(definition: HeldDefinition) -> str:
    return f"{definition.name}: stays as it is; {definition.fails} will fail"


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
    from fairlead.cli.removal import Ended

    left = ", ".join(str(item) for item in removal.left)
    if isinstance(removal.error, Ended):
        return f"interrupted; still there, or not known to be gone: {left}; run the command again"
    return f"{sentence(removal.error)}; still there: {left}; run the command again once that is put right"


def document(
    namespace: str,
    items: Sequence[Item],
    removal: Removal,
    definitions: Sequence[HeldDefinition] = (),
    unmarked: int = 0,
) -> str:
    """The same for programs."""
    import msgspec

    return msgspec.json.format(
        msgspec.json.encode(
            {
                "namespace": namespace,
                "found": [_plain(item) for item in items],
                "removed": [_plain(item) for item in removal.removed],
                "left": [_plain(item) for item in (*removal.held, *removal.left)],
                "definitions": [{"name": each.name, "obstacles": each.obstacles} for each in definitions],
                "unmarked": unmarked,
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


def _agreed(items: Sequence[Item], definitions: Sequence[HeldDefinition] = ()) -> bool:
    go = sum(not each.obstacles for each in definitions)
    detached = f"Detach {go} definition{'s' * (go != 1)}" if go else ""
    removed = f"{'and remove' if go else 'Remove'} {_count(items)}" if items else ""
    return says_yes(f"{' '.join(filter(None, (detached, removed))) or 'Go on'}?", sys.stdout)


def _count(items: Sequence[Item]) -> str:
    return _counted(len(items))


def _counted(number: int) -> str:
    return f"{number} object{'s' * (number != 1)}"
