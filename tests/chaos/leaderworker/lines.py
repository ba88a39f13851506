"""One line for each write, for the history of a run that broke a rule; and what requests are about."""

from __future__ import annotations

from typing import Any

import msgspec

from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.leaderworker.facts import is_going, is_ready, key_of, partition_of, restarts_of, set_fact, uid_of


def uid_in(body: bytes) -> str:
    tree: Any = msgspec.json.decode(body) if body else {}
    return str((tree.get("preconditions") or {}).get("uid", ""))


def name_in(body: bytes) -> str:
    tree: Any = msgspec.json.decode(body) if body else {}
    return str(tree.get("metadata", {}).get("name", "")) if isinstance(tree, dict) else ""


def line_of(entry: Entry, tree: Tree) -> str:
    plural = entry.resource.plural
    said = f"{entry.user} {entry.verb} {entry.type} {plural}/{entry.name} {entry.subresource} uid={uid_of(tree)[-4:]}"
    ends = " going" if is_going(tree) else ""
    if plural == "pods":
        return f"{said} {key_of(tree)}{' ready' if is_ready(tree) else ''}{ends} restarts={restarts_of(tree)}"
    if plural == "statefulsets":
        status = tree.get("status") or {}
        return (
            f"{said} {key_of(tree)} {partition_of(tree)}/{tree['spec']['replicas']}{ends}"
            f" has {status.get('replicas')} available {status.get('availableReplicas')}"
        )
    if plural == "leaderworkersets":
        fact = set_fact(tree, 0)
        return (
            f"{said} gen={fact.generation}/{fact.observed} R={fact.replicas} U={fact.unavailable} S={fact.surge}"
            f" P={fact.partition} ready={fact.ready} {sorted(fact.holding)}{ends}"
        )
    if plural == "controllerrevisions":
        return f"{said} {key_of(tree)} number {tree.get('revision')}{ends}"
    return f"{said}{ends}"
