"""A contract that only its test registers rolls on both clusters, from the registry to its objects."""

from __future__ import annotations

from contextlib import suppress

import pytest

from fairlead.contracts import CONTRACTS, contract
from fairlead.engine.assembly import assemble
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop.errors import AlreadyExists, NotFound
from kubeloop.objects.core import LEASES
from kubeloop.request import Transport
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.engine.world import Log
from tests.toy.kinds import BOXES, Box, definitions


class Operator:
    """Of boxes in the namespace of the site."""

    def __init__(self, site: Site) -> None:
        self.metrics = Metrics()
        self.log = Log()
        self._site = site

    async def __call__(self, transport: Transport) -> None:
        options = OperatorOptions(
            process="fairlead",
            identity="toy-1",
            namespaces=(self._site.namespace,),
            parts=(PartOptions(contract("toy"), None),),
            lease="fairlead",
        )
        try:
            manager = await assemble(options, self._site.namespace, transport, self.metrics, self.log.logger())
            await manager.run()
        finally:
            if (close := getattr(transport, "close", None)) is not None:
                await close()


async def defined(site: Site) -> None:
    """Returns when boxes can be listed; other scenarios may have defined them before."""
    for definition in definitions():
        with suppress(AlreadyExists):
            await site.create(CUSTOM_RESOURCES, definition)

    async def is_served() -> bool:
        try:
            await site.client.list(BOXES, Box, namespace=site.namespace)
        except NotFound:
            return False
        return True

    await site.until(is_served, every=0.1)


@everywhere(controllers=False)
async def test_boxes_are_painted_by_whoever_holds_their_lease(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONTRACTS, "toy", "tests.toy.contract")
    await defined(site)
    operator = Operator(site)
    site.start_operator(operator)

    async def is_painted(name: str, colour: str) -> bool:
        found = await site.get(BOXES, name)
        return found is not None and found.get("status", {}).get("colour") == colour

    await site.create(BOXES, {"metadata": {"name": "one"}, "spec": {"colour": "red"}})
    await site.until(lambda: is_painted("one", "red"), every=0.1)
    await site.create(BOXES, {"metadata": {"name": "bad"}, "spec": {}})
    blocked = {"part": "toy", "namespace": site.namespace, "rollout": "bad", "reason": "SpecInvalid"}
    await site.until(
        lambda: operator.metrics.registry.get_sample_value("fairlead_rollout_blocked", blocked) == 1, every=0.1
    )

    lease = await site.get(LEASES, "toy-leader")
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == "toy-1"
    assert lease["metadata"]["labels"] == {"app.kubernetes.io/name": "toy-operator"}
