"""Kinds of other projects through an API server: A38 and A40. Their definitions come as Go modules and are not kept."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import msgspec
import yaml

from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.decide.convert import KindConversion as ConvertedKind
from fairlead.contracts.apiversions.decide.convert import KindVersion
from fairlead.contracts.apiversions.decide.rule_sets import kind_of, read_rules
from fairlead.engine.decide.registration import Tree
from kubeloop.errors import Invalid
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, Request, path_to
from tests.contracts.apiversions.real_definitions import CLUSTER_API, ECK, definitions_of
from tests.contracts.apiversions.test_real_definitions import ELASTICSEARCH, HEALTH_CHECK, RULES
from tests.e2e.api_commands import Ran, api
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.installing import define
from tests.e2e.replicated_operator import Replicas
from tests.e2e.widgets import body_of, tree_of

QUICK = ("--settle", "0s", "--qps", "0")
MADE_UP = 60
"""Objects of each version; an API server refuses some of them, by rules that no schema can follow by chance."""


class KindConversion:
    """One of theirs."""

    def __init__(self, site: Site, definition: Tree) -> None:
        self.definition = definition
        self.name: str = definition["metadata"]["name"]
        self._site = site

    def resource(self, version: str) -> Resource:
        spec = self.definition["spec"]
        return Resource(spec["group"], version, spec["names"]["plural"], spec["names"]["kind"])

    async def define(self) -> None:
        await define(self._site, self.definition)

    async def make(self, tree: Tree, name: str) -> Tree:
        version = tree["apiVersion"].rpartition("/")[2]
        body = {key: value for key, value in tree.items() if key not in ("apiVersion", "kind", "metadata")}
        return await self._site.create(self.resource(version), {"metadata": {"name": name}, **body})

    async def live(self, name: str, version: str) -> Tree:
        found = await self._site.get(self.resource(version), name)
        assert found is not None
        return found

    async def put_back(self, name: str, version: str) -> Tree:
        """As it is read in that version; what was read."""
        tree = await self.live(name, version)
        path = path_to(Ref(self.resource(version), self._site.namespace, name))
        await self._site.client.call(Request("PUT", path, body=msgspec.json.encode(tree), content_type=JSON))
        return tree

    async def versions(self) -> list[str]:
        path = path_to(Ref(CUSTOM_RESOURCES, "", self.name))
        live = tree_of((await self._site.client.call(Request("GET", path))).body)
        return [each["name"] for each in live["spec"]["versions"]]


async def attached(site: Site, kind: KindConversion, rules: Path) -> Replicas:
    """By a person, to an operator of one replica."""
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()
    ran = await api(
        site.client, "attach", kind.name, "--rules", str(rules), "--operator-namespace", site.namespace, "--yes"
    )
    assert ran.code == 0, ran.err
    return replicas


async def preflight(site: Site, kind: KindConversion, folder: Path) -> list[Tree]:
    file = folder / "definition.yaml"
    file.write_text(json.dumps(kind.definition))
    ran: Ran = await api(site.client, "preflight", "-f", str(file), "-o", "json")
    assert ran.code == 3, ran.err
    found: list[Tree] = ran.tree["findings"]
    return found


@everywhere(controllers=False, long=True)
async def test_a38_an_empty_set_keeps_what_the_old_version_of_elasticsearch_loses(site: Site, tmp_path: Path) -> None:
    kind = KindConversion(site, definitions_of(ECK[-1])["elasticsearches.elasticsearch.k8s.elastic.co"])
    await kind.define()
    await kind.make(ELASTICSEARCH, "lost")
    await kind.make(ELASTICSEARCH, "kept")
    findings = await preflight(site, kind, tmp_path)

    await kind.put_back("lost", "v1beta1")

    pruned = [each for each in findings if each["code"] == "NoneWouldPrune"]
    assert "/spec/auth" in str(pruned)
    assert "zoneAwareness" in str(pruned)
    poor = (await kind.live("lost", "v1"))["spec"]
    assert "auth" not in poor
    assert "zoneAwareness" not in poor["nodeSets"][0]

    spokes: list[Tree] = [{"version": version, "toHub": []} for version in ("v1beta1", "v1alpha1")]
    rules = tmp_path / "rules.yaml"
    rules.write_text(json.dumps({"kind": "ConversionRules", "crd": kind.name, "hub": "v1", "spokes": spokes}))
    await attached(site, kind, rules)
    before = body_of(await kind.live("kept", "v1"))
    await kind.put_back("kept", "v1beta1")
    assert body_of(await kind.live("kept", "v1")) == before
    assert before["spec"]["auth"] == {"fileRealm": [{"secretName": "realm"}]}

    moved = await api(site.client, "migrate", kind.name, "--force", *QUICK, "--journal", site.namespace)
    removed = await api(site.client, "remove-version", kind.name, "v1alpha1", "--yes")
    assert (moved.code, removed.code) == (0, 0), moved.err + removed.err
    assert await kind.versions() == ["v1", "v1beta1"]
    assert body_of(await kind.live("kept", "v1")) == before


@everywhere(controllers=False, long=True)
async def test_a40_durations_of_health_checks_come_back_as_they_were_written(site: Site, tmp_path: Path) -> None:
    kind = KindConversion(site, definitions_of(CLUSTER_API[-1])["machinehealthchecks.cluster.x-k8s.io"])
    await kind.define()
    await attached(site, kind, RULES / "machinehealthchecks.yaml")

    written = body_of(await kind.make(HEALTH_CHECK, "one"))
    new = (await kind.put_back("one", "v1beta2"))["spec"]

    assert new["checks"]["nodeStartupTimeoutSeconds"] == 600
    assert [each["timeoutSeconds"] for each in new["checks"]["unhealthyNodeConditions"]] == [600, 5400]
    assert body_of(await kind.live("one", "v1beta1")) == written
    assert written["spec"]["nodeStartupTimeout"] == "10m"
    assert written["spec"]["unhealthyConditions"][0]["timeout"] == "600s"
    (rules,) = yaml.safe_load_all((RULES / "machinehealthchecks.yaml").read_text())
    made = kind_of(read_rules(rules), kind.definition)
    old, hub = made.spokes["v1beta1"].version, made.hub
    for version, other in ((old, hub), (hub, old)):
        written_back = []
        for name in await made_up(kind, version, made):
            before = body_of(await kind.live(name, version.name))
            if await is_put_back(kind, name, other.name):
                written_back.append(name)
            assert body_of(await kind.live(name, version.name)) == before
        assert written_back, f"the API server takes no object of {version.name} in {other.name}"


async def is_put_back(kind: KindConversion, name: str, version: str) -> bool:
    """False where that version wants a field that the object does not have, so that nobody can write it there."""
    try:
        await kind.put_back(name, version)
    except Invalid:
        return False
    return True


async def made_up(kind: KindConversion, version: KindVersion, made: ConvertedKind) -> list[str]:
    """Names of objects of this version that the API server has taken."""
    chance, taken = Random(version.name), []
    for number in range(MADE_UP):
        name = f"{version.name}-{number}"
        try:
            await kind.make(self_test.made_up(made, version, chance), name)
        except Invalid:
            continue
        taken.append(name)
    return taken
