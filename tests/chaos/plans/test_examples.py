"""Programs that were found by chance, each under the name of what went wrong."""

from __future__ import annotations

from kubesim.faults import Fault
from tests.chaos.plans.programs import RolloutProgram
from tests.chaos.plans.steps import BadPlan, FailRollout, Pause, Retarget, Second
from tests.chaos.plans.world import RolledSetting
from tests.chaos.steps import EndWatches, Wait


def test_a_rollout_that_ended_and_was_changed_unseen_has_not_ended() -> None:
    """Its status is about an older spec as long as the watch lags, and is no end to judge."""
    setting = RolledSetting((), kind="revisions", size=4, batches=(3, None), leased=True, latency=0.02, seed=2795)

    late = tuple(FailRollout(0, "watch", nth, Fault("lag", seconds=25.0)) for nth in range(1, 10))

    RolloutProgram(setting, (Wait(18.0), *late, EndWatches(), Wait(0.3), Retarget(3, named=True))).play()


def test_a_batch_that_becomes_the_last_once_it_is_rolled_does_not_wait_for_pods_that_nobody_brings() -> None:
    setting = RolledSetting((), kind="ordinals", size=6, leased=True, measured=True, ready_after=0.2)
    fewer = BadPlan({"rolloutBatches": [{"replicas": 1}, {}]})

    RolloutProgram(setting, (Wait(3.0), fewer)).play()


def test_of_two_rollouts_that_claim_at_once_the_one_that_comes_through_is_the_one_that_claims() -> None:
    """Both ask before either is answered; who asked last need not be who wrote."""
    setting = RolledSetting((), kind="pair", size=5, batches=(1, 2, None), leased=True, latency=0.02, routed=True)
    pauses = (Wait(0.01), Pause(paused=False)) * 5

    RolloutProgram(setting, (Wait(0.01), Pause(paused=False), Wait(0.01), Second(), *pauses)).play()
