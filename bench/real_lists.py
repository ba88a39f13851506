"""What API versions cost on a real API server: lists in both versions, rules of large kinds, memory, and rest.

The API server keeps what it has read of each version, converted once. So the first list of a version after a change of
the definition has everything converted, and those after it are served as those of the stored version are.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from bench.ground import Ground
from bench.orchestrator import HOST, Operator
from bench.table import Check
from bench.widget_lists import CRD, GROUP, widget
from fairlead.contracts.apiversions.rule_data import SetData, essence
from fairlead.contracts.apiversions.rule_tests import RuleTests
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.logs import configure
from fairlead.plane.build import module_folder
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, MERGE_PATCH, Request, path_of

Tree = dict[str, Any]
STORED, OTHER = "v2", "v1"
AT_ONCE = 32
LIST_SECONDS = 120.0
FIRST_SECONDS = 30.0
"""What an API server gives a conversion: a first list that took longer would fail."""
LATER_TIMES = 1.5
RULES_SECONDS = 5.0
"""For the trial of a set with schemas of 2 MB."""
MEMORY_MEGABYTES = 150.0
MODULES: Mapping[str, str] = {
    "github.com/elastic/cloud-on-k8s/v3@v3.5.0": "config/crds/v1/all-crds.yaml",
    "sigs.k8s.io/cluster-api@v1.11.0": "config/crd/bases/*.yaml",
    "sigs.k8s.io/gateway-api@v1.1.0": "config/crd/experimental/*.yaml",
    "sigs.k8s.io/karpenter@v1.0.8": "pkg/apis/crds/*.yaml",
    "github.com/external-secrets/external-secrets@v1.3.2": "deploy/crds/bundle.yaml",
}
ELASTICSEARCH = "elasticsearches.elasticsearch.k8s.elastic.co"


class Lists(Struct, frozen=True):
    """Seconds of lists of all objects, by version."""

    count: int
    first: Mapping[str, float]
    later: Mapping[str, float]

    @property
    def times(self) -> float:
        return self.later[OTHER] / self.later[STORED]


class Loaded(Struct, frozen=True):
    """What the kinds of other projects take."""

    kinds: int
    several: int
    """Kinds of several versions, each with a set of rules."""
    elasticsearch: float
    """Seconds until its set was tried and ready."""
    elasticsearch_bytes: int
    megabytes: float
    """Of the operator's own process with all of them loaded."""


def resource(version: str) -> Resource:
    return Resource(GROUP, version, "widgets", "Widget")


async def listed(ground: Ground, operator: Operator, namespace: str, count: int, rounds: int) -> Lists:
    client = Client(HttpTransport(ground.plane.config()), timeout=LIST_SECONDS)
    try:
        await _make(client, namespace, count)
        await _attach(client, operator)
        first = {each: await _list(client, each, namespace, count) for each in (STORED, OTHER)}
        taken: dict[str, list[float]] = {STORED: [], OTHER: []}
        for _ in range(rounds):
            for version, found in taken.items():
                found.append(await _list(client, version, namespace, count))
        return Lists(count, first, {version: statistics.median(found) for version, found in taken.items()})
    finally:
        await client.close()


async def _make(client: Client, namespace: str, count: int) -> None:
    waiting = iter(range(count))

    async def work() -> None:
        for index in waiting:
            tree = msgspec.json.decode(widget(index))
            spec = {key: value for key, value in tree["spec"].items() if key not in ("colour", "wait")}
            made = {
                "apiVersion": f"{GROUP}/{STORED}",
                "kind": "Widget",
                "metadata": {"name": tree["metadata"]["name"]},
                "spec": {**spec, "paint": {"colour": "red"}, "waitFor": "90s"},
            }
            await client.call(request.create(resource(STORED), namespace, msgspec.json.encode(made)))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(work())


