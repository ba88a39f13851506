"""Writes what a real cluster is born with, for the embedded one to be born with too.

    python -m tools.bootstrap

starts the real control plane that the tests use, waits until its controllers have filled the roles that collect the
rules of others, and writes the roles, bindings and priority classes that nobody made into
`kubesim/data/bootstrap.json`, without what differs from cluster to cluster. Each object is one line, so that the
difference between two releases can be read. Run it again when the release of the control plane changes.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane
from tools.keeping import keep, without_options
from tools.schemas import reader

Tree = dict[str, Any]

TARGET = Path(__file__).parent.parent / "kubesim" / "data" / "bootstrap.json"
COLLECTIONS = (
    ("scheduling.k8s.io/v1", "priorityclasses"),
    ("rbac.authorization.k8s.io/v1", "clusterroles"),
    ("rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    ("rbac.authorization.k8s.io/v1", "roles"),
    ("rbac.authorization.k8s.io/v1", "rolebindings"),
)
"""API version and plural, in the order in which the embedded cluster makes them."""
PATIENCE, LOOK_EVERY = 30.0, 1.0
"""Seconds; controllers need a fraction of the second, so that two equal looks mean that they are done."""
_OF_ONE_CLUSTER = ("uid", "resourceVersion", "creationTimestamp", "managedFields")


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the file; answers with 1 when there is no control plane to ask, or it does not come to rest."""
    without_options("bootstrap", __doc__, arguments)
    try:
        with Plane() as plane:
            objects = settled(reader(plane))
    except Unavailable as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    keep(TARGET, printed(objects))
    return 0


def settled(read: Callable[[str], Tree]) -> list[Tree]:
    """The objects once nothing changes them."""
    end = time.monotonic() + PATIENCE
    before: list[Tree] = []
    while time.monotonic() < end:
        found = collected(read)
        if found == before and all(each.get("rules") for each in found if "aggregationRule" in each):
            return found
        before = found
        time.sleep(LOOK_EVERY)
    raise Unavailable(f"the roles of the control plane still changed after {PATIENCE:.0f} seconds")


def collected(read: Callable[[str], Tree]) -> list[Tree]:
    """Every object there is, by collection, namespace and name."""
    return [
        reduced(item, version, listed["kind"].removesuffix("List"))
        for version, plural in COLLECTIONS
        for listed in (read(f"/apis/{version}/{plural}"),)
        for item in sorted(listed["items"], key=_place)
    ]


def _place(item: Tree) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def reduced(item: Tree, version: str, kind: str) -> Tree:
    """What is the same in every cluster."""
    metadata = {key: value for key, value in item["metadata"].items() if key not in _OF_ONE_CLUSTER}
    return {"kind": kind, "apiVersion": version} | item | {"metadata": metadata}


def printed(objects: list[Tree]) -> str:
    """As JSON with a line for each object."""
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in objects)
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    sys.exit(main())
