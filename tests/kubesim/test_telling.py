"""Events about the lives of pods, where they are wanted, and always about annotations that cannot be read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubeloop.client import Client
from kubesim.cluster import Cluster
from kubesim.kinds.registry import CORE_EVENTS, PODS
from kubesim.kubelet import Kubelet
from kubesim.pods.behaviour import complaints
from kubesim.time import run
from tests.kubesim.trees import a_pod


def told(
    annotations: dict[str, str], *, events: bool, then: Callable[[Cluster], Awaitable[None]] | None = None
) -> list[str]:
    """What is told of a pod in half a minute, in order; `then` is done after that, and half a minute passes again.

    It is the same whether the kubelet sends requests or writes to the store.
    """

    async def main(near: bool) -> list[str]:
        cluster = Cluster()
        client = cluster.inside("kubelet") if near else Client(cluster.transport())
        kubelet = Kubelet(client, events=events, nodes=1)
        running = asyncio.create_task(kubelet.run())
        tree = a_pod()
        tree["metadata"]["annotations"] = annotations
        cluster.verbs.create(PODS, "default", tree, user="me")
        await asyncio.sleep(30)
        if then is not None:
            await then(cluster)
            await asyncio.sleep(30)
        running.cancel()
        await asyncio.wait([running])
        found = sorted(cluster.verbs.list(CORE_EVENTS), key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [_line(each) for each in found]

    lines = run(main(near=False))
    assert sorted(run(main(near=True))) == sorted(lines)  # scheduler and kubelet write theirs each by itself
    return lines


def _line(event: dict[str, Any]) -> str:
    about = event["involvedObject"]
    assert (about["kind"], about["name"]) == ("Pod", "web-0")
    return f"{event['type']} {event['reason']}: {event['message'].replace(about['uid'], 'UID')}"


LIFE = [
    "Normal Scheduled: Successfully assigned default/web-0 to sim-node-0",
    'Normal Pulled: Container image "app:1" already present on machine and can be accessed by the pod',
    "Normal Created: Container created",
    "Normal Started: Container started",
]


def test_a_life_is_told_only_where_it_is_wanted() -> None:
    async def delete(cluster: Cluster) -> None:
        cluster.verbs.delete(PODS, "default", "web-0", user="me")

    assert sorted(told({}, events=True, then=delete)) == sorted([*LIFE, "Normal Killing: Stopping container main"])
    assert told({}, events=False, then=delete) == []


def test_crashes_and_missing_images_are_told() -> None:
    crash = told({"fairlead.dev/sim-crash-after": "2s", "fairlead.dev/sim-crash-times": "1"}, events=True)
    image = told({"fairlead.dev/sim-image-pull": "fail"}, events=True)

    assert set(crash) == {
        *LIFE,
        "Warning BackOff: Back-off restarting failed container main in pod web-0_default(UID)",
    }
    assert set(image) == {
        LIFE[0],
        'Normal Pulling: Pulling image "app:1"',
        'Normal BackOff: Back-off pulling image "app:1"',
        "Warning Failed: Error: ErrImagePull",
        "Warning Failed: Error: ImagePullBackOff",
    }


def test_annotations_that_cannot_be_read_are_told_and_the_pod_runs() -> None:
    async def is_ready(cluster: Cluster) -> None:
        conditions = cluster.verbs.read(PODS, "default", "web-0")["status"]["conditions"]
        assert {each["type"]: each["status"] for each in conditions}["Ready"] == "True"

    bad = {"fairlead.dev/sim-ready-after": "soon", "fairlead.dev/sim-http": "x", "other": "soon"}

    lines = told(bad, events=False, then=is_ready)

    assert [line.split(":")[0] for line in lines] == ["Warning BadAnnotation"] * 2
    assert lines[0] == (
        'Warning BadAnnotation: fairlead.dev/sim-ready-after is ignored: "soon" cannot be read. '
        "Write a duration like 500ms or 1m30s"
    )
    assert "fairlead.dev/sim-http is ignored" in lines[1]


@pytest.mark.parametrize(
    ("key", "value", "form"),
    [
        ("flap", "2", "a duration like 500ms or 1m30s"),
        ("hold", "yes", "true or false"),
        ("crash-times", "-1", "a whole number"),
        ("image-pull", "never", "fail"),
    ],
)
def test_complaints_say_how_to_write_it(key: str, value: str, form: str) -> None:
    name = f"fairlead.dev/sim-{key}"

    assert complaints({name: value}) == [f'{name} is ignored: "{value}" cannot be read. Write {form}']


def test_unknown_annotations_are_told_with_those_there_are() -> None:
    assert complaints({"fairlead.dev/sim-redy-after": "1s", "fairlead.dev/sim-hold": "false"}) == [
        (
            "fairlead.dev/sim-redy-after is ignored: after fairlead.dev/sim- there may be crash-after, crash-times, "
            "error-share, flap, gone-after, hang-terminating, hold, http, image-pull, latency, pending, ready-after"
        )
    ]
