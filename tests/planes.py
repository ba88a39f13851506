"""The real control planes that a test session shares."""

from __future__ import annotations

import itertools

import pytest

from fairlead.plane.build import Unavailable, find
from fairlead.plane.launch import Plane


class Planes:
    """The session's real control planes, one per flavour, started when first wanted."""

    def __init__(self) -> None:
        self._planes: dict[bool, Plane] = {}
        self._numbers = itertools.count(1)

    def get(self, *, controllers: bool) -> Plane:
        """Skips the test when this machine has no control plane; one that does not start is a failure."""
        if controllers not in self._planes:
            try:
                find(lambda _line: None, build=False)
            except Unavailable as problem:
                pytest.skip(str(problem))
            plane = Plane(controllers=controllers)
            plane.start()
            self._planes[controllers] = plane
        return self._planes[controllers]

    def namespace(self) -> str:
        """One that no scenario has had."""
        return f"test-{next(self._numbers)}"

    def close(self) -> None:
        for plane in self._planes.values():
            plane.stop()
