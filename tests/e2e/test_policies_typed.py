"""The status of policies is written alike on both clusters, with the same warnings."""

from __future__ import annotations

import pytest

from tests.e2e.answers import policy_statuses, recorded
from tests.e2e.clusters import Site, everywhere

pytestmark = pytest.mark.fidelity


@everywhere()
async def test_policies_are_checked_against_the_types_of_what_they_are_about(site: Site) -> None:
    found = await policy_statuses(site)

    wanted = recorded("typed")
    assert {name: each for name, each in found.items() if each != wanted.get(name)} == {}
    assert list(found) == list(wanted)
