"""Counting what a user wrote from the lines of an audit log."""

from __future__ import annotations

import json
from pathlib import Path

from bench.audit import AuditLog


def line(verb: str, resource: str, code: int = 200, subresource: str = "") -> str:
    reference = {"resource": resource, **({"subresource": subresource} if subresource else {})}
    tree = {"kind": "Event", "stage": "ResponseComplete", "verb": verb, "objectRef": reference}
    return json.dumps({**tree, "responseStatus": {"metadata": {}, "code": code}}) + "\n"


def test_writes_are_counted_by_kind_with_conflicts_and_without_leases_and_events(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_text(
        line("patch", "statefulsets")
        + line("patch", "statefulsets", 409)
        + line("update", "leaderworkersets", subresource="status")
        + line("update", "leases")
        + line("create", "events", 201)
        + line("patch", "events")
        + line("create", "subjectaccessreviews", 201)
    )

    found = AuditLog(path).since_last()

    assert found.by_kind == {"patch statefulsets": 2, "update leaderworkersets/status": 1}
    assert (found.writes, found.conflicts, found.events) == (3, 1, 2)


def test_each_look_tells_what_is_new_and_leaves_half_a_line_for_the_next(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditLog(path)
    first, second = line("create", "services", 201), line("delete", "pods")
    path.write_text(first + second[:10])
    counts = [log.since_last().by_kind]
    counts.append(log.since_last().by_kind)
    path.write_text(first + second)
    counts.append(log.since_last().by_kind)

    assert counts == [{"create services": 1}, {}, {"delete pods": 1}]
