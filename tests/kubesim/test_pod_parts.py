"""Ephemeral containers and sizes of pods, which have paths of their own."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.request import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Response
from tests.kubesim.desk import Desk, decoded, played

Tree = dict[str, Any]
AT = "/api/v1/namespaces/default/pods"
SIZES = {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "1Gi"}}
DEBUGGER = {"name": "debugger", "image": "tools:1"}


def a_pod() -> Tree:
    container = {"name": "main", "image": "main:1", "resources": SIZES}
    return {"metadata": {"name": "web", "labels": {"a": "b"}}, "spec": {"containers": [container]}}


def patched(part: str, patch: Tree, kind: str = STRATEGIC_MERGE_PATCH, *, twice: Tree | None = None) -> Response:
    async def script(desk: Desk) -> Response:
        made = await desk.send("POST", AT, a_pod())
        assert made.status == 201, made.body
        answer = await desk.send("PATCH", f"{AT}/web/{part}", patch, kind)
        return answer if twice is None else await desk.send("PATCH", f"{AT}/web/{part}", twice, MERGE_PATCH)

    answer: Response = played(script)
    return answer


def test_an_ephemeral_container_is_added_and_nothing_else() -> None:
    patch = {"metadata": {"labels": {"x": "y"}}, "spec": {"ephemeralContainers": [DEBUGGER], "nodeName": "elsewhere"}}

    made = decoded(patched("ephemeralcontainers", patch))

    assert made["metadata"]["labels"] == {"a": "b"}
    assert "nodeName" not in made["spec"]
    assert [each["name"] for each in made["spec"]["ephemeralContainers"]] == ["debugger"]
    assert made["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("containers", "why"),
    [
        ([], 'existing ephemeral containers "debugger" may not be removed\n'),
        ([DEBUGGER | {"image": "tools:2"}], 'existing ephemeral containers "debugger" may not be changed\n'),
    ],
)
def test_ephemeral_containers_stay_as_they_are(containers: list[Tree], why: str) -> None:
    first = {"spec": {"ephemeralContainers": [DEBUGGER]}}

    answer = patched("ephemeralcontainers", first, twice={"spec": {"ephemeralContainers": containers}})

    assert answer.status == 422
    assert decoded(answer)["message"].endswith(f"spec.ephemeralContainers: Forbidden: {why}")


def sized(**resources: Tree) -> Tree:
    return {"spec": {"containers": [{"name": "main", "image": "main:1", "resources": SIZES | resources}]}}


def test_a_resize_changes_what_containers_may_use() -> None:
    made = decoded(patched("resize", sized(limits={"cpu": "2", "memory": "2Gi"})))

    assert made["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "2", "memory": "2Gi"}
    assert made["metadata"]["generation"] == 2


def test_a_resize_leaves_everything_else() -> None:
    patch = {"spec": {"containers": [{"name": "main", "image": "main:2"}]}}

    assert decoded(patched("resize", patch))["spec"]["containers"][0]["image"] == "main:1"


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (
            sized(limits={"cpu": "1"}),
            "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
        ),
        (
            sized(limits={"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}),
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
        (
            sized(requests={"cpu": "1", "memory": "1Gi"}),
            'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
        ),
        (
            {"spec": {"containers": [{"name": "other", "image": "main:1", "resources": SIZES}]}},
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
        ),
        (
            {"spec": {"containers": [*sized()["spec"]["containers"], {"name": "more", "image": "more:1"}]}},
            "spec.containers: Forbidden: containers may not be added or removed on resize",
        ),
    ],
)
def test_what_a_resize_may_not_do(patch: Tree, why: str) -> None:
    answer = patched("resize", patch, MERGE_PATCH)

    assert answer.status == 422
    assert why in decoded(answer)["message"]


def test_a_pod_is_resized_only_where_the_node_can_do_it() -> None:
    status = {"name": "main", "image": "main:1", "imageID": "", "ready": True, "restartCount": 0}
    running = {"state": {"running": {"startedAt": "2030-01-01T00:00:00Z"}}}

    async def script(desk: Desk) -> Response:
        await desk.send("POST", AT, a_pod())
        told = {"status": {"containerStatuses": [status | running]}}
        assert (await desk.merge(told, path=f"{AT}/web/status")).status == 200
        return await desk.merge(sized(limits={"cpu": "2", "memory": "2Gi"}), path=f"{AT}/web/resize")

    answer: Response = played(script)

    assert "spec: Forbidden: Pod running on node without support for resize" in decoded(answer)["message"]
