"""What holds for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.planes import Planes

# The same examples on every run and every machine, so that a red run is red again; `soak` looks further.
settings.register_profile("default", derandomize=True, deadline=None)
settings.register_profile("soak", derandomize=False, deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def planes() -> Iterator[Planes]:
    """The real control planes of this session, none of them started before a test wants it."""
    planes = Planes()
    yield planes
    planes.close()
