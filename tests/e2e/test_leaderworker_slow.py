"""Admission webhooks of others that are slow, or that nobody answers: every write waits for them, and rollouts go on.

Only in virtual time: each write takes seconds.
"""

from __future__ import annotations

import pytest

from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.leaderworker_play import SECOND, begin, image_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets
from tests.e2e.meddling import Reviewed

SECONDS = 6.0
"""Longer than a write may take at first."""


@pytest.mark.parametrize("plural", ["controllerrevisions", "statefulsets", "leaderworkersets"])
@with_sets(on=("sim",))
async def test_a_rollout_waits_for_slow_admission_and_goes_on(site: Site, plural: str) -> None:
    play = await begin(site)
    judged(play)
    await play.create(a_set(replicas=2))
    await play.available()
    await play.at_rest()
    await play.kill()

    play.start(Reviewed(site.ground.transport("admin"), plural, SECONDS))
    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and {image_of(pod) for pod in play.pods(set="a")} == {SECOND})
    await play.until(lambda: len(play.keys()) == 1)

    assert {each.status // 100 for each in play.sent if each.plural == plural} <= {2, 4}
