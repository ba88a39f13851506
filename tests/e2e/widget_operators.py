"""Operators of Widgets in the process of the test, of whatever version."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from fairlead.contracts import CONTRACTS, contract
from fairlead.engine.assembly import assemble
from fairlead.engine.decide.guard import VersionPolicy
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop.errors import AlreadyExists, NotFound
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Transport, patch
from tests.e2e.clusters import CUSTOM_RESOURCES, Site
from tests.e2e.history import Tree
from tests.engine.world import Log
from tests.widgets.decide import PART, Settings
from tests.widgets.kinds import OF_WIDGET, WIDGETS, Widget, definitions

MERGE, JSON = "application/merge-patch+json", "application/json-patch+json"


class WidgetOperator:
    """One version of the operator; `stop` it before another one is to lead. With `other`, of that part instead."""

    def __init__(self, site: Site, settings: Settings, policy: VersionPolicy, other: PartOptions | None = None) -> None:
        self.metrics = Metrics()
        self.log = Log()
        self._site, self._policy = site, policy
        self._part = other or PartOptions(contract(PART), settings)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> WidgetOperator:
        self._task = self._site.start_operator(self)
        return self

    async def stop(self) -> None:
        assert self._task is not None
        await self._site.stop(self._task)

    async def __call__(self, transport: Transport) -> None:
        options = OperatorOptions(
            process="fairlead",
            identity=f"widgets-{self._policy.own}",
            namespaces=(self._site.namespace,),
            parts=(self._part,),
            lease="fairlead-operator",
            versions=self._policy,
        )
        try:
            manager = await assemble(options, self._site.namespace, transport, self.metrics, self.log.logger())
            await manager.run()
        finally:
            if (close := getattr(transport, "close", None)) is not None:
                await close()

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)

    def passes(self, name: str) -> list[str]:
        """What was decided about a Widget, each time that was something else."""
        return [keys["rule"] for _, _, keys in self.log.records if keys.get("rollout", "").endswith(f"/{name}")]


async def defined(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Returns when Widgets can be listed, under union schemas and without conversion."""
    monkeypatch.setitem(CONTRACTS, PART, "tests.widgets.contract")
    for definition in definitions():
        with suppress(AlreadyExists):
            await site.create(CUSTOM_RESOURCES, definition)

    async def is_served() -> bool:
        try:
            await site.client.list(WIDGETS, Widget, namespace=site.namespace)
        except NotFound:
            return False
        return True

    await site.until(is_served, every=0.1)


async def a_widget(
    site: Site, name: str, spec: Tree, annotations: Mapping[str, str] | None = None, **metadata: Any
) -> Tree:
    given = {"name": name, **({"annotations": dict(annotations)} if annotations else {}), **metadata}
    return await site.create(WIDGETS, {"metadata": given, "spec": spec})


async def workload_of(site: Site, widget: Tree) -> Tree:
    """What an operator made for it before anybody noted versions."""
    meta = widget["metadata"]
    owner = {"apiVersion": WIDGETS.api_version, "kind": WIDGETS.kind, "name": meta["name"], "uid": meta["uid"]}
    labels = {OF_WIDGET: meta["name"]}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "example.test/old:1"}]},
    }
    tree = {
        "metadata": {"name": meta["name"], "labels": labels, "ownerReferences": [owner]},
        "spec": {"selector": {"matchLabels": labels}, "serviceName": "x", "replicas": 1, "template": template},
    }
    return await site.create(STATEFULSETS, tree)


async def changed(site: Site, resource: Resource, name: str, body: Any, kind: str = MERGE) -> Tree:
    answer = await site.client.call(patch(Ref(resource, site.namespace, name), kind, msgspec.json.encode(body)))
    tree: Tree = msgspec.json.decode(answer.body)
    return tree


async def disowned(site: Site, name: str) -> None:
    """Nobody is recorded as the manager of any field."""
    await changed(site, WIDGETS, name, {"metadata": {"managedFields": [{}]}})


async def found(site: Site, resource: Resource, name: str) -> Tree:
    tree = await site.get(resource, name)
    assert tree is not None
    return tree


def condition_of(widget: Tree) -> tuple[str, str]:
    """Status and reason."""
    conditions = widget.get("status", {}).get("conditions") or [{}]
    return conditions[0].get("status", ""), conditions[0].get("reason", "")


async def told(site: Site, name: str, reason: str) -> list[Tree]:
    """Events of that reason about the object."""
    events = site.history.objects(EVENTS).values()
    return [each for each in events if each.get("reason") == reason and _about(each) == name]


def _about(event: Tree) -> str:
    about = event.get("regarding") or event.get("involvedObject") or {}
    return str(about.get("name", ""))
