"""Records states of a real cluster, for the embedded one to rest on.

    python -m tools.copies              all states
    python -m tools.copies stuck        one of them

starts the real control plane that the tests use, with nodes of the stand-in kubelet, brings about each state of
`tools.copied_states`, lists every kind that the server serves, and writes `tests/kubesim/copies/NAME.json`: one List
with a line for each object, as `kubectl get -o json` has it. UIDs are numbered, versions are counted without gaps,
times are moved so that each state is of the same moment, and certificates are left out; so two recordings differ in the
names that are drawn by chance, and in what a busy machine makes slower.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.http_transport import HttpTransport
from kubeloop.request import Request
from tools.copied_states import STATES, NotReached, Stage
from tools.keeping import keep

Tree = dict[str, Any]

FOLDER = Path(__file__).parent.parent / "tests" / "kubesim" / "copies"
MOMENT = datetime(2026, 6, 1, 12, tzinfo=UTC)
"""When each state was, as it is told."""
BORN_WITH = {
    "apiservices",
    "clusterrolebindings",
    "clusterroles",
    "flowschemas",
    "ipaddresses",
    "prioritylevelconfigurations",
    "rolebindings",
    "roles",
}
"""Kinds that are the same in every cluster, and half of its bytes; one state has them."""
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nb2YgdGhlIHJlYWwgb25l\n-----END CERTIFICATE-----\n"
_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z"')
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Answers with 1 when a state could not be recorded."""
    parser = argparse.ArgumentParser(prog="python -m tools.copies", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *STATES], help=", ".join(STATES))
    names = parser.parse_args(arguments).names or list(STATES)
    failed = 0
    for name in names:
        try:
            with Plane() as plane:
                items = asyncio.run(recorded(plane, name))
        except (Unavailable, KubeError, NotReached) as problem:
            sys.stderr.write(f"{name}: {problem}\n")
            failed = 1
            continue
        FOLDER.mkdir(exist_ok=True)
        keep(FOLDER / f"{name}.json", printed(items))
    return failed


async def recorded(plane: Plane, name: str) -> list[Tree]:
    """What the cluster holds once it is in that state."""
    state = STATES[name]
    client = Client(HttpTransport(plane.config()))
    try:
        async with Stage(client, lambda: HttpTransport(plane.config())) as stage:
            await state.play(stage)
            items = [each async for each in everything(client, whole=state.whole)]
    finally:
        await client.close()
    if not state.managers:
        for each in items:
            each["metadata"].pop("managedFields", None)
    return items


async def everything(client: Client, *, whole: bool) -> Any:
    """Every object of every kind that can be listed, in the version that the server prefers."""
    for path, resource in [each async for each in _resources(client)]:
        if resource["name"] in BORN_WITH and not whole:
            continue
        listed = await _read(client, f"{path}/{resource['name']}")
        for item in listed["items"]:
            yield {"apiVersion": listed["apiVersion"], "kind": resource["kind"], **item}


async def _resources(client: Client) -> Any:
    groups = (await _read(client, "/apis"))["groups"]
    for path in ("/api/v1", *(f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups)):
        for resource in (await _read(client, path))["resources"]:
            # Events are in two groups, and one list of them is enough.
            if "list" in resource["verbs"] and not (path.startswith("/apis/events") and resource["name"] == "events"):
                yield path, resource


async def _read(client: Client, path: str) -> Tree:
    return msgspec.json.decode((await client.call(Request("GET", path))).body, type=Tree)


def printed(items: Sequence[Tree]) -> str:
    """One List with a line for each object, without what differs for no reason."""
    lines = [json.dumps(each, separators=(",", ":")) for each in _counted(items)]
    text = (
        '{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":""},"items":[\n' + ",\n".join(lines) + "\n]}\n"
    )
    return _numbered(_moved(_CERTIFICATE.sub(lambda _: json.dumps(CERTIFICATE)[1:-1], text)))


def _counted(items: Sequence[Tree]) -> Iterator[Tree]:
    """With versions that have no gaps and keep their order."""
    versions = {int(each["metadata"]["resourceVersion"]) for each in items if "resourceVersion" in each["metadata"]}
    places = {str(version): str(place) for place, version in enumerate(sorted(versions), 1)}
    for each in items:
        metadata = each["metadata"]
        known = metadata.get("resourceVersion")  # what is worked out when it is asked for has none
        yield each if known is None else each | {"metadata": metadata | {"resourceVersion": places[known]}}


def _numbered(text: str) -> str:
    """With UIDs in the order in which they are named."""
    uids = dict.fromkeys(_UID.findall(text))
    names = {uid: f"{number:08x}-0000-4000-8000-000000000000" for number, uid in enumerate(uids, 1)}
    return _UID.sub(lambda found: names[found[0]], text)


def _moved(text: str) -> str:
    """With the latest second at MOMENT, and the time between any two as it was."""
    times = {found[1]: datetime.fromisoformat(f"{found[1]}+00:00") for found in _TIME.finditer(text)}
    past = [each for each in times.values() if each <= datetime.now(UTC)]
    moved = {key: f"{time + (MOMENT - max(past)):%Y-%m-%dT%H:%M:%S}" for key, time in times.items()}
    return _TIME.sub(lambda found: f'"{moved[found[1]]}{found[2] or ""}Z"', text)


if __name__ == "__main__":
    sys.exit(main())
