"""One object of the world of values."""

from __future__ import annotations

from typing import Any

Tree = dict[str, Any]


class Thing:
    """One object of the cluster."""

    def __init__(self, body: Tree, uid: str, version: int) -> None:
        self.body, self.uid, self.version = body, uid, version
        self.generation, self.terminating, self.status = 1, False, {}  # type: int, bool, Tree

    @property
    def tree(self) -> Tree:
        meta = self.body.get("metadata", {}) | {
            "uid": self.uid,
            "resourceVersion": str(self.version),
            "generation": self.generation,
        }
        if self.terminating:
            meta["deletionTimestamp"] = "2026-03-01T12:00:00Z"
        return self.body | {"metadata": meta, "status": self.status}
