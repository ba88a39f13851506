"""`fairlead up` as a newcomer runs it: a process of its own, in real time, over real HTTPS."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.cli.commands.up import typed_here
from fairlead.cli.embedded.host import HostFiles, held, running
from fairlead.cli.main import main
from kubesim import saving
from kubesim.cluster import Cluster
from tests.cli.ups import FAIRLEAD, environment, started, upped


def test_commands_to_try_next_can_be_typed_as_they_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that `python -m` found is no program, and one that is on no path is called by where it is."""
    (tmp_path / "bin").mkdir()
    for name in ("__main__.py", "bin/fairlead"):
        (tmp_path / name).touch()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))

    def typed(program: Path, folder: Path = tmp_path) -> str:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", [str(program), "up"])
        return typed_here()

    assert typed(tmp_path / "__main__.py") == "bin/python -m fairlead"
    assert typed(tmp_path / "__main__.py", Path("/")) == f"{str(tmp_path)[1:]}/bin/python -m fairlead"
    assert typed(tmp_path / "bin" / "fairlead") == "bin/fairlead"
    assert typed(tmp_path / "gone") == "fairlead"


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
    assert "as the operator says (pod fairlead)" in done.stdout
    assert "worked out by this command, because no operator" not in done.stdout
    assert "12 of 12 pods are new and ready; at the worst moment 2 of them were out, in 1 zone." in done.stdout
    commands = [line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert [command.split()[0] for command in commands[1:]] == ["get", "explain", "watch"]
    assert "The cluster ends now." in done.stdout
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
    for seen in ("generation 2 Applying 0/1", "it is catching up", "generation 2 Promoting 1/1"):
        assert seen in done.stdout
    assert "as the operator says (pod fairlead)" in done.stdout
    assert "generation 2 serves; 2 generations were there at most, and one was ready at every moment." in done.stdout


def test_the_demo_of_draining_disturbs_one_zone_at_a_time_and_says_why_pods_stay(tmp_path: Path) -> None:
    done = subprocess.run(
        [*FAIRLEAD, "up", "--demo", "drain", "--until-done"],
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    for seen in (
        "sim-node-0 is cordoned; 2 pods are to be evicted",
        "sim-node-0 is drained",
        "sim-node-1 is drained",
        "4 pods were evicted, 3 of them after their eviction was refused at first",
        "both nodes were drained; at the worst moment 1 pod of 1 zone was out.",
    ):
        assert seen in done.stdout
    assert re.search(r"sim-node-[01]: ingester-zone-([ab])-\d stays for now: 1 pod not ready in", done.stdout)


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
            timeout=120,
            check=False,
        )
        up.send_signal(signal.SIGINT)
        code = up.wait(120)
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
        (
            ["--demo", "nonsense"],
            'no demo is named "nonsense": choose zones, drain, environments, leaderworker, plans or apiversions',
        ),
        (["--until-done"], "--until-done needs --demo"),
        (["--port", "99999"], "--port is 99999"),
        (["--speed", "0"], "--speed: it must be a number above 0 and at most 100, not 0"),
        (["--speed", "fast"], "--speed: it must be a number above 0 and at most 100, not fast"),
        (["--save", ""], "--save: it is empty"),
    ],
    ids=["unknown demo", "nothing to be done", "no port", "no speed", "no number", "a variable that is not set"],
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
        (WIDGET.replace("example.com/", ""), "the cluster serves no Widget in v1: check the spelling"),
        (MAP + "data: {'not ok': x}", "object 1 of {file}, ConfigMap settings, was refused: "),
        ("# nothing", "{file} holds no objects"),
        (MAP.replace("settings", "a/b"), "object 1 of {file} has a name or namespace that cannot be one"),
        (MAP.replace("}", ", namespace: 3}"), "object 1 of {file} has a name or namespace that cannot be one"),
    ],
    ids=[
        "no file",
        "no object",
        "no YAML",
        "no kind",
        "no built-in kind",
        "no valid object",
        "nothing at all",
        "no name",
        "no namespace",
    ],
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


def test_a_demo_whose_namespace_is_taken_is_told_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "demo.yaml"
    file.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n")

    tried = _tried(tmp_path, "-f", str(file), "--demo", "zones")

    (line,) = tried.stderr.splitlines()
    assert 'namespaces "demo" already exists): leave out --demo, or the --load or -f that made it so' in line
    assert tried.returncode == 1


def test_a_folder_without_state_is_told_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["up", "--load", str(tmp_path)])

    (line,) = capsys.readouterr().err.splitlines()
    assert "name a folder that --save has written to" in line
    assert code == 1


def test_a_saved_cluster_is_not_lost_to_one_that_does_not_go_on_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cluster.jsonl").write_text("precious")

    code = main(["up", "--save", str(tmp_path)])

    (line,) = capsys.readouterr().err.splitlines()
    assert f"go on from it with --load {tmp_path}" in line
    assert (code, (tmp_path / "cluster.jsonl").read_text()) == (1, "precious")


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
    with upped(home, *words, ends=(end,)):
        pass


