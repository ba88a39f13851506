"""Lists in pages while writes go on, resource versions of every kind, and watches from the past."""

from __future__ import annotations

import random

from tests.exchanges.case import MERGE, METADATA_LIST, TABLE, Step, delete, get, patch, post, put, quiet, watch
from tests.fuzz.playing import Scenario, Tree

WRITES = 14
READS = 16
WATCHES = 10
MAPS = "/api/v1/namespaces/{ns}/configmaps"
_VERSIONS = ("", "0", "<<version>>", "<<version1>>", "<<version3>>", "1", "x", "-1")
_MATCHES = ("", "", "Exact", "NotOlderThan", "odd")


def a_scenario(draw: random.Random) -> Scenario:
    steps = [_write(draw) for _ in range(4)]
    steps += [_write(draw) if draw.random() < 0.45 else _read(draw) for _ in range(WRITES + READS)]
    steps += [_watch(draw) for _ in range(WATCHES)]
    return Scenario(tuple(steps))


def _write(draw: random.Random) -> Step:
    name = f"o{draw.randrange(6)}"
    tree: Tree = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"a": draw.choice("12")}},
        "data": {"k": str(draw.randrange(3))},
    }
    match draw.randrange(7):
        case 0:
            return quiet(delete(f"{MAPS}/{name}"))
        case 1:
            return put(f"{MAPS}/{name}", tree)
        case 2:
            return patch(f"{MAPS}/{name}", {"metadata": {"labels": {"a": draw.choice(("1", "2", None))}}}, MERGE)
        case 3 if draw.random() < 0.3:
            return quiet(delete(MAPS, labelSelector=f"a={draw.choice('12')}"))
        case _:
            return post(MAPS, tree)


def _selection(draw: random.Random) -> Tree:
    query: Tree = {}
    if draw.random() < 0.3:
        query["labelSelector"] = draw.choice(("a=1", "a!=1", "a", "!a"))
    if draw.random() < 0.15:
        query["fieldSelector"] = draw.choice(("metadata.name=o1", "metadata.name!=o1", "metadata.namespace={ns}"))
    return query


def _read(draw: random.Random) -> Step:
    query = _selection(draw)
    if draw.random() < 0.5:
        query["limit"] = draw.choice((1, 2, 3, 0, 9))
    if draw.random() < 0.4:
        query["continue"] = draw.choice(("<<continue>>", "<<continue>>", "<<continue1>>", "odd"))
    if draw.random() < 0.5:
        query["resourceVersion"] = draw.choice(_VERSIONS[:5] if draw.random() < 0.8 else _VERSIONS)
        if match := draw.choice(_MATCHES):
            query["resourceVersionMatch"] = match
    elif draw.random() < 0.05:
        query["resourceVersionMatch"] = draw.choice(_MATCHES[2:])
    if draw.random() < 0.1:
        return get(f"{MAPS}/o{draw.randrange(6)}", resourceVersion=draw.choice(_VERSIONS[:5]))
    accept = draw.choice(("", "", "", METADATA_LIST, TABLE))
    return get(MAPS, accept, **query)


def _watch(draw: random.Random) -> Step:
    query = _selection(draw)
    version = draw.choice(("", "0", *(f"<<version{number}>>" for number in range(8)), "x", "-1"))
    if version:
        query["resourceVersion"] = version
    if draw.random() < 0.2:
        query["allowWatchBookmarks"] = "true"
    if draw.random() < 0.15:
        query |= {"sendInitialEvents": draw.choice(("true", "false")), "allowWatchBookmarks": "true"}
        if draw.random() < 0.8:
            query["resourceVersionMatch"] = draw.choice(("NotOlderThan", "NotOlderThan", "Exact"))
    elif draw.random() < 0.05:
        query["resourceVersionMatch"] = draw.choice(_MATCHES[2:])
    return watch(MAPS, **query)
