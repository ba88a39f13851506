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
    ],
    ids=["unknown demo", "nothing to be done", "no port"],
)
def test_a_wrong_command_line_is_answered_with_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["up", *words])

    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line
    assert code == 2


def test_a_busy_port_is_answered_with_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code = main(["up", "--port", str(taken.getsockname()[1])])

    (line,) = capsys.readouterr().err.splitlines()
    assert "choose another --port" in line
    assert code == 1
