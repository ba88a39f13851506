"""ClusterRoles that collect the rules of others, as the clusterrole-aggregation controller of a real cluster has it.

What such a role holds itself is written over: its rules are those of the roles that its selectors choose, selector by
selector, role by role in the order of names, each rule once. It may choose roles that collect rules themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import LabelSelector, Meta
from kubeloop.queue import Queue
from kubeloop.worker import work
from kubesim.api.verbs import Verbs
from kubesim.controllers.base import ACCOUNTS, Api, failed
from kubesim.errors import StatusError
from kubesim.kinds.registry import CLUSTER_ROLES
from kubesim.rules.roles import PolicyRule
from kubesim.store.versions import Tree

WORKERS = 5
FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0
"""Seconds; the real controller's."""


class _Aggregation(Struct, frozen=True, rename="camel"):
    cluster_role_selectors: tuple[LabelSelector, ...] | None = ()


class _ClusterRole(Struct, frozen=True, rename="camel"):
    metadata: Meta
    rules: tuple[PolicyRule, ...] | None = ()
    aggregation_rule: _Aggregation | None = None


class AggregationController:
    """One controller; its watch is behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}clusterrole-aggregation-controller")
        self._roles = api.view(CLUSTER_ROLES, _ClusterRole)
        self._collecting: dict[str, None] = {}
        """Names of the roles that collect; any of them may depend on any role."""
        self._queue: Queue[str] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._roles.subscribe(self._changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._roles.run())
            await self._roles.synced.wait()
            tasks.create_task(work(self._queue, self._sync, workers=WORKERS, failed=failed))

    def _changed(self, old: _ClusterRole | None, new: _ClusterRole | None) -> None:
        if new is not None and new.aggregation_rule is not None:
            self._collecting[new.metadata.name] = None
        elif old is not None:
            self._collecting.pop(old.metadata.name, None)
        for name in self._collecting:
            self._queue.add(name)

    async def _sync(self, name: str) -> None:
        role = self._roles.objects.get("", name)
        if role is None or role.aggregation_rule is None:
            return
        rules = tuple(dict.fromkeys(self._chosen(role.metadata.name, role.aggregation_rule)))
        if rules == (role.rules or ()):
            return
        try:
            await self._api.merge(CLUSTER_ROLES, "", name, {"rules": _trees(rules) or None})
        except StatusError as error:
            if error.code != 404:
                raise

    def _chosen(self, name: str, aggregation: _Aggregation) -> Iterator[PolicyRule]:
        """The rules of the other roles that the selectors choose; one rule may come more than once."""
        others = [each for each in self._roles.objects.items() if each.metadata.name != name]
        others.sort(key=lambda each: each.metadata.name)
        for selector in aggregation.cluster_role_selectors or ():
            for each in others:
                if selector.matches(each.metadata.labels):
                    yield from each.rules or ()


def _trees(rules: Iterable[PolicyRule]) -> list[Tree]:
    return [{key: value for key, value in msgspec.to_builtins(rule).items() if value} for rule in rules]
