"""The real control planes that a test session shares."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairlead.plane.build import Unavailable, find
from fairlead.plane.kruise import find as find_kruise
from fairlead.plane.kruise import source
from fairlead.plane.launch import Plane
from fairlead.plane.older import find as find_older
from tests.kruise import Kruise

ACCOUNTS = "system:serviceaccounts"
"""The group of all service accounts: what they ask for, and what came of it, is in the audit log."""


class Planes:
    """The session's real control planes, one per flavour, started when first wanted."""

    def __init__(self) -> None:
        self._planes: dict[tuple[bool, bool, bool], Plane] = {}
        self._managers: dict[Plane, Kruise] = {}
        self._numbers = itertools.count(1)

    @staticmethod
    def need(*, is_older: bool = False, runs_kruise: bool = False) -> Path | None:
        """Skips the test when this machine has no control plane; the API server's program where it is an older one."""
        try:
            find(lambda _line: None, build=False)
            if runs_kruise:
                find_kruise(lambda _line: None, build=False)
                source()
            return find_older(lambda _line: None, build=False) if is_older else None
        except Unavailable as problem:
            pytest.skip(str(problem))

    def get(self, *, controllers: bool, is_older: bool = False, runs_kruise: bool = False) -> Plane:
        """Skips the test when this machine has no control plane; one that does not start is a failure.

        With OpenKruise's manager beside it, the same holds for that.
        """
        flavour = controllers, is_older, runs_kruise
        if flavour not in self._planes:
            apiserver = self.need(is_older=is_older, runs_kruise=runs_kruise)
            plane = Plane(controllers=controllers, audited_groups=(ACCOUNTS,), apiserver=apiserver)
            plane.start()
            self._planes[flavour] = plane
            if runs_kruise:
                self._managers[plane] = manager = Kruise(plane)
                manager.start()
        return self._planes[flavour]

    @contextmanager
    def spoilt_by_failures(
        self, *, controllers: bool, is_older: bool = False, runs_kruise: bool = False
    ) -> Iterator[None]:
        """Who fails may leave anything behind: the next one gets a plane of its own, and is no failure for that."""
        try:
            yield
        except BaseException:
            plane = self._planes.pop((controllers, is_older, runs_kruise), None)
            if plane is not None:
                self._stop(plane)
            raise

    def namespace(self) -> str:
        """One that no scenario has had."""
        return f"test-{next(self._numbers)}"

    def close(self) -> None:
        for plane in self._planes.values():
            self._stop(plane)

    def _stop(self, plane: Plane) -> None:
        manager = self._managers.pop(plane, None)
        if manager is not None:
            manager.stop()
        plane.stop()
