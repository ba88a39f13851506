"""Versions that come and go while a CRD is attached (section 3.13), and the rules that name them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from fairlead.contracts.apiversions.attach_map import map_name
from fairlead.contracts.apiversions.kinds import kept_rules_name
from fairlead.contracts.apiversions.source_files import RuleMap
from fairlead.engine.decide.registration import Tree
from kubeloop.objects.core import CONFIGMAPS, PODS
from kubeloop.request import Request
from tests.e2e.api_commands import api
from tests.e2e.attached import (
    attached_by_one,
    defined,
    probe_of,
    written,
)
from tests.e2e.clusters import Site, everywhere
from tests.e2e.converting import patched
from tests.e2e.converting_operator import rules_in_a_map
from tests.e2e.replicated_operator import Replicas
from tests.e2e.widgets import Widgets, a_version


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


async def _asked_for(site: Site, kind: Widgets) -> list[str]:
    """What the API server counts of requests to deprecated versions of the kind."""
    metrics = (await site.client.call(Request("GET", "/metrics"))).body.decode()
    return [each for each in metrics.splitlines() if "requested_deprecated_apis{" in each and kind.group in each]
