"""At most one leader, whatever fails."""

from __future__ import annotations

import asyncio
import random

import pytest

from kubeloop import clock
from kubeloop.election import Election
from kubeloop.errors import TransportError
from kubeloop.request import Request, Response
from tests.kubeloop.candidates import LEASE, PATH, Candidate, play
from tests.kubeloop.scripted import Scripted, failure


def test_settings_that_cannot_be_safe_are_refused() -> None:
    with pytest.raises(ValueError, match="duration > renew deadline"):
        Election(Scripted().client(), LEASE, "one", duration=10, renew_deadline=10)


class Chaos:
    """An API that fails requests before and after carrying them out, hangs and is slow, more or less of the time."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.share = 0.0

    async def __call__(self, _request: Request, _when: str) -> Response | None:
        await asyncio.sleep(self.rng.choice([0, 0.01, 0.3]))
        if self.rng.random() >= self.share:
            return None
        match self.rng.randrange(4):
            case 0:
                raise TransportError("broken")
            case 1:
                await asyncio.sleep(self.rng.uniform(0, 20))
                return None
            case 2:
                return failure(500)
            case _:
                return failure(429, headers={"retry-after": "1"})

    def interfere(self, api: Scripted, candidates: list[Candidate]) -> None:
        """Now and then the lease is deleted, or a process ends; every process that has ended is started again."""
        if self.rng.random() < 0.01:
            self.share = self.rng.choice([0.0, 0.3, 0.7, 0.95])
        if self.rng.random() < 0.005 and PATH in api.objects and all(one.knows(api) for one in candidates):
            api._remove(PATH)
        for candidate in candidates:
            assert candidate.task is not None
            if self.rng.random() < 0.002:
                candidate.task.cancel()
            if candidate.task.done():
                candidate.task.cancelled() or candidate.task.exception()
                candidate.start()


@pytest.mark.parametrize("seed", range(30))
def test_two_candidates_never_both_pass_the_gate_whatever_happens(seed: int) -> None:
    """Ten times a second, for five minutes."""

    async def scenario() -> None:
        api = Scripted()
        candidates = [Candidate(api, f"p{number}", seed=seed * 10 + number).start() for number in range(2)]
        chaos = Chaos(seed)
        api.fault = chaos
        led: list[str] = []
        for _ in range(3000):
            chaos.interfere(api, candidates)
            passing = [candidate.election._identity for candidate in candidates if candidate.passes()]
            assert len(passing) <= 1, f"both lead at {clock.monotonic()}"
            led += passing
            await asyncio.sleep(0.1)

        assert len(led) > 300
        api.fault = None
        for candidate in candidates:
            await candidate.stop()

    play(scenario, seed=seed)


@pytest.mark.parametrize("seed", range(10))
def test_a_lease_of_a_restored_backup_makes_nobody_the_leader_beside_another(seed: int) -> None:
    """It names one that led when the backup was made, and stands by now."""

    async def scenario() -> None:
        api = Scripted()
        before = Candidate(api, "before", seed=seed).start()
        await before.leading.wait()
        backup = api.backup()
        await asyncio.sleep(300)
        await before.stop()
        now = Candidate(api, "now", seed=100 + seed).start()
        await now.leading.wait()
        before.start()
        await asyncio.sleep(300 + seed / 4)
        assert now.passes()

        api.restore(backup)

        led = []
        for _ in range(600):
            await asyncio.sleep(0.1)
            passing = [one.election._identity for one in (before, now) if one.passes()]
            assert len(passing) < 2
            led += passing
        assert led[-1:], "somebody leads again"
        await before.stop()
        await now.stop()

    play(scenario)
