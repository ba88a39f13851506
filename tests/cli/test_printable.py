"""What somebody else has written into an object or a record moves no cursor and forges no line on a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import structs

from fairlead.cli.main import main
from fairlead.cli.views.render import plain, styled
from fairlead.core.printable import on_one_line, printable
from kubeloop.objects.core import ContainerState, ContainerStatus, ContainerWaiting
from tests.builders import a_pod, a_zone
from tests.cli.test_replay import decided, line
from tests.cli.worlds import World, served

EVIL = "no\x1b]0;room\x07 here\nfairlead: all is well\r\u202e"
ZONE = a_zone("a")
WAITS = ContainerStatus(
    name="ingester", state=ContainerState(waiting=ContainerWaiting(reason="CreateContainerError", message=EVIL))
)
STUCK = (ZONE, (a_pod(ZONE, 0, "new", containers=(WAITS,)), a_pod(ZONE, 1), a_pod(ZONE, 2)))


def is_harmless(text: str) -> bool:
    return all(each.isprintable() or each == "\n" for each in text) and "\nfairlead: all is well" not in text


@pytest.mark.parametrize(
    "words",
    [
        ["get"],
        ["explain", "ingester"],
        ["explain", "\x1b]0;room\x07"],
        ["watch", "--timeout", "1s"],
        ["status", "ingester", "--no-wait"],
        ["history", "\x1b]0;room\x07"],
    ],
    ids=lambda words: words[0],
)
def test_a_message_of_a_pod_is_shown_and_not_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    with served(World(*STUCK), tmp_path) as server:
        main([*words, "--kubeconfig", server.kubeconfig])

    out, err = capsys.readouterr()
    assert is_harmless(out)
    assert is_harmless(err)
    assert "room" in out + err


def test_programs_are_told_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(World(*STUCK), tmp_path) as server:
        main(["explain", "ingester", "-o", "json", "--kubeconfig", server.kubeconfig])

    assert any("\x1b]0;room" in block["text"] for block in json.loads(capsys.readouterr().out)["blockedBy"])


def test_a_record_of_somebody_else_is_shown_and_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forged = json.loads(line(structs.replace(decided(), rule="another")))
    forged["key"] = EVIL
    (tmp_path / "rounds.jsonl").write_text(json.dumps(forged))

    main(["replay", str(tmp_path / "rounds.jsonl")])

    out, err = capsys.readouterr()
    assert is_harmless(out)
    assert is_harmless(err)
    assert "room" in out


def test_a_live_view_shows_the_same() -> None:
    drawn = [(("waiting ", "waits"), (EVIL, ""))]

    assert plain(drawn) == styled(drawn).plain.rstrip() == f"waiting {on_one_line(EVIL)}".rstrip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("as it is: ●, …, é", "as it is: ●, …, é"),
        ("two\nlines\tand\rmore", "two lines and more"),
        ("\x1b[31mred\x00\x7f\x9b", "?[31mred???"),
        ("", ""),
    ],
)
def test_a_text_keeps_its_length(text: str, shown: str) -> None:
    assert on_one_line(text) == shown
    assert len(shown) == len(text)


def test_lines_of_our_own_stay_lines() -> None:
    assert printable("one\n  two\x1b[2J") == "one\n  two?[2J"
