"""The recorder: what it prints, what it writes, and that what is committed is what the real server says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane
from tests.exchanges import recordings
from tests.exchanges.case import Case, case, get, post, ready
from tests.exchanges.cases import AREAS
from tests.exchanges.cases.samples import MAPS, a_map
from tests.planes import Planes
from tools import exchanges

MADE = case("made and read", post(MAPS, a_map()), get(f"{MAPS}/one"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One area with one case, recorded elsewhere."""
    monkeypatch.setattr(recordings, "FOLDER", tmp_path)
    monkeypatch.setattr(exchanges, "AREAS", {"small": (MADE,)})
    return tmp_path


def test_a_recording_is_read_as_it_was_written(folder: Path) -> None:
    answers = {"made and read": exchanges.embedded(MADE)}

    recordings.save("small", "v1", answers)

    assert recordings.load("small") == ("v1", answers)
    assert all(len(line) < 400 for line in (folder / "small.json").read_text().splitlines())


def test_check_is_content_with_what_the_embedded_cluster_answers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recordings.save("small", "v1", {"made and read": exchanges.embedded(MADE)})

    assert exchanges.main(["--check"]) == 0
    assert capsys.readouterr().out == "0 of 1 cases differ\n"


def test_check_tells_each_case_that_differs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = exchanges.embedded(MADE)
    answers[1]["status"] = 404
    recordings.save("small", "v1", {"made and read": answers})

    assert exchanges.main(["--check", "small"]) == 1

    told = capsys.readouterr().out
    assert "small: made and read\n" in told
    assert '-  "status": 404' in told
    assert '+  "status": 200' in told
    assert told.endswith("1 of 1 cases differ\n")


def test_check_tells_what_never_became_ready(folder: Path) -> None:
    waiting = case("waiting", ready(get(f"{MAPS}/one"), 200))

    assert "is still answered with 404" in exchanges.difference(waiting, [])


def test_a_recording_tells_what_was_added_removed_and_changed() -> None:
    was = {"gone": [{"status": 200}], "other": [{"status": 200}], "same": [{"status": 200}]}
    is_ = {"new": [{"status": 200}], "other": [{"status": 201}], "same": [{"status": 200}]}

    told = list(recordings.changes(was, is_))

    assert told[:2] == ["removed: gone", "added: new"]
    assert told[2].startswith("changed: other\n--- before\n+++ after\n")
    assert len(told) == 3


def test_an_unknown_area_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        exchanges.main(["--check", "nonsense"])

    assert "nonsense" in capsys.readouterr().err


def test_without_a_control_plane_nothing_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(_plane: Plane) -> None:
        raise Unavailable("there is none")

    monkeypatch.setattr(Plane, "start", start)

    assert exchanges.main([]) == 1
    assert capsys.readouterr().err == "there is none\n"
    assert not list(folder.iterdir())


def _some(cases: tuple[Case, ...]) -> list[Case]:
    """A few of an area, among them one of the first and one of the last."""
    return [cases[0], cases[len(cases) // 2], cases[-1]]


@pytest.mark.real
def test_what_is_committed_is_what_the_real_server_answers(planes: Planes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few cases of each area; all of them are recorded by `make record`."""
    planes.need()
    monkeypatch.setattr(exchanges, "AREAS", {area: tuple(_some(cases)) for area, cases in AREAS.items()})

    with Plane(controllers=False, accounts=True) as plane:
        release, found = asyncio.run(exchanges.record(plane, AREAS))

    for area, answers in found.items():
        committed = recordings.load(area)
        assert release == committed[0]
        assert not list(recordings.changes({name: committed[1][name] for name in answers}, answers))
