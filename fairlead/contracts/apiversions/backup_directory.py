"""Backups on disk: written beside their place and renamed when whole; read with every file checked.

A backup is never half there: until it is renamed it is a hidden directory beside its place. Records of what is done
with it are lines of one file, each on the disk before it counts; of a line that was cut short nothing has followed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.offline.backup_format import (
    DEFINITION,
    JOURNAL,
    MANIFEST,
    BadBackup,
    Manifest,
    check_content,
    check_definition,
    check_object,
    digest,
    encoded,
    manifest_in,
)
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.engine.object_files import UnreadableFile, objects_in
from kubeloop.records import Outdated, Recorded
from kubeloop.unreadable import UNREADABLE

FILES = "file/"
"""Keys of records that are files of the backup; they never change."""
_PRIVATE = 0o700
"""Objects may hold what is secret."""


class NewBackup:
    """A backup in the making."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._making = place.with_name(f".{place.name}.making")
        self.hashes: dict[str, str] = {}

    def begin(self) -> None:
        """Raises BadBackup where something is in its place; what an earlier one left unfinished is removed."""
        if self._place.exists() or self._place.is_symlink():
            raise BadBackup(f"{self._place} is there already: name a directory that is not")
        try:
            if self._making.exists():
                shutil.rmtree(self._making)
            self._making.mkdir(mode=_PRIVATE, parents=True)
        except OSError as error:
            raise BadBackup(f"{self._place} cannot be made: {_why(error)}") from error

    def save(self, path: str, content: bytes) -> None:
        target = self._making / path
        target.parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        _write_synced(target, content)
        self.hashes[path] = digest(content)

    def drop(self, path: str) -> None:
        """Takes a file out again."""
        (self._making / path).unlink()
        del self.hashes[path]

    def finish(self, manifest: Manifest) -> None:
        """From now on the backup is in its place, whole."""
        _write_synced(self._making / MANIFEST, encoded(manifest))
        for folder in (*(each for each in self._making.rglob("*") if each.is_dir()), self._making):
            _sync_folder(folder)
        self._making.rename(self._place)
        _sync_folder(self._place.parent)

    def abandon(self) -> None:
        shutil.rmtree(self._making, ignore_errors=True)


class Backup(Struct, frozen=True):
    """A backup that was found whole."""

    place: Path
    manifest: Manifest
    definition: Tree

    @property
    def digest(self) -> str:
        """Of its manifest, and so of all of it."""
        return digest((self.place / MANIFEST).read_bytes())

    def content(self, path: str) -> bytes:
        """Of a file that the manifest names; raises BadBackup where it is not as it was."""
        return check_content(path, _content(self.place, path), self.manifest)


def opened(place: Path) -> Backup:
    """The backup, every file compared with its hash and every object with the definition; raises BadBackup."""
    if not place.is_dir():
        raise BadBackup(f"{place} is no directory: name the one that `fairlead api backup` has made")
    content = _content(place, MANIFEST)
    if content is None:
        raise BadBackup(f"{place} has no {MANIFEST}, so it is no backup, or one that was cut short")
    manifest = manifest_in(content, str(place / MANIFEST))
    for path in sorted(manifest.files):
        check_content(path, _content(place, path), manifest)
    try:
        (definition,) = objects_in(str(place / DEFINITION))
    except (UnreadableFile, ValueError):
        raise BadBackup(f"{place / DEFINITION} holds no definition: give another backup") from None
    check_definition(definition, manifest)
    backup = Backup(place, manifest, definition)  # type: ignore[arg-type]
    for path in manifest.paths:
        check_object(path, _tree(backup.content(path), path), backup.definition, manifest.version)
    return backup


class DirectoryRecords:
    """Records in a backup: those of its files, which never change, and those in `journal.jsonl`."""

    def __init__(self, backup: Backup) -> None:
        self._backup = backup
        self._path = backup.place / JOURNAL
        self._found: dict[str, tuple[int, int, int]] = {}
        """Version, offset and length of the last line of each key."""
        self._end = 0
        self._lock = asyncio.Lock()

    def load(self) -> None:
        """Reads what is there; raises BadBackup for a journal that was edited."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it was cut short, and nothing has followed it
                self._note(_line(line, self._path).key, len(line))
        if self._end != self._path.stat().st_size:
            os.truncate(self._path, self._end)

    def keys(self, prefix: str) -> list[str]:
        return [key for key in self._found if key.startswith(prefix)]

    @property
    def is_empty(self) -> bool:
        return not self._found

    async def get(self, key: str) -> Recorded:
        if key.startswith(FILES):
            content = await asyncio.to_thread(self._backup.content, key.removeprefix(FILES))
            return Recorded(content, "1")
        if key not in self._found:
            return Recorded()
        version, offset, length = self._found[key]
        return Recorded(await asyncio.to_thread(self._read, offset, length), str(version))

    async def swap(self, key: str, version: str, value: bytes, lasts: int = 0) -> str:
        """On the disk when this returns."""
        if key.startswith(FILES):
            raise TypeError("files of a backup never change")
        async with self._lock:
            held = self._found.get(key)
            if version != (str(held[0]) if held else ""):
                raise Outdated(f"record {key} has changed")
            line = b'{"key":%b,"value":%b}\n' % (msgspec.json.encode(key), value or b"null")
            await asyncio.to_thread(self._append, line)
            self._note(key, len(line))
            return str(self._found[key][0])

    def _note(self, key: str, length: int) -> None:
        held = self._found.get(key)
        self._found[key] = ((held[0] if held else 0) + 1, self._end, length)
        self._end += length

    def _append(self, line: bytes) -> None:
        is_new = not self._path.exists()
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            _sync_folder(self._path.parent)

    def _read(self, offset: int, length: int) -> bytes:
        with self._path.open("rb") as file:
            file.seek(offset)
            value = bytes(_line(file.read(length), self._path).value)
        return b"" if value == b"null" else value


class TriedRecords:
    """The same, of which nothing is written: what is tried is remembered, and forgotten with the process."""

    def __init__(self, records: DirectoryRecords) -> None:
        self._records = records
        self._tried: dict[str, Recorded] = {}

    async def get(self, key: str) -> Recorded:
        return self._tried.get(key) or await self._records.get(key)

    async def swap(self, key: str, version: str, value: bytes, lasts: int = 0) -> str:
        if (await self.get(key)).version != version:
            raise Outdated(f"record {key} has changed")
        self._tried[key] = Recorded(value, f"{version}+")
        return self._tried[key].version


class _Line(Struct, frozen=True):
    key: str
    value: msgspec.Raw


_LINE = msgspec.json.Decoder(_Line)


def _line(text: bytes, path: Path) -> _Line:
    try:
        return _LINE.decode(text)
    except UNREADABLE:
        raise BadBackup(f"{path} holds a line that is no record: it was edited, so it cannot be gone by") from None


def _tree(content: bytes, path: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except UNREADABLE:
        raise BadBackup(f"{path} is no JSON, and nothing was written") from None


def _content(place: Path, path: str) -> bytes | None:
    """None where there is no such file; raises BadBackup where it is not in the directory."""
    target = place / path
    if not target.resolve().is_relative_to(place.resolve()):
        raise BadBackup(f"{path} leads out of {place}: it is no file of a backup")
    try:
        return target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadBackup(f"{target} cannot be read: {_why(error)}") from error


def _write_synced(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
