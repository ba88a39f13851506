"""Certificates on the embedded cluster in virtual time; small keys, because only their size is another."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime, timedelta
from typing import Any

import msgspec

from fairlead.api.core import SECRETS
from fairlead.api.meta import Ref, Resource
from fairlead.kube import request
from fairlead.kube.client import Client
from fairlead.kube.errors import NotFound
from fairlead.sim.cluster import FIRST_NAMESPACES, Cluster
from fairlead.webhook import pairs
from fairlead.webhook.pairs import Pair, Wanted
from fairlead.webhook.stored import StoredCertificate
from tests.control.world import Log

SECRET = Ref(SECRETS, "test", "certificate")
NAME = "rollout-operator.test.svc"
DAY = timedelta(days=1)


def make_small(wanted: Wanted, now: datetime) -> Pair:
    return pairs.make(wanted, now, key_size=2048)


class World:
    def __init__(self, seed: int = 0) -> None:
        self.cluster = Cluster(seed=seed, namespaces=(*FIRST_NAMESPACES, "test"))
        self.client = Client(self.cluster.transport())
        self.log = Log()

    def stored(self, name: str = NAME, lifetime: timedelta = DAY) -> StoredCertificate:
        wanted = Wanted(name, "Grafana Labs", lifetime)
        return StoredCertificate(self.client, SECRET, wanted, self.log.logger(), make_small)

    async def create(self, resource: Resource, tree: dict[str, Any], namespace: str = "test") -> None:
        named = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
        await self.client.call(request.create(resource, namespace, msgspec.json.encode(named)))

    async def read(self, ref: Ref) -> dict[str, Any] | None:
        try:
            tree: dict[str, Any] = msgspec.json.decode((await self.client.call(request.get(ref))).body)
        except NotFound:
            return None
        return tree

    async def fill(self, **entries: bytes) -> None:
        """The Secret with these entries."""
        data = {key: b64encode(value).decode() for key, value in entries.items()}
        await self.create(SECRETS, {"metadata": {"name": SECRET.name, "labels": {"kept": "yes"}}, "data": data})
