"""Records what releases of LeaderWorkerSet leave in a cluster, for our operator to take over in every run of the tests.

    python -m tools.lws_objects              upstream's releases and ours
    python -m tools.lws_objects 0.7.0 ours   these

builds each release of upstream's once from the Go module proxy (a few minutes each), starts it on a real control plane
with nodes of the stand-in kubelet, brings about the sets of `SETS`, and writes
`tests/contracts/leaderworker/recorded/NAME.json`: one List with a line for each object of their namespace. Ours is
named by its version; a new release adds a file, and those of earlier ones stay as they are.
UIDs, versions and times are told as `tools.copies` tells them; field managers are kept where they count: of leaders.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import ItemsView, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairlead import __version__
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS, NAME, REVISION_KEY
from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import NAMESPACES, PODS, SERVICE_ACCOUNTS
from kubesim.kubelet.nodes import NODES
from tools.copied_states import CLAIMS, SERVICES, SHOP, NotReached, Stage
from tools.copies import printed
from tools.keeping import keep
from tools.lws_managers import Manager, managed, ours, run
from tools.lws_releases import upstream

Tree = dict[str, Any]

FOLDER = Path(__file__).parent.parent / "tests" / "contracts" / "leaderworker" / "recorded"
UPSTREAM = ("0.5.1", "0.6.2", "0.7.0", "0.8.0", "0.9.0")
OURS = "ours"
KINDS = (LEADER_WORKER_SETS, STATEFULSETS, CONTROLLER_REVISIONS, PODS, SERVICES, CLAIMS, SERVICE_ACCOUNTS)
NEVER = 3600.0
"""Seconds until pods are ready, for those of a rollout that is caught in its middle."""


def container(image: str = "1") -> Tree:
    """With values that releases wrote down in different words."""
    return {
        "name": "main",
        "image": f"registry.example/model:{image}",
        "args": ["--lead", "$(LWS_LEADER_ADDRESS)"],
        "ports": [{"containerPort": 8080}],
        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }


def template(image: str = "1") -> Tree:
    return {
        "metadata": {"labels": {"app": "model"}},
        "spec": {"containers": [container(image)], "volumes": [{"name": "scratch", "emptyDir": {}}]},
    }


def spec(replicas: int, size: int, image: str = "1", *, strategy: Tree | None = None, **template_fields: Any) -> Tree:
    made: Tree = {
        "replicas": replicas,
        "leaderWorkerTemplate": {"size": size, "workerTemplate": template(image), **template_fields},
    }
    return made | ({"rolloutStrategy": {"rollingUpdateConfiguration": strategy}} if strategy else {})


class Wanted(Struct, frozen=True, kw_only=True):
    """One set: as it is made, and the change that is caught in its middle."""

    spec: Tree
    annotations: dict[str, str] = {}
    change: Tree | None = None
    """Of the spec, after all sets rest."""
    is_held: bool = False
    """Whether the change comes to rest, at a partition."""
    since: str = ""
    """The first release that can have it."""


CLAIM: Tree = {
    "metadata": {"name": "scratch"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
MOUNTED: Tree = {"spec": {"containers": [container()]}}
NEW_IMAGE: Tree = {"leaderWorkerTemplate": {"workerTemplate": template("2")}}
SETS: Mapping[str, Wanted] = {
    "plain": Wanted(spec=spec(2, 2, leaderTemplate=template())),
    "single": Wanted(spec=spec(1, 1)),
    "subgroups": Wanted(spec=spec(1, 3, subGroupPolicy={"subGroupSize": 2})),
    "unique": Wanted(spec=spec(1, 2) | {"networkConfig": {"subdomainPolicy": "UniquePerReplica"}}),
    "exclusive": Wanted(
        spec=spec(1, 2),
        annotations={"leaderworkerset.sigs.k8s.io/exclusive-topology": "topology.kubernetes.io/zone"},
    ),
    "claims": Wanted(spec=spec(1, 2, workerTemplate=MOUNTED, volumeClaimTemplates=[CLAIM]), since="0.8.0"),
    "held": Wanted(
        spec=spec(2, 2, strategy={"maxUnavailable": 1, "maxSurge": 0, "partition": 1}),
        change=NEW_IMAGE,
        is_held=True,
        since="0.7.0",
    ),
    "rolling": Wanted(spec=spec(2, 2), change=NEW_IMAGE),
    "surging": Wanted(spec=spec(2, 2, strategy={"maxUnavailable": 0, "maxSurge": 1}), change=NEW_IMAGE),
}


def wanted(version: str) -> Mapping[str, Wanted]:
    """The sets that this release can have."""
    return {name: each for name, each in SETS.items() if _numbers(each.since) <= _numbers(version)}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split("."))) if version else ()


def name_of(release: str) -> str:
    return f"fairlead-{__version__}" if release == OURS else f"lws-{release}"


async def recorded(plane: Plane, manager: Manager, sets: Mapping[str, Wanted]) -> list[Tree]:
    """What the manager has made of the sets."""
    client = Client(HttpTransport(plane.config()))
    try:
        with tempfile.TemporaryDirectory(prefix="fairlead-lws-") as folder:
            async with Stage(client, lambda: HttpTransport(plane.config())) as stage:
                async with managed(plane, client, manager, Path(folder, "manager")):
                    await _play(stage, sets)
                return await _listed(stage, sets)
    finally:
        await client.close()


async def _play(stage: Stage, sets: Mapping[str, Wanted]) -> None:
    kubelet = stage.start_kubelet(0.3)
    for name, each in sets.items():
        await stage.until(f"{name} is taken", partial(_created, stage, name, each))
    for name in sets:
        await stage.until(f"{name} is available", partial(_is_available, stage, name))
    for name, each in sets.items():
        if each.is_held and each.change is not None:
            await stage.change(LEADER_WORKER_SETS, name, {"spec": each.change})
            await stage.until(f"{name} is held", partial(_is_held, stage, name))
    await stage.quiet()
    await stage.stop(kubelet)
    stage.start_kubelet(NEVER)
    for name, each in sets.items():
        if each.change is not None and not each.is_held:
            await stage.change(LEADER_WORKER_SETS, name, {"spec": each.change})
            await stage.until(f"{name} is in the middle", partial(_is_in_the_middle, stage, name))
    await stage.quiet()


async def _created(stage: Stage, name: str, each: Wanted) -> bool:
    """Webhooks may not be served yet."""
    try:
        await stage.create(LEADER_WORKER_SETS, name, metadata={"annotations": each.annotations}, spec=each.spec)
    except KubeError:
        return await stage.has(LEADER_WORKER_SETS, name)
    return True


async def _is_available(stage: Stage, name: str) -> bool:
    status = (await stage.read(LEADER_WORKER_SETS, name)).get("status", {})
    return any((each["type"], each["status"]) == ("Available", "True") for each in status.get("conditions", ()))


async def _is_held(stage: Stage, name: str) -> bool:
    """All that may move has moved and is ready."""
    tree = await stage.read(LEADER_WORKER_SETS, name)
    rest = tree["spec"]["replicas"] - tree["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["partition"]
    updated: int = tree["status"].get("updatedReplicas", 0)
    return updated == rest and await _is_available(stage, name)


async def _is_in_the_middle(stage: Stage, name: str) -> bool:
    """One group has the new template, and its pods run without being ready."""
    leaders = await stage.read(STATEFULSETS, name)
    key = leaders["metadata"]["labels"][REVISION_KEY]
    own = [each for each in await stage.list(PODS) if {NAME: name, REVISION_KEY: key}.items() <= _labels(each)]
    size = (await stage.read(LEADER_WORKER_SETS, name))["spec"]["leaderWorkerTemplate"]["size"]
    return len(own) == size and all(each["status"]["phase"] == "Running" for each in own)


def _labels(tree: Tree) -> ItemsView[str, str]:
    labels: dict[str, str] = tree["metadata"]["labels"]
    return labels.items()


async def _listed(stage: Stage, sets: Mapping[str, Wanted]) -> list[Tree]:
    found: list[Tree] = []
    for resource in (NODES, NAMESPACES, *KINDS):
        for each in await stage.list(resource):
            if resource is NAMESPACES and each["metadata"]["name"] != SHOP:
                continue
            if resource is not STATEFULSETS or each["metadata"]["name"] not in sets:
                each["metadata"].pop("managedFields", None)
            found.append({"apiVersion": resource.api_version, "kind": resource.kind, **each})
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Answers with 1 when a release could not be recorded."""
    parser = argparse.ArgumentParser(prog="python -m tools.lws_objects", description=__doc__.partition("\n")[0])
    names = (*UPSTREAM, OURS)
    parser.add_argument("releases", nargs="*", metavar="RELEASE", choices=[[], *names], help=", ".join(names))
    chosen = parser.parse_args(arguments).releases or list(names)
    code = 0
    for release in chosen:
        try:
            manager = ours() if release == OURS else upstream(release, _say)
            sets = SETS if release == OURS else wanted(release)
            with Plane() as plane:
                items = run(recorded(plane, manager, sets))
        except (Unavailable, KubeError, NotReached) as problem:
            sys.stderr.write(f"{release}: {problem}\n")
            code = 1
            continue
        FOLDER.mkdir(exist_ok=True)
        keep(FOLDER / f"{name_of(release)}.json", printed(items))
    return code


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
