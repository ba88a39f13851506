"""One object that cannot be read is shown with its field, and keeps nobody from seeing the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.cli.documents_of import Documents, explain_all, looks
from fairlead.cli.live_documents import LiveScopes
from fairlead.cli.operator_reports import Reports
from fairlead.contracts.environments.install.definitions import definitions as of_environments
from fairlead.contracts.environments.kinds import BALANCERS, MATERIALIZES
from fairlead.contracts.leaderworker.disaggregated.kinds import DISAGGREGATED_SETS, ROLE_SCALERS
from fairlead.contracts.leaderworker.install.definitions import definitions as of_sets
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from fairlead.core.explain import Explain
from fairlead.engine.controller import RolloutKey
from fairlead.engine.look import Heard
from kubeloop.client import Client
from kubeloop.objects.meta import Resource
from kubeloop.request import Request, Response, Stream, Transport
from kubesim.time import run
from tests.engine.world import World, play

Tree = dict[str, Any]


def loose(definition: Tree) -> Tree:
    """The definition of a release that knows less of the kind: any field may be anything."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = definition["spec"]
    versions = [{**each, "schema": schema, "subresources": {}} for each in spec["versions"]]
    without_conversion = {key: value for key, value in spec.items() if key != "conversion"}
    return {**definition, "spec": {**without_conversion, "versions": versions}}


async def make(world: World, resource: Resource, name: str, **fields: Any) -> None:
    tree = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, **fields}
    await world.create(resource, "test", tree)


async def looked(client: Client) -> dict[str, Explain]:
    """By name; a watch sees the same as one look."""
    once = {one.rollout: one for one in await explain_all(client, ["test"])}
    live = LiveScopes(client, ["test"])
    async with live.running():
        watched = await Documents(client, live.scopes, Reports(client, ["test"]), looks()).look()
        assert {one.rollout: one.blocked_by for one in watched} == {name: one.blocked_by for name, one in once.items()}
        assert live.trouble == ""
    return once


POD = {"spec": {"containers": [{"name": "main", "image": "example.test/main:1"}]}}
A_SET = {"leaderWorkerTemplate": {"size": 1, "workerTemplate": POD}}
ROLES = [{"name": name, "spec": A_SET} for name in ("prefill", "decode")]


@pytest.mark.parametrize(
    ("resource", "good", "bad", "text"),
    [
        (
            LEADER_WORKER_SETS,
            {"spec": A_SET},
            {"spec": {**A_SET, "replicas": "many"}},
            "LeaderWorkerSet bad cannot be read: spec.replicas: expected `int`, got `str`",
        ),
        (
            DISAGGREGATED_SETS,
            {"spec": {"roles": ROLES}},
            {"spec": {"roles": [{"name": 1}]}},
            "DisaggregatedSet bad cannot be read: spec.roles[0].name: expected `str`, got `int`",
        ),
        (
            MATERIALIZES,
            {"spec": {}},
            {"spec": {}, "status": {"resourceId": "r", "activeGeneration": "one", "conditions": []}},
            "Materialize bad cannot be read: status.activeGeneration: expected `int`, got `str`",
        ),
    ],
)
def test_an_object_of_each_contract_is_shown_with_its_field(
    resource: Resource, good: Tree, bad: Tree, text: str
) -> None:
    async def scenario(world: World) -> None:
        await world.define(*map(loose, (*of_sets(), *of_environments())))
        await make(world, resource, "good", **good)
        await make(world, resource, "bad", **bad)

        seen = await looked(world.client)

        assert seen.keys() == {"good", "bad"}
        shown = seen["bad"]
        assert [block.text for block in shown.blocked_by] == [text]
        assert (shown.outcome, shown.stands.phase, shown.noun) == ("blocked", "Blocked", resource.kind.lower())
        assert "ObjectUnreadable" not in {block.reason for block in seen["good"].blocked_by}

    play(scenario)


class Garbling(Transport):
    """A server that answers with other bytes."""

    def __init__(self, transport: Transport, before: bytes, after: bytes) -> None:
        self._transport, self._before, self._after = transport, before, after

    async def send(self, request: Request) -> Response:
        answer = await self._transport.send(request)
        return replace(answer, body=answer.body.replace(self._before, self._after))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._transport.stream(request) as stream:
            yield stream


def test_a_zone_that_cannot_be_read_is_told_with_its_group() -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "group")
        await world.zone("zone-b", "group")
        await world.change(
            Resource("apps", "v1", "statefulsets", "StatefulSet"), "test", "zone-b", {"spec": {"minReadySeconds": 77}}
        )
        await world.zone("apart", "other")
        client = Client(Garbling(world.cluster.transport(), b'"minReadySeconds":77', b'"minReadySeconds":"long"'))

        seen = await looked(client)

        assert seen.keys() == {"group", "other"}
        shown = seen["group"]
        assert shown.blocked_by[0].text == (
            "StatefulSet zone-b cannot be read: spec.minReadySeconds: expected `int`, got `str`"
        )
        assert shown.blocked_by[0].object == "statefulset/zone-b"
        assert [lane.name for lane in shown.stands.lanes] == ["zone-a"], "the rest of the group is shown"
        assert (shown.outcome, seen["other"].outcome) == ("blocked", "done")

    play(scenario)


@pytest.mark.parametrize(
    ("resource", "spec", "broken", "text"),
    [
        (
            DISAGGREGATED_SETS,
            {"roles": ROLES},
            (ROLE_SCALERS, {"replicas": "many"}),
            "DisaggregatedSetRoleScaler odd cannot be read: spec.replicas: expected `int`, got `str`",
        ),
        (
            MATERIALIZES,
            {},
            (BALANCERS, "nothing"),
            "Balancer odd cannot be read: spec: expected `object`, got `str`",
        ),
    ],
)
def test_what_a_rollout_may_consist_of_is_named_where_it_lacks(
    resource: Resource, spec: Tree, broken: tuple[Resource, object], text: str
) -> None:
    async def scenario(world: World) -> None:
        await world.define(*map(loose, (*of_sets(), *of_environments())))
        await make(world, resource, "good", spec=spec)
        await make(world, broken[0], "odd", spec=broken[1])

        (shown,) = (await looked(world.client)).values()

        assert shown.rollout == "good"
        assert shown.notes == (f"{text}; what is shown here is without it",)

    play(scenario)


def test_a_field_that_only_a_decision_reads_is_told_as_well() -> None:
    async def fails() -> Explain | None:
        msgspec.convert({"size": "two"}, dict[str, int])
        raise AssertionError("it was read")

    async def looked_at() -> list[Explain]:
        return await Heard().or_each("toy", "box", [(RolloutKey(("test", "bad")), {}, fails)])

    (shown,) = run(looked_at())

    assert [block.text for block in shown.blocked_by] == ["box bad cannot be read: [...]: expected `int`, got `str`"]
    assert (shown.part, shown.noun, shown.namespace, shown.rollout) == ("toy", "box", "test", "bad")
