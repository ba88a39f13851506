"""Storage migration of many objects: `fairlead api migrate` against an ideal rewriter with as many in flight.

    python -m bench.stored [--count N] [--concurrency N]

The ideal rewriter lists pages and sends the write that stores an object anew, and does nothing else: no journal, no
Lease, no proof. Both start with every object stored in the other version, on the same real control plane.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.processes import Ended, peak_megabytes
from fairlead.engine.decide.storage_migration.objects import Stored, page_of
from fairlead.engine.driver.perform import request_for
from fairlead.plane.launch import Plane
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON_PATCH, Request

COUNT, CONCURRENCY, PAGE = 10_000, 8, 500
MOST_RATIO = 1.3
MOST_MEGABYTES = 160.0
GROUP, NAME, NAMESPACE = "bench.test", "widgets.bench.test", "default"
VERSIONS = ("v1", "v2")
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)


class Measured(Struct, frozen=True):
    seconds: float
    revisions: int
    """Writes of anything that the store has seen meanwhile."""
    megabytes: float = 0.0


def widgets(version: str) -> Resource:
    return Resource(GROUP, version, "widgets", "Widget")


def definition(storage: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": versions(storage, schema),
        },
    }


def versions(storage: str, schema: dict[str, Any]) -> list[dict[str, Any]]:
    served = {"served": True, "schema": {"openAPIV3Schema": schema}}
    return [{"name": each, "storage": each == storage, **served} for each in VERSIONS]


async def prepare(client: Client, count: int) -> None:
    await client.call(request.create(DEFINITIONS, "", msgspec.json.encode(definition("v1"))))
    await until_served(client)
    await apply_all(client, [f"w-{number:05}" for number in range(count)])


async def until_served(client: Client) -> None:
    while True:
        try:
            await client.list(widgets("v2"), dict[str, Any], page=1)
        except KubeError:
            await asyncio.sleep(0.1)
        else:
            return


async def apply_all(client: Client, names: Iterable[str]) -> None:
    body = {"spec": {"size": 3, "text": "x" * 1000}}
    await in_flight(
        64,
        (
            request.apply(
                Ref(widgets("v1"), NAMESPACE, name),
                msgspec.json.encode(
                    {
                        "apiVersion": f"{GROUP}/v1",
                        "kind": "Widget",
                        "metadata": {"name": name, "namespace": NAMESPACE},
                        **body,
                    }
                ),
                "bench",
            )
            for name in names
        ),
        client,
    )


async def in_flight(at_once: int, sent: Iterable[Request], client: Client) -> None:
    waiting = iter(sent)

    async def work() -> None:
        for each in waiting:
            await client.call(each)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(at_once):
            tasks.create_task(work())


async def store_in(client: Client, storage: str) -> None:
    """Makes it the storage version and waits until the API server has heard of it."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    patch = [{"op": "replace", "path": "/spec/versions", "value": versions(storage, schema)}]
    await client.call(request.patch(Ref(DEFINITIONS, "", NAME), JSON_PATCH, msgspec.json.encode(patch)))
    await asyncio.sleep(5.0)


async def revision(client: Client) -> int:
    page = await client.page(request.list_page(widgets("v1"), limit=1, metadata_only=True), dict[str, Any])
    return int(page.resource_version)


async def ideal(client: Client, storage: str, concurrency: int) -> Measured:
    before, began, token = await revision(client), time.monotonic(), ""
    while True:
        asked = request.list_page(widgets(storage), limit=PAGE, token=token, metadata_only=True)
        objects, token, _, _ = page_of(widgets(storage), (await client.call(asked)).body)
        await in_flight(concurrency, (written(each) for each in objects), client)
        if not token:
            break
    return Measured(time.monotonic() - began, await revision(client) - before)


def written(stored: Stored) -> Request:
    return request_for(stored.touched(via_status=False))


async def migrated(client: Client, plane: Plane, concurrency: int) -> Measured:
    """By the command, in a process of its own."""
    before, began = await revision(client), time.monotonic()
    command = [
        sys.executable,
        "-m",
        "fairlead",
        "api",
        "migrate",
        NAME,
        f"--kubeconfig={plane.kubeconfig}",
        f"--concurrency={concurrency}",
        f"--page-size={PAGE}",
        "--qps=0",
        "--settle=0s",
        "--progress=none",
        "--journal=default",
    ]
    with tempfile.TemporaryFile() as output:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=output, stderr=output, cwd=Path(__file__).parent.parent
        )
        ending = asyncio.create_task(process.wait())
        peak = 0.0
        while not ending.done():
            peak = max(peak, peak_of(process.pid))
            await asyncio.wait([ending], timeout=0.2)
        output.seek(0)
        if process.returncode:
            raise SystemExit(f"the command failed: {output.read().decode()}")
    return Measured(time.monotonic() - began, await revision(client) - before, peak)


def peak_of(pid: int) -> float:
    try:
        return peak_megabytes(pid)
    except (OSError, Ended):
        return 0.0


async def measure(count: int, concurrency: int) -> tuple[Measured, Measured]:
    with Plane(controllers=False) as plane:
        client = Client(HttpTransport(plane.config()), timeout=60.0)
        try:
            await prepare(client, count)
            # Each once before and once after the other: a machine that others use is not the same all the time.
            await store_in(client, "v2")
            first = await ideal(client, "v2", concurrency)
            await store_in(client, "v1")
            one = await migrated(client, plane, concurrency)
            await store_in(client, "v2")
            other = await migrated(client, plane, concurrency)
            await store_in(client, "v1")
            last = await ideal(client, "v1", concurrency)
            quickest = min(first, last, key=lambda each: each.seconds)
            return quickest, min(one, other, key=lambda each: each.seconds)
        finally:
            await client.close()


def report(count: int, least: Measured, command: Measured) -> list[str]:
    """What is over its budget."""
    ratio = command.seconds / least.seconds
    print(
        f"{count} objects: ideal {least.seconds:.1f} s, fairlead api migrate {command.seconds:.1f} s, {ratio:.2f} times"
    )
    print(f"writes of anything: {command.revisions}; memory at most {command.megabytes:.0f} MB")
    over = []
    if ratio > MOST_RATIO:
        over.append(f"{ratio:.2f} times the ideal rewriter, and {MOST_RATIO} is the most")
    if command.revisions > count * 1.05 + 100:
        over.append(f"{command.revisions} writes: some objects were written twice")
    if command.megabytes > MOST_MEGABYTES:
        over.append(f"{command.megabytes:.0f} MB, and {MOST_MEGABYTES:.0f} is the most")
    return over


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--concurrency", type=int, default=CONCURRENCY)
    given = parser.parse_args()
    least, command = asyncio.run(measure(given.count, given.concurrency))
    over = report(given.count, least, command)
    for each in over:
        print(f"over budget: {each}")
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
