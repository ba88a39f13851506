"""Who lives in the same process follows a table itself, without lines of a watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kubesim.store.store import Table
from kubesim.store.versions import Event, Match, Version


async def follow(
    table: Table,
    match: Match | None,
    lag: tuple[float, float],
    present: Callable[[list[Version], int], None],
    changed: Callable[[Event], None],
    *,
    heads_only: bool = False,
) -> None:
    """Until cancelled: tells all there is at a revision, then each change, as late as the lag says.

    With `heads_only` a change that leaves the head of an object as it was is none. When the watch is ended it begins
    again with what there is then.
    """
    while True:
        revision = table.store.revision
        present([version for version in table.at(None) if match is None or match(version)], revision)
        watcher = table.watch(revision, match, lag)
        watcher.heads_only = heads_only
        try:
            while events := await watcher.arrived():
                for event in events:
                    changed(event)
                if watcher.has_more():  # others may act before the next ones, even if those are there already
                    await asyncio.sleep(0)
        finally:
            watcher.close()
