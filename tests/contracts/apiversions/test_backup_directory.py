"""Records in the directory of a backup: on the disk before they count, and read again after a crash."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fairlead.contracts.apiversions.backing_up import yaml_of
from fairlead.contracts.apiversions.backup_directory import (
    Backup,
    DirectoryRecords,
    NewBackup,
    TriedRecords,
    opened,
)
from fairlead.contracts.apiversions.decide.offline.backup_format import BackedVersion, BadBackup, Manifest
from kubeloop.records import Outdated

DEFINITION = {
    "metadata": {"name": "widgets.example.test"},
    "spec": {"group": "example.test", "names": {"kind": "Widget"}, "default": "1e3", "other": "yes"},
}


def a_backup(folder: Path) -> Backup:
    new = NewBackup(folder / "backup")
    new.begin()
    new.save("crd.yaml", yaml_of(DEFINITION))
    new.save(
        "objects/shop/a.json",
        b'{"apiVersion":"example.test/v1","kind":"Widget","metadata":{"namespace":"shop","name":"a"}}',
    )
    new.finish(
        Manifest(
            crd="widgets.example.test",
            uid="1",
            generation=1,
            stored_versions=("v1",),
            resource_version="7",
            version="v1",
            versions=(BackedVersion("v1", True, True),),
            objects=1,
            files=new.hashes,
        )
    )
    return opened(folder / "backup")


def records(backup: Backup) -> DirectoryRecords:
    found = DirectoryRecords(backup)
    found.load()
    return found


def test_texts_of_a_definition_come_back_as_texts(tmp_path: Path) -> None:
    assert a_backup(tmp_path).definition == DEFINITION


def test_a_backup_that_was_not_finished_is_not_there_and_is_made_anew(tmp_path: Path) -> None:
    new = NewBackup(tmp_path / "backup")
    new.begin()
    new.save("crd.yaml", b"{}")

    assert not (tmp_path / "backup").exists()
    assert a_backup(tmp_path).manifest.objects == 1
    with pytest.raises(BadBackup, match="is there already"):
        NewBackup(tmp_path / "backup").begin()


def test_records_outlast_their_process_and_are_replaced_by_their_version(tmp_path: Path) -> None:
    backup = a_backup(tmp_path)

    async def play() -> None:
        first = records(backup)
        version = await first.swap("a", "", b"1")
        await first.swap("b", "", b'{"x":[1]}')
        await first.swap("a", version, b"2")
        again = records(backup)

        assert (await again.get("a")).value == b"2"
        assert (await again.get("b")).value == b'{"x":[1]}'
        assert (await again.get("c")).value == b""
        with pytest.raises(Outdated):
            await again.swap("a", version, b"3")
        assert (await again.get("file/objects/shop/a.json")).value.startswith(b'{"apiVersion"')

    asyncio.run(play())


def test_of_a_line_that_was_cut_short_nothing_has_followed(tmp_path: Path) -> None:
    backup = a_backup(tmp_path)
    path = backup.place / "journal.jsonl"

    async def play() -> None:
        held = records(backup)
        await held.swap("a", "", b"1")
        whole = path.read_bytes()
        for length in range(1, len(whole)):
            path.write_bytes(whole + whole[:length])
            again = records(backup)
            assert (await again.get("a")).version == "1"
            await again.swap("a", "1", b"2")
            assert (await records(backup).get("a")).value == b"2"
            path.write_bytes(whole)

    asyncio.run(play())


def test_a_line_that_was_edited_is_not_gone_by(tmp_path: Path) -> None:
    backup = a_backup(tmp_path)
    (backup.place / "journal.jsonl").write_bytes(b'{"key":"a","value":1}\nrubbish\n{"key":"b","value":1}\n')

    with pytest.raises(BadBackup, match="edited"):
        records(backup)


def test_what_is_only_tried_is_not_on_the_disk(tmp_path: Path) -> None:
    backup = a_backup(tmp_path)

    async def play() -> None:
        held = records(backup)
        version = await held.swap("a", "", b"1")
        tried = TriedRecords(held)
        await tried.swap("a", version, b"2")

        assert (await tried.get("a")).value == b"2"
        assert (await records(backup).get("a")).value == b"1"

    asyncio.run(play())
