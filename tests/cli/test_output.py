"""Where the output of a command goes: to readers that leave early, and to disks that are full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.builders import a_zone, pods_of
from tests.cli.ups import FAIRLEAD
from tests.cli.worlds import World, served
from tests.contracts.apiversions.decide.widgets import TEXT, made_of

FULL = Path("/dev/full")


def a_definition(folder: Path, name: str, *versions: str) -> Path:
    """A file; the last version is that of the storage."""
    made = [
        {
            "name": each,
            "served": True,
            "storage": each == versions[-1],
            "schema": {"openAPIV3Schema": made_of(spec=made_of(mode=TEXT))},
        }
        for each in versions
    ]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.test", "scope": "Namespaced", "names": names, "versions": made}
    tree = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.test"},
        "spec": spec,
    }
    (path := folder / name).write_bytes(msgspec.json.encode(tree))
    return path


def blocking(folder: Path, *words: str) -> list[str]:
    """A look that finds what blocks: the version that objects are stored in is to go."""
    old, new = a_definition(folder, "old.json", "v1"), a_definition(folder, "new.json", "v2")
    return [*FAIRLEAD, "api", "preflight", "-f", str(new), "--crd", str(old), *words]


@pytest.mark.parametrize("words", [(), ("-o", "json"), ("-o", "yaml")], ids=["text", "json", "yaml"])
def test_a_reader_that_leaves_does_not_change_what_was_found(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Whoever looks at the first lines alone, in a pipe that fails with its first part, must not be told that all is
    well."""
    reading, writing = os.pipe()
    os.close(reading)

    with os.fdopen(writing, "w") as gone:
        ran = subprocess.run(
            blocking(tmp_path, *words), stdout=gone, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )

    assert (ran.returncode, ran.stderr) == (3, "")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no disk that is always full")
def test_output_that_cannot_be_written_is_told_in_one_sentence(tmp_path: Path) -> None:
    with FULL.open("w") as full:
        ran = subprocess.run(
            blocking(tmp_path), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )

    assert ran.stderr == (
        "fairlead: the output cannot be written (no space left on device): make room, or write elsewhere\n"
    )
    assert ran.returncode == 1


def test_a_reader_of_standard_error_that_leaves_does_not_make_a_failure_a_success(tmp_path: Path) -> None:
    """`fairlead api migrate … 2>&1 | head -1` ends as it does where somebody reads on."""
    reading, writing = os.pipe()
    os.close(reading)
    nowhere = str(tmp_path / "kubeconfig")

    with os.fdopen(writing, "w") as gone:
        ran = subprocess.run(
            [*FAIRLEAD, "api", "migrate", "widgets.example.test", "--kubeconfig", nowhere],
            stdout=subprocess.PIPE,
            stderr=gone,
            timeout=60,
            check=False,
        )

    assert (ran.returncode, ran.stdout) == (1, b"")


OLD, NEW = a_zone("a"), a_zone("a", current="new")


def ran_unread(kubeconfig: str, *words: str, errors: bool = False) -> subprocess.CompletedProcess[str]:
    """A command whose output, or whose errors, nobody reads; what is left is kept."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        out, err = (subprocess.PIPE, gone) if errors else (gone, subprocess.PIPE)
        command = [*FAIRLEAD, *words, "--kubeconfig", kubeconfig]
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, text=True, timeout=60, check=False
        )


@pytest.mark.parametrize("words", [("status", "ingester"), ("watch", "ingester"), ("watch", "--forever")])
def test_whoever_only_looks_ends_with_his_reader_and_not_as_if_it_were_complete(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    with served(World(OLD, pods_of(OLD, "old")), tmp_path) as server:
        ran = ran_unread(server.kubeconfig, *words)

    assert (ran.returncode, ran.stderr) == (130, "")


@pytest.mark.parametrize("words", [("status", "ingester"), ("watch", "ingester"), ("get", "-o", "json")])
def test_what_was_found_counts_without_a_reader(tmp_path: Path, words: tuple[str, ...]) -> None:
    with served(World(NEW, pods_of(NEW, "new")), tmp_path) as server:
        ran = ran_unread(server.kubeconfig, *words)

    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("form", [(), ("-o", "json")])
def test_a_rollout_that_is_not_complete_is_none_without_a_reader(tmp_path: Path, form: tuple[str, ...]) -> None:
    with served(World(OLD, pods_of(OLD, "old")), tmp_path) as server:
        ran = ran_unread(server.kubeconfig, "status", "ingester", "--no-wait", *form)

    assert (ran.returncode, ran.stderr) == (4, "")


@pytest.mark.parametrize(
    ("words", "code"),
    [(("explain", "nobody"), 3), (("pause", "nobody"), 3), (("undo", "ingester"), 1), (("get", "--wide"), 2)],
)
def test_a_failure_is_one_though_nobody_reads_why(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    """`fairlead undo ingester 2>&1 | head -1` changes nothing without `--yes`, whoever has left."""
    with served(World(OLD, pods_of(OLD, "old")), tmp_path) as server:
        assert ran_unread(server.kubeconfig, *words, errors=True).returncode == code


@pytest.mark.skipif(not FULL.exists(), reason="this system has no disk that is always full")
@pytest.mark.parametrize("command", ["watch", "status"])
def test_a_disk_that_is_full_while_somebody_looks_is_told_in_one_sentence(tmp_path: Path, command: str) -> None:
    with served(World(OLD, pods_of(OLD, "old")), tmp_path) as server, FULL.open("w") as full:
        ran = subprocess.run(
            [*FAIRLEAD, command, "ingester", "--kubeconfig", server.kubeconfig],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert ran.stderr == (
        "fairlead: the output cannot be written (no space left on device): make room, or write elsewhere\n"
    )
    assert ran.returncode == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("hash -f -", "standard input holds no Materialize of materialize.cloud: name a file that does"),
        (
            "replay -",
            "there are no recorded rounds in it: name a file or folder that `fairlead operator --record` keeps",
        ),
        ("api convert -f - --to v2 --crd -", "standard input holds no CustomResourceDefinition"),
    ],
)
def test_input_that_was_closed_from_the_start_is_empty(words: str, said: str) -> None:
    ran = subprocess.run(
        ["/bin/sh", "-c", '"$@" <&-', "sh", sys.executable, "-m", "fairlead", *words.split()],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode in (1, 2)
    assert ran.stderr.startswith(f"fairlead: {said}")
