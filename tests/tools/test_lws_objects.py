"""The recorder of what releases leave: which sets a release can have, and that its files are as it writes them."""

from __future__ import annotations

import json

import pytest

from fairlead import __version__
from tools.copies import printed
from tools.lws_objects import FOLDER, OURS, SETS, UPSTREAM, name_of, wanted


def test_a_release_has_the_sets_that_it_knows_the_fields_of() -> None:
    assert wanted("0.5.1").keys() == SETS.keys() - {"claims", "held"}
    assert wanted("0.7.0").keys() == SETS.keys() - {"claims"}
    assert wanted("0.10.0") == SETS


def test_every_release_is_recorded() -> None:
    kept = {path.stem for path in FOLDER.glob("*.json")}

    assert kept >= {name_of(each) for each in (*UPSTREAM, OURS)}
    assert name_of(OURS) == f"fairlead-{__version__}"


@pytest.mark.parametrize("release", [*UPSTREAM, OURS])
def test_the_files_are_as_the_recorder_writes_them(release: str) -> None:
    text = (FOLDER / f"{name_of(release)}.json").read_text()
    items = json.loads(text)["items"]

    assert printed(items) == text
    sets = {each["metadata"]["name"] for each in items if each["kind"] == "LeaderWorkerSet"}
    assert sets == (SETS if release == OURS else wanted(release)).keys()
