"""The recorder of answers: what it prints and writes, and that what is committed is what the real server says."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.planes import Planes
from tools import answers


async def _nothing(_site: Site) -> Tree:
    return {}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the only recording is kept."""
    kept = tmp_path / "small.json"
    monkeypatch.setattr(answers, "RECORDINGS", {"small": answers.Recording(kept, _nothing)})
    return kept


def test_answers_are_written_a_line_for_each_and_read_as_they_were(path: Path) -> None:
    found = {"a case": [["field", "é <>"], ["other", None]], "another": [3, "x"], "none": [], "more": {"deep": True}}

    list(answers.saved(path, found))

    assert json.loads(path.read_text()) == found
    assert path.read_text().splitlines()[1:5] == [
        ' "a case": [',
        '  ["field", "é <>"],',
        '  ["other", null]',
        " ],",
    ]


def test_what_changed_is_told(path: Path) -> None:
    list(answers.saved(path, {"one": 1, "two": 2}))

    told = list(answers.saved(path, {"one": 1, "two": 3}))

    assert '- "two": 2' in told
    assert '+ "two": 3' in told
    assert told[-1] == f"{path}: changed"
    assert list(answers.saved(path, {"one": 1, "two": 3})) == [f"{path}: as before"]


def test_an_unknown_name_is_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        answers.main(["nonsense"])

    assert "nonsense" in capsys.readouterr().err
    assert not path.exists()


def test_without_a_control_plane_nothing_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(_plane: Plane) -> None:
        raise Unavailable("there is none")

    monkeypatch.setattr(Plane, "start", start)

    assert answers.main([]) == 1
    assert capsys.readouterr().err == "there is none\n"
    assert not path.exists()


@pytest.mark.real
def test_what_is_committed_of_expressions_is_what_the_real_server_says(planes: Planes) -> None:
    """No end-to-end test compares them."""
    plane = planes.get(controllers=False)

    found = asyncio.run(answers.asked(plane, "expressions"))

    assert found == json.loads(answers.RECORDINGS["expressions"].path.read_text())