def _tried(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FAIRLEAD, "up", *words], env=environment(home), capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    "before",
    [
        "contexts: [{name: prod, context: {cluster: prod, user: me}}]\n",
        "contexts: [{name: fairlead-up}]\nclusters: [{name: prod}, {name: fairlead-up}]\n",
        "contexts: [3]\n",
        "contexts: 3\n",
        "my diary",
    ],
)
def test_a_kubeconfig_of_other_clusters_is_left_alone(
    before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    config = tmp_path / "config"
    config.write_text(before)

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


def test_folders_that_cannot_be_written_to_are_told_with_the_option_that_named_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (file := tmp_path / "file").touch()

    for option in ("--save", "--kubeconfig-out"):
        code = main(["up", option, str(file / "x")])

        (line,) = capsys.readouterr().err.splitlines()
        assert line == f"fairlead: {file / 'x'} cannot be written (a file is in the way): choose another {option}"
        assert code == 1


def test_a_folder_is_taken_before_anything_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else what another one saves there meanwhile would be overwritten by what was read before."""
    with held(tmp_path):
        code = main(["up", "--save", str(tmp_path), "-f", str(tmp_path / "missing.yaml")])

    assert code == 1
    assert "another `fairlead up` saves to" in capsys.readouterr().err


def test_the_last_save_comes_after_the_last_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering: list[bool] = []
    config = tmp_path / "config"

    def noted(cluster: Cluster, folder: Path) -> None:
        server = re.search(r"https://127\.0\.0\.1:(\d+)", config.read_text())
        assert server is not None
        with socket.socket() as probe:
            answering.append(probe.connect_ex(("127.0.0.1", int(server[1]))) == 0)

    async def scenario() -> None:
        with (tmp_path / "log").open("w") as log:
            async with running(HostFiles(config, log, saved=tmp_path / "kept"), None):
                pass

    monkeypatch.setattr(saving, "save", noted)
    asyncio.run(scenario())

    assert answering == [True, False]


def test_of_two_at_once_the_second_leaves_the_first_alone(tmp_path: Path) -> None:
    """Neither its kubeconfig, nor its saved state, nor its log is touched."""
    first, config = tmp_path / "first", tmp_path / "config"
    with upped(tmp_path, "--kubeconfig-out", str(first), "--save", str(tmp_path / "kept")) as said:
        before = first.read_text()
        same = _tried(tmp_path, "--kubeconfig-out", str(first))
        saving = _tried(tmp_path, "--kubeconfig-out", str(config), "--load", str(tmp_path / "kept"),
                        "--save", str(tmp_path / "kept"))  # fmt: skip
        with upped(tmp_path, "--kubeconfig-out", str(config)) as other:
            pass

    assert (same.returncode, saving.returncode) == (1, 1)
    assert "is of another `fairlead up`, at https://127.0.0.1:" in same.stderr
    assert "another `fairlead up` saves to" in saving.stderr
    assert first.read_text() == before
    assert said[-3] == f"The cluster is kept in {tmp_path}/kept; --load {tmp_path}/kept goes on from it.\n"
    assert said[-2] == f"The operator's log: {tmp_path}/cache/fairlead/up/operator.log\n"
    assert other[-2] == f"The operator's log: {tmp_path}/cache/fairlead/up/operator-2.log\n"


def test_a_kubeconfig_of_a_cluster_that_ended_is_written_anew(tmp_path: Path) -> None:
    for _ in range(2):
        _up_until_ready(tmp_path)


def test_nobody_need_read_what_it_says(tmp_path: Path) -> None:
    """A reader that leaves ends it without a word; output that was closed from the start does not matter."""
    gone = subprocess.Popen(
        [*FAIRLEAD, "up"], env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert gone.stdout is not None
    gone.stdout.close()
    _, said = gone.communicate(timeout=120)
    closed = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&-', "sh", *FAIRLEAD, "up", "--demo", "zones", "--speed", "50"],
        env=environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )

    assert (gone.returncode, said) == (0, "")
    assert (closed.returncode, closed.stderr) == (0, "")


def test_it_saves_however_often_it_is_asked_to_end(tmp_path: Path) -> None:
    kept = tmp_path / "kept" / "cluster.jsonl"
    with upped(tmp_path, "--save", str(kept.parent), ends=(signal.SIGINT, signal.SIGINT, signal.SIGTERM)):
        before = kept.stat().st_ino

    assert kept.stat().st_ino != before


def test_it_outlives_its_terminal_under_nohup(tmp_path: Path) -> None:
    with started(tmp_path, "nohup", *FAIRLEAD, "up") as (up, _):
        up.send_signal(signal.SIGHUP)

        with pytest.raises(subprocess.TimeoutExpired):
            up.wait(0.5)


def test_a_demo_that_is_interrupted_is_not_done(tmp_path: Path) -> None:
    with started(tmp_path, *FAIRLEAD, "up", "--demo", "zones", until="zones") as (up, _):
        up.send_signal(signal.SIGINT)

        assert up.wait(120) == 130


def test_a_folder_that_cannot_be_written_to_for_a_while_is_told_and_tried_again(tmp_path: Path) -> None:
    """Saving is due twice a minute, here of the cluster's."""
    kept = tmp_path / "kept"
    with started(tmp_path, *FAIRLEAD, "up", "--save", str(kept), "--speed", "100") as (up, _):
        assert up.stderr is not None
        kept.rename(tmp_path / "elsewhere")
        kept.touch()
        told = up.stderr.readline()
        kept.unlink()
        up.send_signal(signal.SIGTERM)

        assert told == f"fairlead: {kept} cannot be written (a file is in the way): it is tried again\n"
        assert up.wait(120) == 0
        assert (kept / "cluster.jsonl").exists()


def test_changes_that_could_not_be_saved_at_the_end_are_told(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with started(tmp_path, *FAIRLEAD, "up", "--save", str(kept)) as (up, _):
        kept.rename(tmp_path / "elsewhere")
        kept.touch()
        up.send_signal(signal.SIGTERM)
        _, told = up.communicate(timeout=120)

        assert (
            told == f"fairlead: {kept} cannot be written (a file is in the way): the cluster's last changes are lost\n"
        )
        assert up.returncode == 1


def test_without_a_home_it_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a container whose user nobody knows."""

    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", unknown)

    code = main(["up"])

    (line,) = capsys.readouterr().err.splitlines()
    assert "set HOME, or XDG_CACHE_HOME" in line
    assert code == 1
