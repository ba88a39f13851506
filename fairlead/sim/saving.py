"""A cluster's state as a file, and a cluster that goes on from it.

A line of JSON says what the file is, then each object has one, as it is stored. History is not kept: a watch that
resumes from before is answered with 410, as by a server whose history was compacted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from fairlead.api.meta import Resource
from fairlead.kube import clock
from fairlead.sim.cluster import Cluster

FILE = "cluster.jsonl"
FORMAT = "fairlead-cluster/1"


class Unusable(Exception):
    """No state can be read there; the text is a sentence that says what would help."""


class Heading(Struct, frozen=True):
    """The first line."""

    format: str
    revision: int
    now: datetime
    """By the cluster's clock, which never goes back."""


class _Line(Struct, frozen=True):
    resource: Resource
    object: Raw


class Saved(Struct, frozen=True):
    """What a file holds."""

    heading: Heading
    objects: list[tuple[Resource, bytes]]


def save(cluster: Cluster, folder: Path) -> None:
    """Writes the state; at any moment the folder holds a whole one."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f"{FILE}.new"
    with fresh.open("wb") as file:
        file.writelines(_lines(cluster))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / FILE)


def _lines(cluster: Cluster) -> Iterator[bytes]:
    yield msgspec.json.encode(Heading(FORMAT, cluster.store.revision, clock.now())) + b"\n"
    for resource, version in cluster.store.everything():
        yield msgspec.json.encode(_Line(resource, Raw(version.body))) + b"\n"


def read(folder: Path) -> Saved:
    """What was saved there; raises Unusable."""
    path = folder / FILE
    try:
        first, *rest = path.read_bytes().splitlines()
        heading = msgspec.json.decode(first, type=Heading)
        if heading.format != FORMAT:
            raise Unusable(f"{path} was written by another release of fairlead ({heading.format}); save it anew")
        lines = [msgspec.json.decode(line, type=_Line) for line in rest]
    except FileNotFoundError:
        raise Unusable(f"there is no {path}: name a folder that --save has written to") from None
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except (ValueError, msgspec.DecodeError) as error:
        raise Unusable(f"{path} holds no saved cluster ({error}); save it anew") from error
    return Saved(heading, [(line.resource, bytes(line.object)) for line in lines])


def load(cluster: Cluster, saved: Saved) -> None:
    """Has a new cluster hold what was saved, and nothing else."""
    cluster.store.restore(saved.heading.revision, saved.objects)
    cluster.definitions.resume([resource for resource, _ in saved.objects])