async def _attach(client: Client, operator: Operator) -> None:
    """Returns when the API server has objects converted; it learns of a change of a definition a little later."""
    where = {
        "url": f"https://{HOST}:{operator.https}/convert",
        "caBundle": b64encode(operator.authority.encode()).decode(),
    }
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": where}
    body = msgspec.json.encode({"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}})
    await client.call(request.patch(Ref(DEFINITIONS, "", CRD), MERGE_PATCH, body))
    while not await _is_attached(client):  # noqa: ASYNC110  (no event tells it)
        await asyncio.sleep(0.1)


async def _is_attached(client: Client) -> bool:
    """A dry run fills no cache."""
    body = {"apiVersion": f"{GROUP}/{OTHER}", "kind": "Widget", "metadata": {"name": "probe"}, "spec": {"wait": "1s"}}
    path = path_of(resource(OTHER), "default")
    try:
        sent = Request("POST", path, query=(("dryRun", "All"),), body=msgspec.json.encode(body), content_type=JSON)
        answer = await client.call(sent)
    except KubeError:
        return False
    return bool(msgspec.json.decode(answer.body)["spec"].get("wait") == "1s")


async def _list(client: Client, version: str, namespace: str, count: int) -> float:
    begun = time.monotonic()
    answer = await client.call(Request("GET", path_of(resource(version), namespace)))
    seconds = time.monotonic() - begun
    items = msgspec.json.decode(answer.body)["items"]
    field = {STORED: "waitFor", OTHER: "wait"}[version]
    wrong = [each for each in items if each["spec"].get(field) != "90s"]
    if len(items) != count or wrong:
        raise RuntimeError(f"{len(items)} of {count} objects in {version}, {len(wrong)} of them not converted")
    return seconds


def definitions() -> dict[str, Tree]:
    """Those of other projects, as their Go modules have them, by name."""
    found: dict[str, Tree] = {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for module, pattern in MODULES.items():
        for path in sorted(module_folder(module).glob(pattern)):
            for tree in yaml.load_all(path.read_text(), loader):
                if isinstance(tree, dict) and tree.get("kind") == DEFINITIONS.kind:
                    found[tree["metadata"]["name"]] = _plain(tree)
    return found


def _plain(tree: Tree) -> Tree:
    """Without a conversion by somebody who does not run here."""
    spec = {key: value for key, value in tree["spec"].items() if key != "conversion"}
    return {key: value for key, value in tree.items() if key != "status"} | {"spec": spec}


def rules_of(definition: Tree) -> Tree:
    """A set without operations, by which everything is carried."""
    versions = definition["spec"]["versions"]
    hub = next(each["name"] for each in versions if each["storage"])
    spokes = [{"version": each["name"], "toHub": []} for each in versions if each["name"] != hub]
    return {"kind": "ConversionRules", "crd": definition["metadata"]["name"], "hub": hub, "spokes": spokes}


def several(found: Iterable[Tree]) -> list[Tree]:
    return [each for each in found if len(each["spec"]["versions"]) > 1]


async def elasticsearch_loaded(found: Mapping[str, Tree]) -> tuple[float, int]:
    """Seconds until its set has been tried and made ready, as an operator does it, and its bytes."""
    definition = found[ELASTICSEARCH]
    data = msgspec.json.encode(SetData(rules_of(definition), essence(definition)))
    tests = RuleTests(configure("error", "logfmt"))
    try:
        begun = time.monotonic()
        verdict = await tests.verdict(data)
        seconds = time.monotonic() - begun
    finally:
        await tests.close()
    if verdict.rule is None:
        raise RuntimeError(f"the rules of {ELASTICSEARCH} are not good: {verdict.problems}")
    return seconds, len(data)


async def register(ground: Ground, found: Iterable[Tree]) -> None:
    for tree in found:
        await ground.create(DEFINITIONS, tree)


def write_rules(folder: Path, found: Iterable[Tree]) -> None:
    (folder / "others.yaml").write_text(yaml.safe_dump_all([rules_of(each) for each in several(found)]))


def list_checks(lists: Lists) -> list[Check]:
    first = lists.first[OTHER]
    return [
        Check("LIST in v1 against v2", f"{lists.times:.2f} times", f"≤ {LATER_TIMES:g}", lists.times <= LATER_TIMES),
        Check("first LIST in v1", f"{first:.1f} s", f"≤ {FIRST_SECONDS:g} s", first <= FIRST_SECONDS),
    ]


def loaded_checks(loaded: Loaded) -> list[Check]:
    seconds, memory = loaded.elasticsearch, loaded.megabytes
    return [
        Check("rules of Elasticsearch", f"{seconds:.1f} s", f"≤ {RULES_SECONDS:g} s", seconds <= RULES_SECONDS),
        Check(
            f"memory with {loaded.kinds} kinds of others",
            f"{memory:.0f} MB",
            f"≤ {MEMORY_MEGABYTES:g} MB",
            memory <= MEMORY_MEGABYTES,
        ),
    ]
