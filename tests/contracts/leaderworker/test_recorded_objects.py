"""What releases before this one left in a cluster is taken over as it is: no pod and no template changes.

The objects are of the real programs (`tools.lws_objects`): sets at rest, at a partition and in the middle of a rollout.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from fairlead import __version__
from fairlead.contracts.leaderworker.contract import CONTRACT
from fairlead.contracts.leaderworker.decide.status import AVAILABLE, PROGRESSING, UPDATE_IN_PROGRESS
from fairlead.contracts.leaderworker.install import access
from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.install.values import OPERATOR, WEBHOOK_SERVICE, Values
from fairlead.contracts.leaderworker.kinds import EXCLUSIVE_TOPOLOGY, LEADER_WORKER_SETS, NAME, REVISION_KEY
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from fairlead.engine.process import assemble
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS, NAMESPACES, PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from kubesim.copies import Copy
from kubesim.loading import read
from kubesim.pods.histories import Histories
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from kubesim.virtual import VirtualCluster
from tests.e2e.installing import resource_of
from tests.e2e.leaderworkers import webhooks
from tests.engine.world import Log

T = TypeVar("T")
FOLDER = Path(__file__).parent / "recorded"
RELEASES = sorted(path.stem for path in FOLDER.glob("*.json"))
CURRENT = f"fairlead-{__version__}"
SHOP, HOME = "shop", "lws-system"
USER = f"system:serviceaccount:{HOME}:{OPERATOR}"
LONG = 30 * 60.0
LEADER = "subgroups-0"
ROLLING = ("rolling", "surging")
"""Sets in the middle of a rollout."""
BOOKKEEPING = {"metadata.managedFields", "metadata.resourceVersion", "metadata.generation"}
ALLOWED = {
    LEADER_WORKER_SETS: {
        "status.observedGeneration",
        *(f"status.conditions.{each}.observedGeneration" for each in (AVAILABLE, PROGRESSING, UPDATE_IN_PROGRESS)),
    },
    STATEFULSETS: {f"metadata.annotations.{EXCLUSIVE_TOPOLOGY}"},
}
"""What earlier releases did not write."""
OPTIONS = OperatorOptions(
    process="lws-manager",
    namespaces=(SHOP,),
    lease=None,
    identity=USER,
    parts=(PartOptions(CONTRACT, Settings()),),
)


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def copy(release: str, tmp_path: Path) -> Copy:
    """The recorded objects, with our CustomResourceDefinitions as a cluster lists them."""
    path = tmp_path / "definitions.json"
    path.write_text(json.dumps([_listed(tree, number) for number, tree in enumerate(definitions())]))
    return read([FOLDER / f"{release}.json", path])


def going_on(copy: Copy) -> Copy:
    """The same with pods that become ready, where the recorded ones were kept from it."""
    return replace(copy, marks=replace(copy.marks, pods=Histories()))


def operated(copy: Copy, scenario: Callable[[VirtualCluster], Coroutine[Any, Any, T]]) -> T:
    """The scenario's result, with our operator and its webhooks beside it."""

    async def play(world: VirtualCluster) -> T:
        cluster = world.cluster
        cluster.network.serve(f"{WEBHOOK_SERVICE}.{HOME}.svc", webhooks(world.client))
        values = Values(namespace=HOME)
        await world.create(NAMESPACES, "", {"metadata": {"name": HOME}})
        for each in (*access.roles(values), *access.webhooks(values)):
            await world.create(resource_of(each), each["metadata"].get("namespace", ""), each)
        manager = await assemble(OPTIONS, SHOP, cluster.transport(USER), Metrics(), Log().logger(), None)
        async with world.beside(manager.run()):
            return await scenario(world)

    return VirtualCluster(copy=copy).play(play)


def _listed(definition: Tree, number: int) -> Tree:
    known = {"uid": f"00000000-0000-4000-8000-0000000000d{number}", "resourceVersion": "1"}
    told = {"status": "True", "reason": "Accepted", "message": "", "lastTransitionTime": "2026-06-01T11:00:00Z"}
    conditions = [{"type": each, **told} for each in ("NamesAccepted", "Established")]
    status = {"acceptedNames": definition["spec"]["names"], "storedVersions": ["v1"], "conditions": conditions}
    return definition | {"metadata": definition["metadata"] | known, "status": status}


async def rest(world: VirtualCluster) -> list[Entry]:
    """What the operator writes in half an hour, Events apart."""
    await asyncio.sleep(LONG)
    return [each for each in world.cluster.history if each.user == USER and each.resource.plural != EVENTS.plural]


