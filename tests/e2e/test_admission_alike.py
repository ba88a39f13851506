"""Webhooks with conditions, and webhooks that answer oddly, the same on the embedded cluster and on a real server."""

from __future__ import annotations

import pytest

from tests.e2e.answers import configurations, hooks, recorded
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree

pytestmark = pytest.mark.fidelity


def differing(found: Tree, area: str) -> Tree:
    wanted = recorded("admission")[area]
    assert list(found) == list(wanted)
    return {name: each for name, each in found.items() if each != wanted[name]}


@everywhere(controllers=False)
async def test_webhooks_that_answer_oddly_are_treated_alike(site: Site) -> None:
    assert differing(await hooks(site), "hooks") == {}


@everywhere(controllers=False)
async def test_configurations_that_cannot_work_are_refused_in_the_servers_words(site: Site) -> None:
    assert differing(await configurations(site), "configurations") == {}
