"""`fairlead up` as a newcomer runs it: a process of its own, in real time, over real HTTPS."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.cli.main import main

FAIRLEAD = (sys.executable, "-m", "fairlead.cli.main")


def environment(home: Path) -> dict[str, str]:
    """Nothing of the user's own: no kubeconfig, no cache."""
    kept = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def test_the_demo_rolls_every_pod_and_ends_by_itself_where_nobody_watches(tmp_path: Path) -> None:
    done = subprocess.run(
        [*FAIRLEAD, "up", "--demo", "zones"],
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "12 of 12 pods are new and ready; at the worst moment 2 of them were out, in 1 zone." in done.stdout
    commands = [line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert [command.split()[0] for command in commands[1:]] == ["get", "explain", "watch"]
    assert "\x1b" not in done.stdout


def test_the_demo_of_environments_takes_over_without_a_gap_and_ends_by_itself(tmp_path: Path) -> None:
    done = subprocess.run(
        [*FAIRLEAD, "up", "--demo", "environments", "--until-done"],
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    for seen in ("generation 2 Applying 0/1", "has not found it caught up", "generation 2 Promoting 1/1"):
        assert seen in done.stdout
    assert "generation 2 serves; 2 generations were there at most, and one was ready at every moment." in done.stdout


def test_other_commands_reach_the_cluster_by_its_kubeconfig_until_ctrl_c(tmp_path: Path) -> None:
    config = tmp_path / "config"
    up = subprocess.Popen(
        [*FAIRLEAD, "up", "--kubeconfig-out", str(config)],
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert up.stdout is not None
        while "Press Ctrl-C" not in (line := up.stdout.readline()):
            assert line, "it ended before it was ready"

        asked = subprocess.run(
            [*FAIRLEAD, "get", "-A", "--kubeconfig", str(config)],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        up.send_signal(signal.SIGINT)
        code = up.wait(30)
    finally:
        up.kill()
        up.communicate()

    assert asked.returncode == 0
    assert "rollout-group" in asked.stdout + asked.stderr
    assert config.stat().st_mode & 0o077 == 0
    assert code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--demo", "nonsense"], 'no demo is named "nonsense": there is zones, environments'),
        (["--until-done"], "--until-done needs --demo"),
        (["--port", "99999"], "--port is 99999"),
        (["--speed", "0"], "--speed must be more than 0"),
    ],
    ids=["unknown demo", "nothing to be done", "no port", "no speed"],
)
def test_a_wrong_command_line_is_answered_with_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["up", *words])

    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line
    assert code == 2


MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read: no such file"),
        ("just words", "object 1 of {file} is no Kubernetes object"),
        ("a: [", "{file} is neither YAML nor JSON"),
        (MAP + "---\n" + WIDGET, "object 2 of {file}: the cluster serves no Widget in example.com/v1"),
        (MAP + "data: {'not ok': x}", "object 1 of {file}, ConfigMap settings, was refused: "),
    ],
    ids=["no file", "no object", "no YAML", "no kind", "no valid object"],
)
def test_files_that_cannot_be_applied_are_told_in_one_sentence(
    content: str | None,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = tmp_path / "objects.yaml"
    if content is not None:
        file.write_text(content)

    code = main(["up", "-f", str(file)])

    (line,) = capsys.readouterr().err.splitlines()
    assert sentence.format(file=file) in line
    assert code == 1


def test_a_folder_without_state_is_told_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["up", "--load", str(tmp_path)])

    (line,) = capsys.readouterr().err.splitlines()
    assert "name a folder that --save has written to" in line
    assert code == 1


def test_what_was_applied_and_became_of_it_is_there_after_another_start(tmp_path: Path) -> None:
    file, kept = tmp_path / "objects.yaml", tmp_path / "kept"
    file.write_text(f"{DEFINITION}---\n{WIDGET}")

    _up_until_ready(tmp_path, "-f", str(file), "--save", str(kept), "--speed", "10", end=signal.SIGTERM)
    _up_until_ready(tmp_path, "--load", str(kept), "--save", str(kept))

    lines = (kept / "cluster.jsonl").read_text().splitlines()
    assert sum('"kind":"Widget"' in line and '"name":"w"' in line for line in lines) == 1


DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""


def _up_until_ready(home: Path, *words: str, end: int = signal.SIGINT) -> None:
    """Ends it once it has said how."""
    up = subprocess.Popen(
        [*FAIRLEAD, "up", *words],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert up.stdout is not None
        while "Press Ctrl-C" not in (line := up.stdout.readline()):
            assert line, "it ended before it was ready"
        up.send_signal(end)
        assert up.wait(30) == 0
    finally:
        up.kill()
        up.communicate()


def test_a_kubeconfig_of_other_clusters_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    config = tmp_path / "config"
    config.write_text(before := "contexts: [{name: prod, context: {cluster: prod, user: me}}]\n")

    code = main(["up", "--kubeconfig-out", str(config)])

    (line,) = capsys.readouterr().err.splitlines()
    assert "is a kubeconfig of other clusters" in line
    assert (code, config.read_text()) == (1, before)


def test_a_folder_that_cannot_be_written_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").touch()

    code = main(["up"])

    (line,) = capsys.readouterr().err.splitlines()
    assert f"{tmp_path / 'file'}" in line
    assert "XDG_CACHE_HOME" in line
    assert code == 1


def test_a_busy_port_is_answered_with_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code = main(["up", "--port", str(taken.getsockname()[1])])

    (line,) = capsys.readouterr().err.splitlines()
    assert "choose another --port" in line
    assert code == 1
