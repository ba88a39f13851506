"""Writes bound to a version, and dry runs, as servers answer them; the same on both clusters."""

from __future__ import annotations

import json

import pytest
from msgspec import structs

from fairlead.core.act import AnyWrite, Apply, Create, Does, Patch, PatchKind
from fairlead.core.ask import Answer, Bad, Good
from fairlead.engine.driver.questions import AskContext, asker
from kubeloop import request
from kubeloop.errors import NotFound
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree

BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}


async def answered(site: Site, write: AnyWrite) -> Answer:
    return await asker(AskContext(site.client))(write)


async def a_map(site: Site) -> tuple[Ref, str]:
    made = await answered(
        site,
        Create(
            does=Does.APPLY_OBJECT,
            resource=CONFIGMAPS,
            namespace=site.namespace,
            name="one",
            body=json.dumps(BODY).encode(),
        ),
    )
    assert isinstance(made, Good), made
    metadata = json.loads(made.value)["metadata"]
    return Ref(CONFIGMAPS, site.namespace, "one", metadata["uid"]), metadata["resourceVersion"]


def writes(ref: Ref, version: str, value: str) -> list[AnyWrite]:
    merge = json.dumps({"data": {"a": value}}).encode()
    steps = json.dumps([{"op": "replace", "path": "/data/a", "value": value}]).encode()
    whole = json.dumps({**BODY, "data": {"a": value}}).encode()
    does = Does.APPLY_OBJECT
    return [
        Patch(does=does, ref=ref, kind=PatchKind.MERGE, body=merge, resource_version=version),
        Patch(does=does, ref=ref, kind=PatchKind.JSON, body=steps, resource_version=version),
        Apply(does=does, ref=ref, body=whole, manager="fairlead", force=True, resource_version=version),
    ]


async def stored(site: Site, ref: Ref) -> Tree:
    tree: Tree = json.loads((await site.client.call(request.get(ref))).body)
    return tree


@everywhere(controllers=False)
async def test_write_is_carried_out_on_its_version_and_on_no_other(site: Site) -> None:
    ref, version = await a_map(site)

    for place in range(3):
        tree = await stored(site, ref)
        current = tree["metadata"]["resourceVersion"]
        done = await answered(site, writes(ref, current, f"new-{place}")[place])
        assert isinstance(done, Good), done
        late = await answered(site, writes(ref, version, "late")[place])
        assert isinstance(late, Bad), late
        assert (late.kind, late.code) == ("conflict", 409)
        assert (await stored(site, ref))["data"] == {"a": f"new-{place}"}


@everywhere(controllers=False)
async def test_write_does_not_touch_another_object_of_the_same_name(site: Site) -> None:
    ref, _ = await a_map(site)
    await site.client.call(request.delete(ref))
    again, version = await a_map(site)
    assert again.uid != ref.uid

    for write in writes(ref, version, "late"):
        assert isinstance(await answered(site, write), Bad)

    assert (await stored(site, again))["data"] == {"a": "1"}


@everywhere(controllers=False)
async def test_apply_that_is_bound_to_a_version_makes_no_object(site: Site) -> None:
    ref, version = await a_map(site)
    await site.client.call(request.delete(ref))

    answer = await answered(site, writes(ref, version, "late")[2])

    assert isinstance(answer, Bad)
    with pytest.raises(NotFound):
        await stored(site, ref)


@everywhere(controllers=False)
async def test_dry_run_says_what_would_be_stored_and_stores_nothing(site: Site) -> None:
    ref, version = await a_map(site)

    for write in writes(ref, version, "tried"):
        answer = await answered(site, structs.replace(write, dry_run=True))
        assert isinstance(answer, Good), answer
        assert json.loads(answer.value)["data"] == {"a": "tried"}

    tree = await stored(site, ref)
    assert (tree["data"], tree["metadata"]["resourceVersion"]) == ({"a": "1"}, version)
