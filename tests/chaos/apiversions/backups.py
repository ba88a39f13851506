"""Backups of gauges and their return: what people had asked for when one was taken is what they ask for again."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tests.chaos.apiversions.kinds import NAME
from tests.chaos.apiversions.model import Kept

if TYPE_CHECKING:
    from tests.chaos.apiversions.world import ApiWorld


class Backup(Struct, frozen=True):
    """What a backup was taken of."""

    place: str
    kept: dict[str, Kept]
    tainted: set[str]
    uids: dict[str, str]


async def back_up(world: ApiWorld) -> None:
    """All objects, with what people had asked for until then."""
    place = str(Path(world.folder) / f"backup-{len(world.runs)}")
    kept, tainted = deepcopy(world.judge.kept), set(world.judge.tainted)
    run = await world.commanded("backup", NAME, "--out", place, "--dependents", "Secret", "--progress", "none")
    if run.code == 0:
        uids = {name: tree["metadata"]["uid"] for name, tree in world.judge.stored.items()}
        world.backup = Backup(place, kept, tainted, uids)


async def restore(world: ApiWorld, dies: int = 0) -> None:
    """Objects as they were; one that people made again under the same name stays as it is."""
    backup, judge = world.backup, world.judge
    if backup is None or not judge.is_converted():
        return
    run = world.run_command("restore", backup.place, "--progress", "none")
    if dies:
        run.killed_at(dies, before=bool(dies % 2))
    await world.until(lambda: run.is_over, 600.0)
    for name in backup.kept:
        if name in backup.tainted or not judge.is_converted():
            judge.tainted.add(name)
        elif name in judge.stored:
            _expect(world, backup, name, is_done=run.code == 0)
    world.check_runs()


def _expect(world: ApiWorld, backup: Backup, name: str, *, is_done: bool) -> None:
    judge, kept = world.judge, deepcopy(backup.kept[name])
    is_same = judge.stored[name]["metadata"]["uid"] == backup.uids.get(name)
    if not is_same and name not in judge.restored:
        return
    if is_same and not is_done:
        judge.kept[name].maybe(kept)
    else:
        judge.kept[name] = kept
    judge.kept[name].is_unowned = True
