"""CRDs of others, converted by the operator and let go again: scenario A36, and what section 3.13 says besides."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import msgspec
import pytest
import yaml

from fairlead.contracts.apiversions.attach_map import map_name
from fairlead.contracts.apiversions.kinds import CA_MANAGER, CONVERTIBLE, MANAGER, kept_rules_name
from fairlead.contracts.apiversions.source_files import RuleMap
from fairlead.engine.decide.owned_definitions import BUNDLE, owns
from fairlead.engine.decide.registration import Tree
from fairlead.engine.failed_passes import FAILING
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import TransportError
from kubeloop.objects.admissionregistration import VALIDATING
from kubeloop.objects.core import CONFIGMAPS, PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, path_of
from kubesim.faults import Fault, Faulty
from tests.e2e.api_commands import api
from tests.e2e.clusters import Site, everywhere
from tests.e2e.converting import patched
from tests.e2e.converting_operator import rules_in_a_map, without_map
from tests.e2e.replicated_operator import DROPPED, LOST, SERVICE, Replica, Replicas
from tests.e2e.service_proxy import pod
from tests.e2e.tellings import tellings
from tests.e2e.webhooks import answering, install, rule, serve
from tests.e2e.widgets import Widgets, a_version, body_of, called, widgets

NOBODY = {"strategy": "None"}


def conversion(tree: Tree) -> Tree:
    found: Tree = tree["spec"].get("conversion") or NOBODY
    return found


async def is_attached(kind: Widgets) -> bool:
    return bool(conversion(await kind.live_definition())["strategy"] == "Webhook")


async def defined(site: Site) -> Widgets:
    """Two versions that would lose something of one another, and objects of the stored one."""
    kind = widgets(site)
    await kind.define("v1", "v2", storage="v2")
    for number in range(3):
        await kind.make(f"w-{number}", "v2", size=number, paint={"colour": "red", "finish": "matt"})
    return kind


async def attached_by_one(site: Site) -> tuple[Widgets, Replicas, Replica]:
    """The same, converted by one replica."""
    kind = await defined(site)
    replicas = Replicas(site)
    await replicas.begin()
    replica = await replicas.add()
    await rules_in_a_map(site, {**kind.rules(), "attach": True})
    await site.until(lambda: _settled(kind), every=0.1)
    return kind, replicas, replica


async def unserve(site: Site, kind: Widgets) -> None:
    await patched(site, {"op": "replace", "path": "/spec/versions/0/served", "value": False}, name=kind.name)


async def unconvert(site: Site, kind: Widgets) -> None:
    """As whoever applies the definition without its conversion."""
    await patched(site, {"op": "replace", "path": "/spec/conversion", "value": NOBODY}, name=kind.name)


def written(rules: Tree, folder: Path) -> str:
    path = folder / "rules.yaml"
    path.write_text(json.dumps(rules))
    return str(path)


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
    attached = await site.until(lambda: _settled(kind), every=0.1)
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


async def _settled(kind: Widgets) -> Tree:
    tree = await kind.live_definition()
    settled = owns(tree, CA_MANAGER, *BUNDLE) and not owns(tree, MANAGER, *BUNDLE)
    return tree if settled else {}


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
async def test_a_crd_that_is_attached_gets_a_third_version(site: Site, tmp_path: Path) -> None:
    """Section 3.6: replicas speak of versions that there are, so none can be waited for before it is introduced."""
    kind = await defined(site)
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()
    (name,) = [each.metadata.name for each in (await site.client.list(PODS, RuleMap, namespace=site.namespace)).items]
    await site.write_status(PODS, name, {"conditions": [{"type": "Ready", "status": "True"}]})
    home = ("--operator-namespace", site.namespace)
    await api(site.client, "attach", kind.name, "--rules", written(kind.rules(), tmp_path), *home)
    whole = kind.definition("v1", "v2", storage="v2")
    whole["spec"]["versions"].append({**a_version("v2", storage=False), "name": "v3"})
    crd, third = tmp_path / "crd.yaml", kind.rules()
    crd.write_text(yaml.safe_dump(whole))
    third["spokes"].append({"version": "v3"})
    rules = written(third, tmp_path)

    introduced = await api(site.client, "introduce", kind.name, "-f", str(crd), "--rules", rules)
    too_early = await api(site.client, "serve", kind.name, "v3", "--rules", rules)
    attached = await api(site.client, "attach", kind.name, "--rules", rules, *home)

    async def is_served() -> bool:
        return (await api(site.client, "serve", kind.name, "v3")).code == 0

    await site.until(is_served, every=0.5)
    assert introduced.code == 0, introduced.err
    assert f"next: `fairlead api attach {kind.name} --rules FILE`, then" in introduced.out
    assert (too_early.code, f"replica {name} cannot convert v3 yet" in too_early.err) == (6, True)
    assert attached.code == 0, attached.err
    assert (await kind.live("w-1", "v3"))["spec"]["paint"] == {"colour": "red", "finish": "matt"}


@everywhere(controllers=False, on=("sim",))
async def test_rules_that_are_published_need_no_attaching_when_a_version_is_introduced(
    site: Site, tmp_path: Path
) -> None:
    """`attach` would refuse to write others beside them, and the operator takes them by itself."""
    kind, *_ = await attached_by_one(site)
    (name,) = [each.metadata.name for each in (await site.client.list(PODS, RuleMap, namespace=site.namespace)).items]
    await site.write_status(PODS, name, {"conditions": [{"type": "Ready", "status": "True"}]})
    whole, third = kind.definition("v1", "v2", storage="v2"), kind.rules()
    whole["spec"]["versions"].append({**a_version("v2", storage=False), "name": "v3"})
    third["spokes"].append({"version": "v3"})
    crd = tmp_path / "crd.yaml"
    crd.write_text(yaml.safe_dump(whole))
    await rules_in_a_map(site, {**third, "attach": True})

    introduced = await api(site.client, "introduce", kind.name, "-f", str(crd))

    async def is_served() -> bool:
        return (await api(site.client, "serve", kind.name, "v3")).code == 0

    await site.until(is_served, every=0.5)
    assert introduced.code == 0, introduced.err
    assert f"next: `fairlead api serve {kind.name} v3`" in introduced.out


@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize("said_by", ["the command", "a ConfigMap"])
async def test_preflight_does_not_wait_for_replicas_to_convert_a_version_that_is_not_there(
    site: Site, tmp_path: Path, said_by: str
) -> None:
    """None of them can before it is, so nothing that anybody does would clear it."""
    kind, *_ = await attached_by_one(site)
    (name,) = [each.metadata.name for each in (await site.client.list(PODS, RuleMap, namespace=site.namespace)).items]
    await site.write_status(PODS, name, {"conditions": [{"type": "Ready", "status": "True"}]})
    whole, third = kind.definition("v1", "v2", storage="v2"), kind.rules()
    whole["spec"]["versions"].append({**a_version("v2", storage=False), "name": "v3"})
    third["spokes"].append({"version": "v3"})
    crd = tmp_path / "crd.yaml"
    crd.write_text(yaml.safe_dump(whole))
    words = ("--rules", written(third, tmp_path)) if said_by == "the command" else ()
    if said_by == "a ConfigMap":
        await rules_in_a_map(site, {**third, "attach": True})

    found = await api(site.client, "preflight", "-f", str(crd), *words)

    assert found.code == 0, found.out
    assert f"fairlead api introduce {kind.name} -f FILE" in found.out


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


async def _three_versions(site: Site) -> tuple[Widgets, Tree]:
    """Of which v3 is not served, and rules for all."""
    kind = await defined(site)
    third = {**a_version("v2", storage=False, served=False), "name": "v3"}
    await patched(site, {"op": "add", "path": "/spec/versions/-", "value": third}, name=kind.name)
    rules = kind.rules()
    rules["spokes"].append({"version": "v3"})
    return kind, rules


def _spokes(found: Tree | None) -> list[str]:
    assert found is not None
    (text,) = found["data"].values()
    return [each["version"] for each in yaml.safe_load(text)["spokes"]]


@everywhere(controllers=False, on=("sim",))
async def test_a_version_that_is_removed_is_taken_out_of_the_rules_that_attach_stored(
    site: Site, tmp_path: Path
) -> None:
    kind, rules = await _three_versions(site)
    replicas = Replicas(site)
    await replicas.begin()
    first = await replicas.add()
    home = ("--operator-namespace", site.namespace)
    await api(site.client, "attach", kind.name, "--rules", written(rules, tmp_path), *home)
    remove = ("remove-version", kind.name, "v3", "--dependents", "/Secret")

    tried = await api(site.client, *remove, "--dry-run")
    named = _spokes(await site.get(CONFIGMAPS, map_name(kind.name)))
    await patched(site, {"op": "remove", "path": "/spec/versions/2"}, name=kind.name)  # as if it was killed half-way
    removed = await api(site.client, *remove)
    again = await api(site.client, *remove)

    assert (tried.code, named) == (0, ["v1", "v3"])
    assert "would name v3 no longer" in tried.err
    assert removed.code == 0, removed.err
    assert "names v3 no longer" in removed.err
    assert again.code == 1, "and nothing names it any more"
    assert _spokes(await site.get(CONFIGMAPS, map_name(kind.name))) == ["v1"]
    await site.until(lambda: first.log.of("conversion rules loaded")[-1]["versions"] == "v2, v1", every=0.1)


@everywhere(controllers=False, on=("sim",))
async def test_another_hub_is_refused_while_objects_hold_what_it_would_not_see_and_a_person_may_overrule_it(
    site: Site, tmp_path: Path
) -> None:
    kind, second = await _three_versions(site)
    flips = [
        {"op": "replace", "path": f"/spec/versions/{place}/storage", "value": is_stored}
        for place, is_stored in ((0, True), (1, False))
    ]
    await patched(site, *flips, name=kind.name)
    third = {**second, "hub": "v3", "spokes": [second["spokes"][0], {"version": "v2"}]}
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()
    home = ("--operator-namespace", site.namespace)
    first = await api(site.client, "attach", kind.name, "--rules", written(second, tmp_path), *home, "--yes")
    assert await _keeps(site, kind, "v2")

    refused = await api(site.client, "attach", kind.name, "--rules", written(third, tmp_path), *home)
    taken = await api(site.client, "attach", kind.name, "--rules", written(third, tmp_path), *home, "--yes")
    await site.until(lambda: _keeps(site, kind, "v3"), every=0.1)

    assert (first.code, refused.code, taken.code) == (0, 6, 0), refused.err
    assert "the hub was v2 and is v3 here, while objects may be stored in v1" in refused.err
    assert "or say --yes" in refused.err


async def _keeps(site: Site, kind: Widgets, hub: str) -> bool:
    found = await site.get(CONFIGMAPS, kept_rules_name(kind.name))
    return found is not None and json.loads(found["data"]["rules.yaml"])["hub"] == hub


@everywhere(controllers=False, on=("sim",))
async def test_rules_of_others_that_name_a_removed_version_are_told(site: Site) -> None:
    kind, rules = await _three_versions(site)
    await rules_in_a_map(site, rules)

    removed = await api(site.client, "remove-version", kind.name, "v3", "--dependents", "/Secret")

    assert removed.code == 0, removed.err
    assert "still names v3: take it out of the spokes there" in removed.err


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


@everywhere(controllers=False)
async def test_whoever_overwrites_the_conversion_is_corrected_and_people_are_told(site: Site) -> None:
    kind, _, _ = await attached_by_one(site)
    told = await tellings(site)

    await unconvert(site, kind)
    await site.until(lambda: is_attached(kind), every=0.1)

    await site.until(lambda: told.has("ConversionLost"), every=0.1)


@everywhere(controllers=False)
async def test_a_conversion_that_goes_with_a_new_version_is_put_back_before_there_are_rules_for_that(
    site: Site,
) -> None:
    """As where somebody replaces the definition with a text that says nothing of conversion."""
    kind, *_ = await attached_by_one(site)
    told = await tellings(site)
    replaced = {"op": "replace", "path": "/spec/conversion", "value": NOBODY}
    third = {**a_version("v2", storage=False, served=False), "name": "v3"}

    await patched(site, replaced, {"op": "add", "path": "/spec/versions/-", "value": third}, name=kind.name)

    await site.until(lambda: is_attached(kind), within=20, every=0.1)
    await site.until(lambda: told.has("ConversionLost", "UnknownVersion"), every=0.1)
    assert (await kind.live("w-1", "v1"))["spec"]["colour"] == "red"


@everywhere(controllers=False, on=("sim",))
async def test_people_are_told_that_nobody_converts_while_the_next_repair_is_waited_for(site: Site) -> None:
    """A tool that applies the CRD from a repository without its conversion takes it away with every sync."""
    kind, _, replica = await attached_by_one(site)
    told = await tellings(site)

    async def sync() -> None:
        while True:
            await unconvert(site, kind)
            await asyncio.sleep(1)

    syncing = site.start(sync())
    await site.until(lambda: probe_of(replica, kind) == "lost", every=0.1)
    await site.stop(syncing)

    async def is_told() -> bool:
        return any("nobody converts its objects now" in each["note"] for each in await told.all("ConversionLost"))

    await site.until(is_told, every=0.1)
    await site.until(lambda: is_attached(kind), every=0.1)
    await site.until(lambda: probe_of(replica, kind) == "answers", every=0.1)


@everywhere(controllers=False, on=("sim",))
async def test_a_conversion_that_may_not_be_put_back_is_told(site: Site) -> None:
    kind, *_ = await attached_by_one(site)
    told = await tellings(site)

    def judged(review: Tree) -> Tree:
        return {"allowed": conversion(review["object"]) == NOBODY, "status": {"message": "no webhooks here"}}

    policy = {
        "clientConfig": await serve(site, answering(judged)),
        "rules": [rule("UPDATE", "customresourcedefinitions")],
    }
    await install(site, VALIDATING, "no-conversion", policy)
    await unconvert(site, kind)
    await site.until(lambda: told.has(FAILING), every=0.1)
    (event,) = await told.all(FAILING)

    assert event["regarding"]["name"] == kind.name
    assert "no webhooks here" in event["note"]

    await site.client.call(request.delete(Ref(VALIDATING, "", "no-conversion")))
    await site.until(lambda: is_attached(kind), every=0.1)
    await site.until(lambda: told.has("ConversionLost"), every=0.1)


@everywhere(controllers=False)
async def test_a_conversion_that_was_overwritten_while_no_operator_ran_is_told_as_well(site: Site) -> None:
    """Section 3.13: whoever leads next knows it from what is kept beside the rules."""
    kind, replicas, first = await attached_by_one(site)
    uid = (await kind.live_definition())["metadata"]["uid"]

    async def is_noted() -> bool:
        kept = await site.get(CONFIGMAPS, kept_rules_name(kind.name))
        return kept is not None and kept["data"].get("attached") == uid

    await site.until(is_noted, every=0.1)
    await replicas.lose(first)
    told = await tellings(site)

    await unconvert(site, kind)
    await replicas.add()
    await site.until(lambda: is_attached(kind), every=0.1)

    await site.until(lambda: told.has("ConversionLost"), every=0.1)
    assert not await told.has("CRDRegistered")


@everywhere(controllers=False, on=("real",))
async def test_nobody_of_ours_asks_for_a_version_once_it_is_deprecated(site: Site, tmp_path: Path) -> None:
    """The API server remembers until its restart that somebody did, and `unserve` goes by that."""
    kind, _, replica = await attached_by_one(site)
    await site.until(lambda: probe_of(replica, kind) == "answers", every=0.1)

    old = [each["name"] for each in (await kind.live_definition())["spec"]["versions"]].index("v1")
    await patched(site, {"op": "add", "path": f"/spec/versions/{old}/deprecated", "value": True}, name=kind.name)
    await site.until(lambda: probe_of(replica, kind) == "unknown", every=0.1)
    looked = await api(site.client, "preflight", "-f", written(await kind.live_definition(), tmp_path))

    assert "WebhookUnreachable" not in looked.out
    assert await _asked_for(site, kind) == []
    await kind.all("v1")
    await site.until(lambda: _asked_for(site, kind), every=0.1)


def probe_of(replica: Replica, kind: Widgets) -> str:
    """What the last probe said, by the metric."""
    shown = replica.metrics.exposition().decode()
    found = re.findall(rf'fairlead_conversion_probe{{crd="{re.escape(kind.name)}",result="(\w+)"}} 1', shown)
    return found[0] if found else ""


async def _asked_for(site: Site, kind: Widgets) -> list[str]:
    """What the API server counts of requests to deprecated versions of the kind."""
    metrics = (await site.client.call(Request("GET", "/metrics"))).body.decode()
    return [each for each in metrics.splitlines() if "requested_deprecated_apis{" in each and kind.group in each]


@everywhere(controllers=False, on=("sim",))
async def test_a_conversion_of_somebody_else_is_left_to_him(site: Site) -> None:
    kind = await defined(site)
    theirs = {"service": {"name": "other", "namespace": "elsewhere", "path": "/convert", "port": 443}}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": theirs}
    value = {"strategy": "Webhook", "webhook": webhook}
    await patched(site, {"op": "replace", "path": "/spec/conversion", "value": value}, name=kind.name)
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()

    told = await tellings(site)
    await rules_in_a_map(site, {**kind.rules(), "attach": True})
    await site.until(lambda: told.has("ConversionForeign"), every=1)

    assert conversion(await kind.live_definition()) == value
    refused = await api(site.client, "detach", kind.name, "--operator-namespace", site.namespace)
    assert (refused.code, "elsewhere/other" in refused.err) == (6, True)


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
    attached = await site.until(lambda: _settled(kind), every=0.1)

    assert attached["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert conversion(attached)["webhook"]["clientConfig"]["caBundle"]
    assert not second.log.of("conversion of a definition put back")
    assert (await kind.live("w-1", "v1"))["spec"] == {"size": 1, "colour": "red"}
