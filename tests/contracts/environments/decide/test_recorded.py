"""An upgrade of the operator changes no hash and no conversion of an object that was there before."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fairlead import __version__
from tests.contracts.environments.decide import recorded
from tests.contracts.environments.decide.recorded.record import OBJECTS, made_of
from tests.contracts.environments.decide.trees import Tree

FILES = sorted(Path(recorded.__path__[0]).glob("*.json"))


def records_of(path: Path) -> dict[str, Tree]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Tree])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_objects_of_every_release_come_out_as_they_did(path: Path) -> None:
    records = records_of(path)

    made = {name: {"object": record["object"], **made_of(record["object"])} for name, record in records.items()}

    assert len(records) >= 20
    assert made == records


def test_this_release_is_recorded_with_all_its_objects() -> None:
    (path,) = [each for each in FILES if each.stem == __version__]

    assert {name: record["object"] for name, record in records_of(path).items()} == OBJECTS