def test_nothing_that_rolls_is_written(copy: Copy, release: str) -> None:
    """Scenario 10: no pod, template, number or revision changes; a status may say more than it did."""
    entries = operated(copy, rest)

    assert release != CURRENT or entries == []
    for each in entries:
        assert each.type == "MODIFIED", f"{each.verb} {each.resource.plural} {each.name}"
        assert changed(each) <= ALLOWED.get(each.resource, set()), each.name


def changed(entry: Entry) -> set[str]:
    """Where the object is another than before, but for what every write changes."""
    return set(_differing(entry.old or {}, entry.new, "")) - BOOKKEEPING


def _differing(old: Any, new: Any, path: str) -> Iterator[str]:
    if path == "status.conditions":
        old, new = ({each["type"]: each for each in conditions or ()} for conditions in (old, new))
    if isinstance(old, dict) and isinstance(new, dict) and path not in BOOKKEEPING:
        for key in old.keys() | new.keys():
            yield from _differing(old.get(key), new.get(key), f"{path}.{key}" if path else key)
    elif old != new:
        yield path


async def finished(world: VirtualCluster) -> list[Entry]:
    """All that happened to pods until no set is in the middle of a rollout."""

    async def done() -> bool:
        sets = [await world.get(LEADER_WORKER_SETS, SHOP, name) or {} for name in ROLLING]
        return all(
            is_available(each) and each["status"]["updatedReplicas"] == each["spec"]["replicas"] for each in sets
        )

    await world.until(done)
    await asyncio.sleep(LONG)
    return world.cluster.history.of(PODS)


def is_available(tree: Tree) -> bool:
    return any((each["type"], each["status"]) == (AVAILABLE, "True") for each in tree["status"]["conditions"])


def test_rollouts_go_on_where_they_were(copy: Copy) -> None:
    """Each old pod of a set that rolls goes once; no pod of another set does, and none of the new revision."""
    pods: list[Tree] = [version.tree() for version in copy.tables[PODS].values()]
    leaders = {key[1]: version.tree() for key, version in copy.tables[STATEFULSETS].items()}
    old = {
        pod["metadata"]["uid"]
        for pod in pods
        if (name := pod["metadata"]["labels"][NAME]) in ROLLING
        and pod["metadata"]["labels"][REVISION_KEY] != leaders[name]["metadata"]["labels"][REVISION_KEY]
    }
    surged = {pod["metadata"]["uid"] for pod in pods if pod["metadata"]["name"].startswith("surging-2")}

    entries = operated(going_on(copy), finished)

    kept = {pod["metadata"]["uid"] for pod in pods} - old - surged
    gone = [each.new["metadata"]["uid"] for each in entries if each.type == "DELETED"]
    assert len(old) == 2 + 4
    assert old <= set(gone)
    assert kept.isdisjoint(gone)
    assert len(gone) == len(set(gone))


async def rebuilt(world: VirtualCluster) -> dict[str, Tree]:
    """The pods of a group after its leader was deleted."""
    before = await _group(world)
    await world.client.call(delete(Ref(PODS, SHOP, LEADER), propagation="Foreground"))

    async def done() -> bool:
        now = await _group(world)
        is_new = all(now[name]["metadata"]["uid"] != before[name]["metadata"]["uid"] for name in before if name in now)
        return now.keys() == before.keys() and is_new

    await world.until(done)
    return await _group(world)


async def _group(world: VirtualCluster) -> dict[str, Tree]:
    found = {each["metadata"]["name"]: each for each in await world.list(PODS, SHOP)}
    return {name: each for name, each in found.items() if name.startswith(LEADER)}


def test_a_group_with_subgroups_is_rebuilt_as_it_was(copy: Copy) -> None:
    """Also where the template still has the annotation under its first name (section 3.7)."""
    before = {key[1]: version.tree() for key, version in copy.tables[PODS].items() if key[1].startswith(LEADER)}

    after = operated(copy, rebuilt)

    assert len(before) == 3
    for name, pod in before.items():
        assert own_labels(after[name]) == own_labels(pod)
        assert variables(after[name]).items() >= variables(pod).items()


def own_labels(pod: Tree) -> dict[str, str]:
    return {key: value for key, value in pod["metadata"]["labels"].items() if key.startswith(NAME.partition("/")[0])}


def variables(pod: Tree) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pod["spec"]["containers"][0]["env"]}
