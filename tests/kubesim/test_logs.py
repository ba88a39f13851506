"""What containers say, and that nobody can be connected with them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubeloop.request import Request, Response
from kubesim.cluster import Cluster
from kubesim.kinds.registry import PODS
from kubesim.time import run
from tests.kubesim.desk import Desk, decoded, played

Tree = dict[str, Any]
AT = "/api/v1/namespaces/default/pods"
BEGAN, READY, ENDED = "2030-01-01T00:00:10Z", "2030-01-01T00:00:20Z", "2030-01-01T00:00:30Z"
TWICE = "at most one of `sinceTime` or `sinceSeconds` may be specified"
RUNNING = {"running": {"startedAt": BEGAN}}
TERMINATED = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": BEGAN, "finishedAt": ENDED}}


def a_pod(*containers: str, node: str = "node-1") -> Tree:
    described = [{"name": name, "image": f"{name}:1"} for name in containers or ("main",)]
    return {"metadata": {"name": "web"}, "spec": {"nodeName": node, "containers": described}}


def a_status(state: Tree, *, last: Tree | None = None, ready: bool = False, name: str = "main") -> Tree:
    entry = {"name": name, "image": f"{name}:1", "state": state, "lastState": last or {}, "ready": ready}
    entry |= {"imageID": "", "restartCount": 0}
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": READY}
    return {"status": {"phase": "Running", "containerStatuses": [entry], "conditions": [condition]}}


def written(cluster: Cluster, status: Tree) -> None:
    """Plays the kubelet."""
    found = cluster.get(PODS, "default", "web")
    cluster.verbs.update(PODS, "default", "web", found | status, subresource="status", user="kubelet")


def asked(pod: Tree, status: Tree | None = None, **query: str) -> Response:
    async def script(desk: Desk) -> Response:
        made = await desk.send("POST", AT, pod)
        assert made.status == 201, made.body
        if status is not None:
            written(desk.cluster, status)
        return await desk.send("GET", f"{AT}/web/log", **query)

    answer: Response = played(script)
    return answer


def test_a_log_is_the_life_of_the_container() -> None:
    answer = asked(a_pod(), a_status(RUNNING, ready=True))

    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain")
    assert answer.body.decode().splitlines() == ["container main of image main:1 started", "ready"]


def test_lines_come_with_their_times_if_wanted() -> None:
    answer = asked(a_pod(), a_status(TERMINATED), timestamps="true")

    assert answer.body.decode().splitlines() == [
        f"{BEGAN} container main of image main:1 started",
        f"{ENDED} exited with code 1: Error",
    ]


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ({"tailLines": "1"}, ["ready"]),
        ({"tailLines": "0"}, []),
        ({"tailLines": "9"}, ["container main of image main:1 started", "ready"]),
        ({"limitBytes": "9"}, ["container"]),
        ({"sinceTime": READY}, ["ready"]),
    ],
)
def test_a_part_of_a_log(query: dict[str, str], lines: list[str]) -> None:
    assert asked(a_pod(), a_status(RUNNING, ready=True), **query).body.decode().splitlines() == lines


def test_a_pod_with_one_container_needs_no_name_for_it() -> None:
    pod = a_pod()
    pod["spec"]["initContainers"] = [{"name": "first", "image": "first:1"}]

    assert asked(pod, a_status(RUNNING)).body.decode().splitlines() == ["container main of image main:1 started"]


def test_the_life_before() -> None:
    answer = asked(a_pod(), a_status(RUNNING, last=TERMINATED), previous="true")

    assert answer.body.decode().splitlines()[-1] == "exited with code 1: Error"


def test_a_container_that_waits_after_a_crash_shows_the_crash() -> None:
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}

    assert asked(a_pod(), a_status(waiting, last=TERMINATED)).body.endswith(b"exited with code 1: Error\n")


def test_a_pod_on_no_node_has_nothing_to_say() -> None:
    answer = asked(a_pod(node=""))

    assert (answer.status, answer.body) == (204, b"")


@pytest.mark.parametrize(
    ("status", "query", "code", "message"),
    [
        (None, {}, 400, 'container "main" in pod "web" is waiting to start: ContainerCreating'),
        (
            a_status({"waiting": {"reason": "ImagePullBackOff"}}),
            {},
            400,
            'container "main" in pod "web" is waiting to start: ImagePullBackOff',
        ),
        (a_status(RUNNING), {"previous": "1"}, 400, 'previous terminated container "main" in pod "web" not found'),
        (None, {"container": "x"}, 400, "container x is not valid for pod web"),
        (None, {"tailLines": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        (
            None,
            {"tailLines": "-1"},
            422,
            'PodLogOptions "web" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
        ),
        (
            None,
            {"limitBytes": "0"},
            422,
            'PodLogOptions "web" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
        ),
        (
            None,
            {"sinceSeconds": "0"},
            422,
            'PodLogOptions "web" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0',
        ),
        (
            None,
            {"sinceSeconds": "1", "sinceTime": BEGAN},
            422,
            f'PodLogOptions "web" is invalid: []: Forbidden: {TWICE}',
        ),
        (None, {"stream": "Stdout"}, 422, 'PodLogOptions "web" is invalid: stream: Forbidden: may not be specified'),
    ],
)
def test_what_is_refused(status: Tree | None, query: dict[str, str], code: int, message: str) -> None:
    answer = asked(a_pod(), status, **query)

    assert (answer.status, decoded(answer)["message"]) == (code, message)


def test_one_of_several_containers_must_be_named() -> None:
    answer = asked(a_pod("a", "b"))

    message = "a container name must be specified for pod web, choose one of: [a b]"
    assert (answer.status, decoded(answer)["message"]) == (400, message)


def test_a_log_is_followed_until_the_container_ends() -> None:
    async def scenario() -> list[tuple[float, str]]:
        cluster = Cluster()
        cluster.verbs.create(PODS, "default", a_pod(), user="me")
        written(cluster, a_status(RUNNING))
        loop = asyncio.get_running_loop()
        begin = loop.time()
        loop.call_at(begin + 10, written, cluster, a_status(RUNNING, ready=True))
        loop.call_at(begin + 20, written, cluster, a_status(TERMINATED))
        async with cluster.transport().stream(Request("GET", f"{AT}/web/log", (("follow", "true"),))) as stream:
            assert stream.headers["content-type"] == "text/plain; charset=utf-8"
            return [(loop.time() - begin, piece.decode().strip()) async for piece in stream]

    assert run(scenario()) == [
        (0.0, "container main of image main:1 started"),
        (10.0, "ready"),
        (20.0, "exited with code 1: Error"),
    ]


def test_a_followed_log_ends_with_its_pod() -> None:
    async def scenario() -> list[str]:
        cluster = Cluster()
        cluster.verbs.create(PODS, "default", a_pod(), user="me")
        written(cluster, a_status(RUNNING))

        def end() -> None:
            cluster.verbs.delete(PODS, "default", "web", grace=0, user="me")

        asyncio.get_running_loop().call_later(5, end)
        async with cluster.transport().stream(Request("GET", f"{AT}/web/log", (("follow", "1"),))) as stream:
            return [piece.decode().strip() async for piece in stream]

    assert run(scenario())[0] == "container main of image main:1 started"


@pytest.mark.parametrize("part", ["attach", "exec", "portforward"])
def test_nobody_is_connected_with_a_container(part: str) -> None:
    async def script(desk: Desk) -> list[tuple[int, str]]:
        answers = []
        for name, node in (("here", "node-1"), ("nowhere", "")):
            pod = a_pod(node=node) | {"metadata": {"name": name}}
            await desk.send("POST", AT, pod)
            answers.append(await desk.send("POST", f"{AT}/{name}/{part}", command="ls"))
        return [(answer.status, decoded(answer)["message"]) for answer in answers]

    assert played(script) == [
        (501, f"no program runs in pod here of the embedded cluster, so that {part} has nothing to connect to"),
        (400, "pod nowhere does not have a host assigned"),
    ]
