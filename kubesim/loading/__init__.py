"""Copies of clusters that live elsewhere, made from lists of their objects: `read` makes one, a Cluster holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kubesim import saving
from kubesim.copies import Copy, Unusable
from kubesim.loading.gathering import read

__all__ = ["read", "state_in"]


def state_in(paths: Sequence[Path], unread: Iterable[str] = ()) -> Copy:
    """What was saved in a folder, or the copy that lists make; raises Unusable."""
    saved = [path for path in paths if (path / saving.FILE).exists()]
    if not saved:
        return read(paths, unread=unread)
    if len(paths) > 1 or unread:
        raise Unusable(f"{saved[0]} keeps a whole cluster: load it alone, or lists without it")
    return saving.read(saved[0])
