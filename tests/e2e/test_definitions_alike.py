"""Odd CustomResourceDefinitions are refused alike on both clusters, to the word."""

from __future__ import annotations

import pytest

from tests.e2e.answers import definitions, recorded
from tests.e2e.clusters import Site, everywhere

pytestmark = pytest.mark.fidelity


@everywhere(controllers=False)
async def test_odd_definitions_are_refused_in_the_servers_words(site: Site) -> None:
    found = await definitions(site)

    wanted = recorded("definition")
    assert {name: each for name, each in found.items() if each != wanted.get(name)} == {}
    assert list(found) == list(wanted)
    assert all(found.values())
