"""A cluster's state as a file, and a cluster that goes on from it.

A line of JSON says what the file is, then each object has one, as it is stored. History is not kept: a watch that
resumes from before is answered with 410, as by a server whose history was compacted. Secrets are in it as they are, so
only its owner may read it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from kubeloop.objects.meta import Resource
from kubesim.cluster import Cluster
from kubesim.copies import Copy, Marks, Unusable
from kubesim.store.versions import Key, Version, restored

FILE = "cluster.jsonl"
FORMAT = "fairlead-cluster/1"


class _Format(Struct, frozen=True):
    format: str


class Heading(Struct, frozen=True):
    """The first line."""

    format: str
    revision: int
    now: Annotated[datetime, Meta(tz=True)]
    """By the cluster's clock, which never goes back."""
    objects: int
    """How many lines follow: a file that lost some is not taken for a smaller cluster."""
    marks: Marks = Marks()


class _Line(Struct, frozen=True):
    resource: Resource
    object: Raw


def save(cluster: Cluster, folder: Path) -> None:
    """Writes the state; at any moment the folder holds a whole one."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f"{FILE}.new"
    with open(fresh, "wb", opener=_for_its_owner) as file:
        file.writelines(_lines(cluster))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / FILE)


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _lines(cluster: Cluster) -> Iterator[bytes]:
    copy = cluster.copy()
    yield msgspec.json.encode(Heading(FORMAT, copy.revision, copy.now, copy.size, copy.marks)) + b"\n"
    for resource, versions in copy.tables.items():
        for key in sorted(versions):
            yield msgspec.json.encode(_Line(resource, Raw(versions[key].body))) + b"\n"


def read(folder: Path) -> Copy:
    """What was saved there; raises Unusable."""
    path = folder / FILE
    try:
        first, *rest = path.read_bytes().splitlines() or [b""]
        form = msgspec.json.decode(first, type=_Format).format
        if form != FORMAT:
            raise Unusable(f"{path} was written by another release of fairlead ({form}); save it anew")
        heading = msgspec.json.decode(first, type=Heading)
        lines = [msgspec.json.decode(line, type=_Line) for line in rest]
    except FileNotFoundError:
        raise Unusable(f"there is no {path}: name a folder that --save has written to, or leave out --load") from None
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise Unusable(f"{path} holds no saved cluster ({error}); save it anew") from error
    if len(lines) != heading.objects:
        raise Unusable(f"{path} has {len(lines)} of the {heading.objects} objects that were saved; save it anew")
    tables: dict[Resource, dict[Key, Version]] = {}
    try:
        for line in lines:
            version = restored(bytes(line.object))
            tables.setdefault(line.resource, {})[version.key] = version
    except (LookupError, TypeError, ValueError) as error:  # somebody edited it
        raise Unusable(f"{path} holds what no cluster has stored ({error}); save it anew") from error
    return Copy(heading.revision, heading.now, tables, heading.marks)
