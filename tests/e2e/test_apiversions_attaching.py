"""CRDs of others, converted by the operator and let go again: scenario A36, and what section 3.13 says besides."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest
import yaml

from fairlead.contracts.apiversions.attach_map import map_name
from fairlead.contracts.apiversions.kinds import CONVERTIBLE, MANAGER
from fairlead.engine.decide.owned_definitions import BUNDLE, owns
from fairlead.engine.decide.registration import Tree
from kubeloop.client import Client
from kubeloop.errors import TransportError
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.request import MERGE_PATCH, Request, path_of
from kubesim.faults import Fault, Faulty
from tests.e2e.api_commands import api
from tests.e2e.attached import (
    NOBODY,
    attached_by_one,
    conversion,
    defined,
    is_attached,
    settled,
    unserve,
    written,
)
from tests.e2e.clusters import Site, everywhere
from tests.e2e.converting_operator import rules_in_a_map, without_map
from tests.e2e.replicated_operator import DROPPED, LOST, SERVICE, Replicas
from tests.e2e.service_proxy import pod
from tests.e2e.tellings import tellings
from tests.e2e.widgets import Widgets, body_of, called


@everywhere(controllers=False)
async def test_a36_a_crd_is_attached_when_every_replica_can_and_detached_when_it_can_do_without(site: Site) -> None:
    kind = await defined(site)
    before = await kind.live_definition()
    replicas = Replicas(site)
    await replicas.begin()
    first = await replicas.add()
    second = await replicas.add(is_blind=True)
    await rules_in_a_map(site, {**kind.rules(), "attach": True})
    await site.until(lambda: _waits_for(first.log.of("definition not attached yet"), "fairlead-2"), every=0.1)
    waiting = await kind.live_definition()

    second.is_blind = False
    await site.until(lambda: is_attached(kind), every=0.1)

    assert waiting["metadata"]["generation"] == before["metadata"]["generation"]
    attached = await site.until(lambda: settled(kind), every=0.1)
    assert conversion(attached)["webhook"]["clientConfig"]["service"]["name"] == SERVICE
    assert attached["metadata"]["generation"] == before["metadata"]["generation"] + 1, "one write of the spec"
    assert not owns(attached, MANAGER, *BUNDLE)
    for each in (first, second):
        said = json.loads((await pod(site, each.endpoint.pod))["metadata"]["annotations"][CONVERTIBLE])
        assert said == {kind.name: ["v1", "v2"]}
    old = await kind.live("w-1", "v1")
    assert old["spec"] == {"size": 1, "colour": "red"}
    stored = {name: body_of(each) for name, each in (await kind.all("v2")).items()}

    refused = await api(site.client, "detach", kind.name, "--operator-namespace", site.namespace)
    assert refused.code == 6
    assert "ConfigMap" in refused.err
    await without_map(site)
    refused = await api(site.client, "detach", kind.name, "--operator-namespace", site.namespace)
    assert refused.code == 6
    assert f"fairlead api unserve {kind.name} v1" in refused.err
    assert await is_attached(kind)

    await unserve(site, kind)
    await site.until(lambda: _is_detached(kind), every=0.1)
    assert {name: body_of(each) for name, each in (await kind.all("v2")).items()} == stored


def _waits_for(records: list[dict[str, object]], name: str) -> bool:
    return any(each["reason"] == "ReplicasBehind" and name in str(each["error"]) for each in records)


async def _is_detached(kind: Widgets) -> bool:
    return conversion(await kind.live_definition()) == NOBODY


@everywhere(controllers=False)
async def test_the_commands_attach_and_detach(site: Site, tmp_path: Path) -> None:
    kind = await defined(site)
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()
    home = ("--operator-namespace", site.namespace)
    rules = written(kind.rules(), tmp_path)

    tried = await api(site.client, "attach", kind.name, "--rules", rules, *home, "--dry-run")
    assert (tried.code, await site.get(CONFIGMAPS, map_name(kind.name))) == (0, None)
    attached = await api(site.client, "attach", kind.name, "--rules", rules, *home)
    old = await kind.live("w-1", "v1")
    await unserve(site, kind)
    detached = await api(site.client, "detach", kind.name, *home)

    assert attached.code == 0, attached.err
    assert old["spec"] == {"size": 1, "colour": "red"}
    assert detached.code == 0, detached.err
    assert await _is_detached(kind)
    assert await site.get(CONFIGMAPS, map_name(kind.name)) is None


@everywhere(controllers=False)
async def test_of_two_who_attach_at_once_with_different_rules_one_is_told_that_the_other_was_faster(
    site: Site, tmp_path: Path
) -> None:
    kind = await defined(site)
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()
    carries_all = {**kind.rules(), "spokes": [{"version": "v1"}]}
    files = [written(rules, _made(tmp_path / name)) for name, rules in (("a", kind.rules()), ("b", carries_all))]
    home = ("--operator-namespace", site.namespace)

    codes = await asyncio.gather(*(called("attach", site.client, kind.name, "--rules", each, *home) for each in files))

    found = await site.get(CONFIGMAPS, map_name(kind.name))
    assert found is not None
    moves = bool(yaml.safe_load(found["data"]["rules.yaml"])["spokes"][0]["toHub"])
    assert codes == ([0, 5] if moves else [5, 0])
    again = await called("attach", site.client, kind.name, "--rules", files[0], *home)
    assert again == 0


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@everywhere(controllers=False)
async def test_union_schemas_let_a_crd_do_without_while_both_versions_are_served(site: Site, tmp_path: Path) -> None:
    kind = await defined(site)
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()
    home = ("--operator-namespace", site.namespace)
    await api(site.client, "attach", kind.name, "--rules", written(kind.rules(), tmp_path), *home)

    detached = await api(site.client, "detach", kind.name, "--union", *home)

    assert detached.code == 0, detached.err
    assert await _is_detached(kind)
    relabelled = await site.until(lambda: _read_whole(kind), every=0.1)
    assert relabelled["spec"]["paint"] == {"colour": "red", "finish": "matt"}, "nothing is pruned in the other version"
    assert await site.get(CONFIGMAPS, map_name(kind.name)) is None


@everywhere(controllers=False, on=("sim",))
async def test_what_was_written_in_the_old_version_while_nobody_converted_is_named_before_it_is_attached_again(
    site: Site, tmp_path: Path
) -> None:
    kind = await defined(site)
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()
    home, rules = ("--operator-namespace", site.namespace), written(kind.rules(), tmp_path)
    await api(site.client, "attach", kind.name, "--rules", rules, *home)
    await kind.make("converted", "v1", size=7, colour="blue")
    await api(site.client, "detach", kind.name, "--union", *home)
    await kind.make("odd", "v1", size=8, colour="green")

    refused = await api(site.client, "attach", kind.name, "--rules", rules, *home)
    await kind.delete("odd")
    agreed = await api(site.client, "attach", kind.name, "--rules", rules, *home)

    assert refused.code == 6
    assert f"1 of 5 objects has fields of another version, or nobody can tell: {site.namespace}/odd" in refused.err
    assert agreed.code == 0, agreed.err
    assert (await kind.live("converted", "v1"))["spec"]["colour"] == "blue"


@everywhere(controllers=False, on=("sim",))
async def test_a_crd_that_could_not_be_written_keeps_its_rules_and_its_converter_until_it_is_detached_again(
    site: Site, tmp_path: Path
) -> None:
    kind = await defined(site)
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()
    home = ("--operator-namespace", site.namespace)
    await api(site.client, "attach", kind.name, "--rules", written(kind.rules(), tmp_path), *home)

    def dying(request: Request, _: int) -> Fault | None:
        return Fault("timeout") if request.method == "PATCH" and "customresourcedefinitions" in request.path else None

    told = await tellings(site)
    with pytest.raises(TransportError):
        await api(Client(Faulty(site.ground.transport("admin"), dying)), "detach", kind.name, "--union", *home)
    await asyncio.sleep(60)
    halfway = await is_attached(kind), await told.has("DetachBlocked")
    again = await api(site.client, "detach", kind.name, "--union", *home)

    assert halfway == (True, False), "nobody asks for it any more, and its rules are not gone"
    assert again.code == 0, again.err
    assert await _is_detached(kind)
    assert await site.get(CONFIGMAPS, map_name(kind.name)) is None


async def _read_whole(kind: Widgets) -> Tree:
    """The server takes a moment to learn of the schemas."""
    found = await kind.live("w-1", "v1")
    return found if "paint" in found["spec"] else {}


@everywhere(controllers=False, on=("sim",))
async def test_objects_with_fields_of_another_version_are_waited_for_until_a_person_says_otherwise(
    site: Site, tmp_path: Path
) -> None:
    kind = await defined(site)
    await kind.make("odd", "v1", size=1)
    rules = written(kind.rules(), tmp_path)
    home = ("--operator-namespace", site.namespace)
    replicas = Replicas(site)
    await replicas.begin()
    first = await replicas.add()
    await rules_in_a_map(site, {**kind.rules(), "attach": True}, "by-hand")
    await site.until(
        lambda: [each for each in first.log.of("definition not attached yet") if each["reason"] == "PayloadsForeign"],
        every=1,
    )
    assert not await is_attached(kind)
    await without_map(site, "by-hand")

    refused = await api(site.client, "attach", kind.name, "--rules", rules, *home)
    agreed = await api(site.client, "attach", kind.name, "--rules", rules, *home, "--yes")

    assert refused.code == 6
    assert f"{site.namespace}/odd" in refused.err
    assert agreed.code == 0, agreed.err


@everywhere(controllers=False, on=("sim",))
async def test_mistakes_are_told_and_write_nothing(site: Site, tmp_path: Path) -> None:
    kind = await defined(site)
    home = ("--operator-namespace", site.namespace)
    lossy = {**kind.rules(), "spokes": [{"version": "v1", "carry": "off"}]}
    covers_less = {**kind.rules(), "spokes": []}

    for rules, code, said in (
        (lossy, 3, "does not come back as it was"),
        (covers_less, 3, "no rules for version v1"),
    ):
        ran = await api(site.client, "attach", kind.name, "--rules", written(rules, tmp_path), *home)
        assert (ran.code, said in ran.err) == (code, True), ran.err
    unknown = await api(site.client, "attach", "gizmos.example.test", "--rules", _named(kind, tmp_path), *home)
    nowhere = await api(site.client, "attach", kind.name, "--rules", written(kind.rules(), tmp_path), "--timeout=5s")

    assert unknown.code == 1
    assert "there is no CRD gizmos.example.test" in unknown.err
    assert nowhere.code == 6
    assert "there is no namespace fairlead-system" in nowhere.err
    maps = await site.client.list(CONFIGMAPS, dict, namespace=site.namespace)
    assert not [each for each in maps.items if each["metadata"]["name"].startswith("fairlead")]


def _named(kind: Widgets, folder: Path) -> str:
    return written({**kind.rules(), "crd": "gizmos.example.test"}, folder)


@everywhere(controllers=False, on=("sim",))
async def test_a_map_that_cannot_be_read_detaches_nothing_and_an_empty_one_does(site: Site) -> None:
    kind, _, first = await attached_by_one(site)
    await unserve(site, kind)

    await _map_holds(site, "kind: [")
    await site.until(lambda: first.state(kind.name) == "last-good", every=0.1)
    await asyncio.sleep(30)
    kept = await is_attached(kind)
    await _map_holds(site, "")
    await site.until(lambda: _is_detached(kind), every=0.1)

    assert kept


async def _map_holds(site: Site, text: str) -> None:
    body = msgspec.json.encode({"data": {"rules.yaml": text}})
    path = path_of(CONFIGMAPS, site.namespace, "rules")
    await site.client.call(Request("PATCH", path, body=body, content_type=MERGE_PATCH))


@pytest.mark.parametrize("last", [DROPPED, LOST], ids=["before", "after"])
@pytest.mark.parametrize("write", [1, 2, 3])
@everywhere(controllers=False, on=("sim",))
async def test_a_leader_that_dies_at_any_write_leaves_it_to_the_next_one_to_finish(
    site: Site, write: int, last: Fault
) -> None:
    """Attaching takes three writes, of which one changes the spec."""
    kind = await defined(site)
    before = await kind.live_definition()
    replicas = Replicas(site)
    await replicas.begin()
    first = await replicas.add(dies_at=write, last=last)
    await rules_in_a_map(site, {**kind.rules(), "attach": True})
    await site.until(lambda: first.is_dead, every=0.1)
    await replicas.lose(first)

    second = await replicas.add()
    attached = await site.until(lambda: settled(kind), every=0.1)

    assert attached["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert conversion(attached)["webhook"]["clientConfig"]["caBundle"]
    assert not second.log.of("conversion of a definition put back")
    assert (await kind.live("w-1", "v1"))["spec"] == {"size": 1, "colour": "red"}
