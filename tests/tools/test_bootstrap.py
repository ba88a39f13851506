"""The file of what a cluster is born with: what is kept of an object, and that it is what the real server has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.plane.build import Unavailable
from tests.planes import Planes
from tools import bootstrap, schemas

Tree = dict[str, Any]


def test_what_differs_from_cluster_to_cluster_is_left_out() -> None:
    own = {"uid": "1", "resourceVersion": "2", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": []}
    item = {"metadata": {"name": "view", **own, "labels": {"a": "b"}}, "rules": []}

    assert bootstrap.reduced(item, "rbac.authorization.k8s.io/v1", "ClusterRole") == {
        "kind": "ClusterRole",
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {"name": "view", "labels": {"a": "b"}},
        "rules": [],
    }


def test_roles_that_never_come_to_rest_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "PATIENCE", 0.05)
    monkeypatch.setattr(bootstrap, "LOOK_EVERY", 0.01)
    unfilled = {"metadata": {"name": "view"}, "aggregationRule": {}, "rules": None}

    def read(path: str) -> Tree:
        kind = path.rpartition("/")[2]
        return {"kind": f"{kind}List", "items": [unfilled] if kind == "clusterroles" else []}

    with pytest.raises(Unavailable, match="still changed after 0 seconds"):
        bootstrap.settled(read)


@pytest.mark.real
def test_the_file_is_what_the_real_server_has(planes: Planes) -> None:
    objects = bootstrap.settled(schemas.reader(planes.get(controllers=True)))

    text = bootstrap.TARGET.read_text(encoding="utf-8")
    known, found = json.loads(text), {json.dumps(each) for each in objects}
    # Others may have made more of them meanwhile.
    assert [each["metadata"]["name"] for each in known if json.dumps(each) not in found] == []
    assert bootstrap.printed(known) == text
