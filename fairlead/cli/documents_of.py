"""Explain documents of everything that is rolling in some namespaces: the operator's own where it tells them.

Else they are made here, by the same decisions as the operator's. Nothing is written: a question that would change the
world is not asked. A cluster that does not serve the kinds of a
contract, or does not show them, has no rollouts of that contract.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from msgspec import Raw

from fairlead.cli.operator_reports import Reports
from fairlead.contracts import contracts
from fairlead.core.explain import Explain
from fairlead.core.outcome import DONE
from fairlead.core.unreadable import document, lacking, said_of, unread
from fairlead.engine.contract import Contract, Root
from fairlead.engine.look import Heard, Look, ResourceView, ViewKey, Views
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Forbidden, KubeError, NotFound
from kubeloop.objects.meta import Resource
from kubeloop.store import Key, Readable, Store, T
from kubeloop.watch import Codec, Unreadable

LookOf = tuple[Contract, Look]
"""A contract, and how it is looked at."""


class Scope(Views, Protocol):
    """What is seen of one namespace, or of all."""

    def unreadable(self, view: ResourceView[Any]) -> Sequence[Unreadable]:
        """Objects that are there and cannot be read."""

    def withheld(self, view: ResourceView[Any]) -> KubeError | None:
        """Why the resource cannot be seen, where it is not."""


def looks() -> list[LookOf]:
    """One for each contract that can be looked at."""
    return [(contract, contract.look.get()) for contract in contracts() if contract.look is not None]


class Documents:
    """Looks at scopes again and again, and remembers since when it has seen each wait."""

    def __init__(self, client: Client, scopes: Sequence[Scope], reports: Reports, looks: Sequence[LookOf]) -> None:
        self._reports = reports
        self._scopes = scopes
        self._looks = [(contract, look, look.open(client, scopes)) for contract, look in looks]

    async def look(self) -> list[Explain]:
        """Every rollout as it stands now, ordered by namespace and name; raises what keeps them from being seen."""
        heard = await self._reports.hear()
        now = clock.now()
        seen: list[Explain] = []
        for contract, look, opened in self._looks:
            self._check(look)
            seen += self._with_unreadable(contract, look, await opened.look(now, heard), heard)
        seen += self._spoken(heard)
        return sorted(seen, key=lambda one: (one.namespace, one.rollout, one.part, one.noun))

    def _spoken(self, heard: Heard) -> list[Explain]:
        """What operators tell that no object shows; what is in order there is nothing to look at."""
        spoken = {(each.name, noun) for each in contracts() for noun in each.spoken}
        told = heard.documents.items()
        return [shown for (part, noun, _, _), shown in told if (part, noun) in spoken and shown.outcome != DONE]

    def _with_unreadable(self, contract: Contract, look: Look, seen: list[Explain], heard: Heard) -> list[Explain]:
        """The documents, with what says of which objects they are without."""
        found = {(one.noun, one.namespace, one.rollout): one for one in seen}
        for scope in self._scopes:
            for root, view in zip(contract.roots, look.roots, strict=True):
                for problem in scope.unreadable(view):
                    namespace, name = problem.key
                    rollout = next((problem.labels[each] for each in root.names if each in problem.labels), name)
                    key = root.noun, namespace, rollout
                    known = found.get(key) or heard.documents.get((contract.name, *key))
                    shown = known or document(contract.name, *key)
                    about = f"{root.resource.kind.lower()}/{name}"
                    found[key] = unread(shown, about, said_of(root.resource.kind, name, problem.why))
            for view in look.rest:
                for problem in scope.unreadable(view):
                    text = said_of(view.resource.kind, problem.key[1], problem.why)
                    for key in [key for key in found if key[1] == problem.key[0]]:
                        found[key] = lacking(found[key], text)
        return list(found.values())

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
        found: list[LookOf] = [
            (each, each.look.get()) for each in contracts() if each.look and await _is_in(each, scopes)
        ]
        for scope in scopes:
            for _, look in found:
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
        self._unreadable: dict[ViewKey, dict[Key, Unreadable]] = {}

    def __getitem__(self, view: ResourceView[T]) -> Readable[T]:
        return self._stores[view.key]

    def unreadable(self, view: ResourceView[Any]) -> Sequence[Unreadable]:
        return tuple(self._unreadable.get(view.key, {}).values())

    def withheld(self, view: ResourceView[Any]) -> KubeError | None:
        """Never: that was an error when it was listed."""

    async def find(self, root: Root) -> bool:
        """Whether there are such objects."""
        key = root.resource, root.labels
        if key not in self._found:
            self._found[key] = await self._list(root)
        return bool(self._found[key])

    async def read(self, look: Look) -> None:
        """Reads the roots; and the rest, where there is something to look at."""
        for view in look.roots:
            self._put(view, self._found[view.resource, view.labels])
        is_wanted = any(self._found[view.resource, view.labels] for view in look.roots)
        for view in look.rest:
            if is_wanted and view.key not in self._listed:
                self._listed.add(view.key)
                self._put(view, await self._list(view))
            else:
                self._put(view, ())

    def _put(self, view: ResourceView[Any], items: Sequence[Raw]) -> None:
        """One that cannot be read is set aside: it keeps nobody from seeing the others."""
        store = self._stores.setdefault(view.key, Store())
        codec = Codec(view.into)
        for raw in items:
            item = codec.item(raw)
            if isinstance(item, Unreadable):
                self._unreadable.setdefault(view.key, {})[item.key] = item
            else:
                store.put(item)
        store.add_indexes(view.indexes)

    async def _list(self, what: Root | ResourceView[Any]) -> list[Raw]:
        try:
            listed = await self._client.list(what.resource, Raw, namespace=self._namespace, labels=what.labels)
        except (NotFound, Forbidden):
            if not what.optional:
                raise
            return []
        return listed.items
