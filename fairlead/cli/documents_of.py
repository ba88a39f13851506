"""Explain documents of everything that is rolling in some namespaces: the operator's own where it tells them.

Else they are made here, by the same decisions as the operator's. Nothing is written: a question that would change the
world is not asked. A cluster that does not serve the kinds of a
contract, or does not show them, has no rollouts of that contract.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from msgspec import Raw
from msgspec.json import Decoder

from fairlead.cli.operator_reports import Reports
from fairlead.contracts import contracts
from fairlead.core.explain import Explain
from fairlead.engine.contract import Contract, Root
from fairlead.engine.look import Look, ResourceView, ViewKey, Views
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.decoding import decoded
from kubeloop.errors import Forbidden, KubeError, NotFound
from kubeloop.objects.meta import Resource
from kubeloop.request import list_page
from kubeloop.store import Readable, Store, T

I = TypeVar("I")  # noqa: E741


class Scope(Views, Protocol):
    """What is seen of one namespace, or of all."""

    def withheld(self, view: ResourceView[Any]) -> KubeError | None:
        """Why the resource cannot be seen, where it is not."""


def looks() -> list[Look]:
    """One for each contract that can be looked at."""
    return [contract.look.get() for contract in contracts() if contract.look is not None]


class Documents:
    """Looks at scopes again and again, and remembers since when it has seen each wait."""

    def __init__(self, client: Client, scopes: Sequence[Scope], reports: Reports, looks: Sequence[Look]) -> None:
        self._reports = reports
        self._scopes = scopes
        self._looks = [(look, look.open(client, scopes)) for look in looks]

    async def look(self) -> list[Explain]:
        """Every rollout as it stands now, ordered by namespace and name; raises what keeps them from being seen."""
        heard = await self._reports.hear()
        now = clock.now()
        seen: list[Explain] = []
        for look, opened in self._looks:
            self._check(look)
            seen += await opened.look(now, heard)
        return sorted(seen, key=lambda one: (one.namespace, one.rollout, one.part, one.noun))

    def _check(self, look: Look) -> None:
        """Rollouts are shown and what they consist of is not: a picture without it would be wrong."""
        for scope in self._scopes:
            if any(scope[root].items() for root in look.roots):
                errors = (scope.withheld(view) for view in look.rest if not view.optional)
                if (error := next(filter(None, errors), None)) is not None:
                    raise error


async def explain_all(client: Client, namespaces: Sequence[str]) -> list[Explain]:
    """One look at these namespaces; an empty name stands for all."""
    reports = Reports(client, namespaces)
    finding = asyncio.create_task(reports.find())
    try:
        scopes = [Lists(client, namespace) for namespace in namespaces]
        found: list[Look] = [
            contract.look.get() for contract in contracts() if contract.look and await _is_in(contract, scopes)
        ]
        for scope in scopes:
            for look in found:
                await scope.read(look)
        await finding
    finally:
        finding.cancel()
        with suppress(asyncio.CancelledError):
            await finding
    return await Documents(client, scopes, reports, found).look()


async def _is_in(contract: Contract, scopes: Sequence[Lists]) -> bool:
    """Whether the contract has something to roll in one of them; all are asked."""
    return any([await scope.find(root) for scope in scopes for root in contract.roots])


class Lists:
    """One list of each resource, for all contracts."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._found: dict[tuple[Resource, str], list[Raw]] = {}
        """Objects that are roots, unread: what reads them is not loaded before there are some."""
        self._stores: dict[ViewKey, Store[Any]] = {}
        self._listed: set[ViewKey] = set()

    def __getitem__(self, view: ResourceView[T]) -> Readable[T]:
        return self._stores[view.key]

    def withheld(self, view: ResourceView[Any]) -> KubeError | None:
        """Never: that was an error when it was listed."""

    async def find(self, root: Root) -> bool:
        """Whether there are such objects."""
        key = root.resource, root.labels
        if key not in self._found:
            self._found[key] = await self._list(root, Raw)
        return bool(self._found[key])

    async def read(self, look: Look) -> None:
        """Reads the roots; and the rest, where there is something to look at."""
        for view in look.roots:
            decoder = Decoder(view.into)
            doing = list_page(view.resource, self._namespace, view.labels).doing
            self._put(view, [decoded(raw, decoder, doing) for raw in self._found[view.resource, view.labels]])
        is_wanted = any(self._found[view.resource, view.labels] for view in look.roots)
        for view in look.rest:
            if is_wanted and view.key not in self._listed:
                self._listed.add(view.key)
                self._put(view, await self._list(view, view.into))
            else:
                self._put(view, ())

    def _put(self, view: ResourceView[Any], items: Iterable[Any]) -> None:
        store = self._stores.setdefault(view.key, Store())
        for item in items:
            store.put(item)
        store.add_indexes(view.indexes)

    async def _list(self, what: Root | ResourceView[Any], into: type[I]) -> list[I]:
        try:
            listed = await self._client.list(what.resource, into, namespace=self._namespace, labels=what.labels)
        except (NotFound, Forbidden):
            if not what.optional:
                raise
            return []
        return listed.items
