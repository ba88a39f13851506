"""Names of files in a backup, and manifests that are none."""

from __future__ import annotations

import json

import pytest

from fairlead.contracts.apiversions.decide.offline.backup_format import (
    BackedVersion,
    BadBackup,
    Manifest,
    changed_meanwhile,
    encoded,
    manifest_in,
    path_of,
)


def a_manifest(**files: str) -> Manifest:
    return Manifest(
        crd="widgets.example.test",
        uid="1",
        generation=1,
        stored_versions=("v1",),
        resource_version="7",
        version="v1",
        versions=(BackedVersion("v1", True, True),),
        objects=len(files),
        files={"crd.yaml": "0", **files},
    )


def test_objects_are_files_in_the_folder_of_their_namespace() -> None:
    assert path_of("shop", "a.b-c") == "objects/shop/a.b-c.json"
    assert path_of("", "whole") == "objects/_cluster/whole.json"


def test_names_that_are_too_long_for_a_file_are_still_told_apart() -> None:
    one, other = "a" * 253, "a" * 252 + "b"

    paths = {path_of("", one), path_of("", other)}

    assert len(paths) == 2
    assert all(len(path.rsplit("/", 1)[1]) <= 255 for path in paths)
    assert manifest_in(encoded(a_manifest(**dict.fromkeys(paths, "0"))), "here").objects == 2


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "A", "a\x00", "-a", "a\n", "a..b"])
def test_no_other_name_becomes_a_path(name: str) -> None:
    with pytest.raises(BadBackup):
        path_of("shop", name)
    with pytest.raises(BadBackup):
        path_of(name or "/", "a")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "objects/../../x.json",
        "objects/shop/../x.json",
        "objects/shop/a.json/b.json",
        "objects/shop/a.yaml",
        "objects//a.json",
        "objects\\shop\\a.json",
        "manifest.json",
        "journal.jsonl",
        "upgrade/../x",
    ],
)
def test_a_manifest_that_names_another_file_was_edited(path: str) -> None:
    tree = json.loads(encoded(a_manifest()))
    tree["files"][path] = "0"

    with pytest.raises(BadBackup, match="edited"):
        manifest_in(json.dumps(tree).encode(), "here")


def test_a_manifest_comes_back_as_it_was() -> None:
    manifest = a_manifest(**{"objects/shop/a.json": "12"})

    assert manifest_in(encoded(manifest), "here") == manifest
    for length in range(len(encoded(manifest)) - 2):
        with pytest.raises(BadBackup):
            manifest_in(encoded(manifest)[:length], "here")


def test_of_two_lists_what_is_new_or_changed_is_fetched_again_and_what_is_gone_is_dropped() -> None:
    first, second = {"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"}

    assert changed_meanwhile(first, second) == (["b", "d"], ["c"])
