"""Manifests of built-in kinds with random mistakes, in all modes of validation; nothing of them is stored."""

from __future__ import annotations

import random

from tests.e2e.typed_objects import a_mistake, objects
from tests.exchanges.case import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, Step, unordered
from tests.fuzz.playing import Scenario, Tree

LENGTH = 20
_WISHES = ((), (), (("fieldValidation", "Strict"),), (("fieldValidation", "Ignore"),), (("fieldValidation", "Warn"),))
_DRY = (("dryRun", "All"),)


def a_scenario(draw: random.Random) -> Scenario:
    """Objects of one kind: new ones, then changes of one that is stored."""
    namespaced = [each for each in objects("{ns}") if "/namespaces/" in each[0]]
    path, tree = draw.choice(namespaced)
    steps = [_created(draw, path, tree) for _ in range(LENGTH // 2)]
    steps.append(Step(method="POST", path=path, body=tree, content_type=JSON))
    steps += [_changed(draw, f"{path}/it", tree) for _ in range(LENGTH // 2)]
    return Scenario(tuple(map(unordered, steps)))


def _created(draw: random.Random, path: str, tree: Tree) -> Step:
    body = a_mistake(draw, tree).body
    return Step(method="POST", path=path, query=_DRY + draw.choice(_WISHES), body=body, content_type=JSON)


def _changed(draw: random.Random, path: str, tree: Tree) -> Step:
    mistake, kind = a_mistake(draw, tree), draw.choice((JSON, MERGE, STRATEGIC, JSON_PATCH, APPLY))
    query = _DRY + draw.choice(_WISHES)
    body: object = mistake.body
    if kind == JSON_PATCH:
        changed = [key for key in mistake.tree if mistake.tree[key] != tree.get(key)]
        body = [{"op": "add", "path": f"/{key}", "value": mistake.tree[key]} for key in changed]
    if kind == APPLY:
        query += (("fieldManager", "me"), ("force", "true"))
    return Step(method="PUT" if kind == JSON else "PATCH", path=path, query=query, body=body, content_type=kind)
