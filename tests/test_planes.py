"""The real control planes of a session: shared, unless somebody has failed on one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.plane.build import Unavailable
from tests import planes as planes_module
from tests.planes import Planes

OLDER = Path("/older/kube-apiserver")


class _Plane:
    """In place of a control plane; it counts."""

    running = 0

    def __init__(self, *, controllers: bool, audited_groups: tuple[str, ...], apiserver: Path | None) -> None:
        self.controllers = controllers
        self.apiserver = apiserver

    def start(self) -> None:
        _Plane.running += 1

    def stop(self) -> None:
        _Plane.running -= 1


@pytest.fixture
def planes(monkeypatch: pytest.MonkeyPatch) -> Planes:
    monkeypatch.setattr(planes_module, "Plane", _Plane)
    monkeypatch.setattr(planes_module, "find", lambda _tell, *, build: None)
    monkeypatch.setattr(planes_module, "find_older", lambda _tell, *, build: OLDER)
    return Planes()


def test_all_share_a_plane_of_a_flavour(planes: Planes) -> None:
    first = planes.get(controllers=True)
    with planes.spoilt_by_failures(controllers=True):
        assert planes.get(controllers=True) is first
    assert planes.get(controllers=True) is first
    assert planes.get(controllers=False) is not first

    planes.close()
    assert _Plane.running == 0


def test_an_older_one_is_one_of_its_own(planes: Planes) -> None:
    older = planes.get(controllers=False, is_older=True)

    assert planes.get(controllers=False) is not older
    assert planes.get(controllers=False, is_older=True) is older
    assert vars(older)["apiserver"] == OLDER
    planes.close()
    assert _Plane.running == 0


def test_after_a_failure_the_next_one_gets_another(planes: Planes) -> None:
    spoilt, other = planes.get(controllers=True), planes.get(controllers=False)

    with pytest.raises(AssertionError), planes.spoilt_by_failures(controllers=True):
        raise AssertionError

    assert _Plane.running == 1
    assert planes.get(controllers=True) is not spoilt
    assert planes.get(controllers=False) is other
    planes.close()


def test_who_has_planes_of_its_own_needs_none_to_be_started(planes: Planes) -> None:
    assert planes.need() is None
    assert planes.need(is_older=True) == OLDER

    assert _Plane.running == 0


def test_who_needs_a_plane_is_skipped_where_there_is_none(planes: Planes, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(_tell: object, *, build: bool) -> None:
        raise Unavailable("there is no Go")

    monkeypatch.setattr(planes_module, "find", find)

    with pytest.raises(pytest.skip.Exception, match="there is no Go"):
        planes.need()
