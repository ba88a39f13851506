"""Which contract has the rollout that a verb is asked of, and its row for the verb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Raw

from fairlead.cli import exits
from fairlead.contracts import contracts
from fairlead.core.alternatives import alternatives
from fairlead.core.verb import Instead, Verb, Verbs

if TYPE_CHECKING:
    from fairlead.cli.connect import Cluster
    from fairlead.core.verb import VerbRequest
    from fairlead.engine.contract import Contract, Root

Row = tuple[str, Verbs, Verb | Instead]
"""The name of a contract, its table, and its row for the verb."""


class Stop(Exception):
    """Nothing is changed: what is said, and the exit code."""

    def __init__(self, text: str, code: int = exits.ERROR) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


def rows_of(verb: str, part: str = "") -> Iterator[Row]:
    """Of all contracts that have a table, or of one."""
    for contract in contracts():
        if contract.verbs is not None and part in ("", contract.name):
            table = contract.verbs.get()
            yield contract.name, table, table.rows[verb]


def part_of(chosen_by: str) -> str:
    """The contract of this name, or the one that rolls what is called so; empty: there is none. Raises Stop."""
    for contract in contracts():
        if chosen_by == contract.name:
            return chosen_by
        if chosen_by in (root.noun for root in contract.roots):
            if not _has_verbs(contract, chosen_by):
                raise Stop(_without_verbs(chosen_by))
            return contract.name
    return ""


def _without_verbs(what: str) -> str:
    return f"{what} has no verbs: what its rollouts do is changed in their objects, with kubectl"


async def chosen(cluster: Cluster, verb: str, asked: VerbRequest, part: str) -> tuple[str, Verb]:
    """The contract whose rollout is meant, and its row; raises Stop where there is none."""
    having = [(name, table, row) for name, table, row in rows_of(verb, part) if isinstance(row, Verb)]
    found = [(name, row) for name, _, row in having]
    if len(having) > 1:
        found = await _found(cluster, asked, having)
    if len(found) > 1:
        choices = alternatives(f"{name}/{asked.name}" for name, _ in found)
        raise Stop(f"{asked.name} names several rollouts: choose {choices}", exits.USAGE)
    if found:
        return found[0]
    raise await absent(cluster, verb, asked, part)


async def _found(
    cluster: Cluster, asked: VerbRequest, rows: Sequence[tuple[str, Verbs, Verb]]
) -> list[tuple[str, Verb]]:
    """Those that have the rollout; who may not see what one contract rolls may still mean that of another.

    A list that nobody serves is an error where no contract has the rollout: it is no Kubernetes API that answers so.
    """
    from fairlead.engine.verbs import decided
    from kubeloop import clock
    from kubeloop.errors import KubeError

    found, errors = [], []
    for name, table, row in rows:
        try:
            if await decided(cluster.client, table.find, asked, clock.now()):
                found.append((name, row))
        except KubeError as error:
            errors.append(error)
    if errors and not found:
        raise errors[0]
    return found


async def absent(cluster: Cluster, verb: str, asked: VerbRequest, part: str) -> Stop:
    """That no contract with the verb has the rollout; where another has it, what to do instead.

    Raises the error of the cluster where nobody can tell.
    """
    from fairlead.cli.elsewhere import why_not_found
    from fairlead.cli.views.render import NAMELESS
    from kubeloop.errors import Forbidden

    rows = list(rows_of(verb, part))
    if not rows:
        return Stop(_without_verbs(part))
    forbidden = []
    for _, table, row in rows:
        if isinstance(row, Instead):
            try:
                if await _has(cluster, table, asked):
                    return Stop(row.sentence.format(name=asked.name or NAMELESS, namespace=asked.namespace))
            except Forbidden as error:
                forbidden.append(error)  # who may not see them has no rollout of theirs
    if len(forbidden) == len(rows):
        raise forbidden[0]
    if noun := await _rolled_without_verbs(cluster, asked, part):
        return Stop(_without_verbs(f"{asked.name} is a {noun}, which"))
    if elsewhere := await why_not_found(cluster.client, asked.name, cluster.namespaces, one=True):
        return Stop(elsewhere, exits.NOT_FOUND)
    nouns = [table.noun for _, table, row in rows if isinstance(row, Verb)] or [table.noun for _, table, _ in rows]
    named = f"no {alternatives(nouns)} named {asked.name or NAMELESS} in namespace {asked.namespace}"
    return Stop(f"{named}: `fairlead get` lists what there is", exits.NOT_FOUND)


async def _rolled_without_verbs(cluster: Cluster, asked: VerbRequest, part: str) -> str:
    """What is rolled under this name and has no verbs, as `fairlead get` shows it all the same; empty: nothing is."""
    from kubeloop.errors import KubeError
    from kubeloop.objects.meta import Ref

    for root in _roots_without_verbs(part) if asked.name else ():
        with suppress(KubeError):  # it is not there, or nobody may see it
            await cluster.client.read(Ref(root.resource, asked.namespace, asked.name), Raw)
            return root.noun
    return ""


def _roots_without_verbs(part: str) -> Iterator[Root]:
    for contract in contracts():
        if part in ("", contract.name):
            yield from (root for root in contract.roots if not _has_verbs(contract, root.noun))


def _has_verbs(contract: Contract, noun: str) -> bool:
    table = None if contract.verbs is None else contract.verbs.get()
    return table is not None and table.rolls in ("", noun)


async def _has(cluster: Cluster, table: Verbs, asked: VerbRequest) -> bool:
    from fairlead.engine.verbs import decided
    from kubeloop import clock
    from kubeloop.errors import NotFound

    try:
        return await decided(cluster.client, table.find, asked, clock.now())
    except NotFound:
        return False  # the cluster does not have the kind
