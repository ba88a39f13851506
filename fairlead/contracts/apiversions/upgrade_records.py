"""Records of an offline upgrade: in the directory of its backup, which counts, and a summary in a ConfigMap."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.backup_directory import DirectoryRecords
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import UpgradeCounts, UpgradeJournal, UpgradePhase
from kubeloop.records import Outdated, Recorded, Records

JOURNAL = "upgrade"
"""Names the journal in the directory, and the entry of the ConfigMap."""
MOST_TRIES = 5


class Summary(Struct, frozen=True, rename="camel", kw_only=True):
    """What the ConfigMap says of an upgrade."""

    crd: str = ""
    state: UpgradePhase
    directory: str
    manifest_sha256: str = msgspec.field(name="manifestSHA256")
    counts: UpgradeCounts = UpgradeCounts()
    problem: str = ""
    completed_at: str = ""


class UpgradeRecords:
    """Of one upgrade; `entry` names the record of the summary."""

    def __init__(self, directory: DirectoryRecords, summaries: Records, entry: str, place: Path, sha256: str) -> None:
        self._directory, self._summaries, self._entry = directory, summaries, entry
        self._place, self._sha256 = place, sha256
        self._told: Summary | None = None

    async def get(self, key: str) -> Recorded:
        return await self._directory.get(key)

    async def swap(self, key: str, version: str, value: bytes, lasts: int = 0) -> str:
        written = await self._directory.swap(key, version, value)
        if key == JOURNAL:
            await self._tell(msgspec.json.decode(value, type=UpgradeJournal))
        return written

    async def _tell(self, journal: UpgradeJournal) -> None:
        summary = Summary(
            crd=journal.crd,
            state=journal.phase,
            directory=str(self._place),
            manifest_sha256=self._sha256,
            counts=journal.counts,
            problem=journal.problem,
            completed_at="" if journal.completed_at is None else journal.completed_at.isoformat(),
        )
        told = self._told
        if told is not None and (told.state, told.problem) == (summary.state, summary.problem):
            return
        await tell(self._summaries, self._entry, summary)
        self._told = summary


async def tell(summaries: Records, entry: str, summary: Summary) -> None:
    """Afterwards the ConfigMap says so; the directory is what counts, so nobody else's word is kept."""
    for _ in range(MOST_TRIES):
        held = await summaries.get(entry)
        try:
            await summaries.swap(entry, held.version, msgspec.json.encode(summary))
        except Outdated:
            continue
        return
    raise Outdated(f"{entry} is written by others faster than it can be read")


async def told(summaries: Records, entry: str) -> Summary | None:
    """What the ConfigMap says; None where it says nothing that can be read."""
    held = (await summaries.get(entry)).value
    try:
        return msgspec.json.decode(held, type=Summary) if held else None
    except msgspec.DecodeError:
        return None
