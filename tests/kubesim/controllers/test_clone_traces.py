"""The stand-in for the CloneSet controller does what OpenKruise's manager does, in every scenario that was recorded.

`make soak` holds the recordings against the manager itself. How lines are compared is said in `test_recorded_traces`.
"""

from __future__ import annotations

import pytest

from tests.e2e.clone_sets import run_clone_sets
from tests.e2e.clusters import Site, everywhere
from tests.kubesim.controllers.scenarios_clones import CLONES
from tests.kubesim.controllers.scenes import Scene
from tests.kubesim.controllers.test_recorded_traces import AFTERWARDS, play


@pytest.mark.parametrize("name", CLONES)
@everywhere(seeds=range(2), on=("sim", "kruise"), timing=True)
async def test_a_clone_set_is_brought_about_as_recorded(site: Site, name: str) -> None:
    await run_clone_sets(site)
    scene = Scene(site.client, site.namespace, site.history)

    wrong = await play(scene, "recorded_clones", name, linger=0.0 if site.real else AFTERWARDS, relax=site.real)

    assert not wrong, wrong
