"""The recorder of copies: what it leaves out, and that what it records of a real cluster rests."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from fairlead.plane.launch import Plane
from kubesim.loading import read
from kubesim.virtual import VirtualCluster
from tests.planes import Planes
from tools import copies
from tools.copied_states import STATES

FIRST, SECOND = "6f1c9a4e-0f0c-4d5c-9c3b-2f6f2b1d7a10", "0b5e8c1d-7f3a-4a8e-8a58-5b0f6a7d9e21"


def an_item(name: str, uid: str, version: str, time: str, **rest: object) -> dict[str, object]:
    metadata = {"name": name, "uid": uid, "resourceVersion": version, "creationTimestamp": time}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, **rest}


def test_uids_versions_times_and_certificates_are_told_alike_each_time() -> None:
    certificate = "-----BEGIN CERTIFICATE-----\nMIIB\nxyz=\n-----END CERTIFICATE-----\n"
    items: list[dict[str, object]] = [
        an_item("a", FIRST, "812", "2026-01-02T03:04:05Z", data={"ca.crt": certificate, "of": SECOND}),
        an_item("b", SECOND, "377", "2026-01-02T03:04:15Z", until="2199-01-01T00:00:00.5Z"),
        {"kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": "etcd-0"}},
    ]

    first, second, third = json.loads(copies.printed(items))["items"]

    assert first["metadata"]["resourceVersion"] == "2"
    assert first["metadata"]["creationTimestamp"] == "2026-06-01T11:59:50Z"
    assert first["data"] == {"ca.crt": copies.CERTIFICATE, "of": second["metadata"]["uid"]}
    assert second["metadata"]["resourceVersion"] == "1"
    assert second["metadata"]["creationTimestamp"] == "2026-06-01T12:00:00Z"
    assert second["until"].endswith("T08:55:45.5Z")
    assert first["metadata"]["uid"] == "00000001-0000-4000-8000-000000000000"
    assert third["metadata"] == {"name": "etcd-0"}


@pytest.mark.parametrize("name", STATES)
def test_the_files_are_as_the_recorder_writes_them(name: str) -> None:
    text = (copies.FOLDER / f"{name}.json").read_text()

    assert copies.printed(json.loads(text)["items"]) == text


@pytest.mark.real
@pytest.mark.parametrize("name", STATES)
def test_what_is_recorded_now_rests(name: str, tmp_path: Path, planes: Planes) -> None:
    """On a control plane of its own: states are about whole clusters."""
    planes.need()
    with Plane() as plane:
        items = asyncio.run(copies.recorded(plane, name))
    path = tmp_path / "copy.json"
    path.write_text(copies.printed(items))
    world = VirtualCluster(copy=read([path]))

    async def rest(_world: VirtualCluster) -> list[str]:
        await asyncio.sleep(90 * 60)
        return [f"{each.user} {each.verb} {each.resource.plural} {each.name}" for each in world.cluster.history]

    assert world.play(rest) == []
