"""At most one leader, whatever fails; a leader again as soon as it is safe."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from fairlead.api.core import LEASES
from fairlead.api.meta import Ref
from fairlead.kube import clock
from fairlead.kube.election import Election, LostLease
from fairlead.kube.errors import NotLeader, TransportError
from fairlead.kube.request import Request, Response
from fairlead.sim.time import run
from tests.kube.scripted import Scripted, Tree, failure

LEASE = Ref(LEASES, "ns", "fairlead")
PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/fairlead"


class Candidate:
    """A process that wants to lead, comes back after a loss, and notes when it led."""

    def __init__(self, api: Scripted, name: str, *, seed: int = 0, duration: float = 15) -> None:
        self.api = api
        self.election = Election(api.client(), LEASE, name, seed=seed, duration=duration)
        self.leading = asyncio.Event()
        self.ended: list[str] = []
        self.task: asyncio.Task[None] | None = None

    async def lead(self) -> None:
        self.leading.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.leading.clear()
            self.ended.append("open" if self.passes() else "closed")

    def passes(self) -> bool:
        try:
            self.election.gate()
        except NotLeader:
            return False
        return True

    def knows(self, api: Scripted) -> bool:
        """Whether it has seen the present lease, which is what its safety after a deletion rests on."""
        uid: str = api.objects[PATH]["metadata"]["uid"]
        return self.election._seen is not None and uid.encode() in bytes(self.election._seen.metadata)

    def start(self) -> Candidate:
        self.task = asyncio.create_task(self.election.run(self.lead))
        return self

    async def stop(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def play(scenario: Callable[[], Awaitable[None]], seed: int = 0) -> None:
    async def whole() -> None:
        await scenario()

    run(whole(), seed=seed, steps=200_000)


def spec(api: Scripted) -> Tree:
    found: Tree = api.objects[PATH]["spec"]
    return found


def a_lease(holder: str, **fields: object) -> Tree:
    record = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 3, **fields}
    return {"metadata": {"name": "fairlead", "namespace": "ns", "labels": {"kept": "yes"}}, "spec": record}


async def unreachable(_request: Request, _when: str) -> Response | None:
    raise TransportError("no route")


def test_the_first_candidate_creates_the_lease_and_leads() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()

        assert one.passes()
        assert one.election.holder == "one"
        assert spec(api) == {
            "holderIdentity": "one",
            "leaseDurationSeconds": 15,
            "leaseTransitions": 0,
            "acquireTime": spec(api)["renewTime"],
            "renewTime": clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        await one.stop()

    play(scenario)


def test_a_held_lease_is_renewed_and_keeps_its_time_of_acquisition() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        acquired = spec(api)["acquireTime"]

        await asyncio.sleep(100)

        assert one.passes()
        assert spec(api)["acquireTime"] == acquired < spec(api)["renewTime"]
        assert spec(api)["leaseTransitions"] == 0
        assert len(api.asked("GET")) == 1, "a renewal is one write"
        await one.stop()

    play(scenario)


def test_a_second_candidate_waits_while_the_first_renews() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        two = Candidate(api, "two").start()
        await asyncio.sleep(300)

        assert not two.leading.is_set()
        assert not two.passes()
        assert two.election.holder == "one"
        await two.stop()
        await one.stop()

    play(scenario)


@pytest.mark.parametrize("renew_time", ["1999-01-01T00:00:00.000000Z", "2199-01-01T00:00:00.000000Z"])
def test_the_clock_of_the_holder_is_not_trusted(renew_time: str) -> None:
    """A dead holder's lease is taken after its own duration as measured here, whatever times its record carries."""

    async def scenario() -> None:
        api = Scripted()
        api._store(PATH, a_lease("dead", leaseDurationSeconds=40, renewTime=renew_time))
        one = Candidate(api, "one").start()
        await asyncio.sleep(39.9)
        assert not one.leading.is_set()

        await asyncio.sleep(5)

        assert one.passes()
        assert spec(api)["leaseTransitions"] == 4
        assert api.objects[PATH]["metadata"]["labels"] == {"kept": "yes"}
        await one.stop()

    play(scenario)


def test_a_lease_that_was_given_back_is_taken_at_once() -> None:
    async def scenario() -> None:
        api = Scripted()
        api._store(PATH, a_lease("", leaseDurationSeconds=1))
        one = Candidate(api, "one").start()
        await one.leading.wait()

        assert clock.monotonic() == 0
        await one.stop()

    play(scenario)


def test_fields_of_the_lease_that_are_not_ours_survive() -> None:
    async def scenario() -> None:
        api = Scripted()
        api._store(PATH, a_lease("", preferredHolder="somebody"))
        one = Candidate(api, "one").start()
        await one.leading.wait()
        await asyncio.sleep(10)
        await one.stop()

        assert spec(api)["preferredHolder"] == "somebody"
        assert api.objects[PATH]["metadata"]["labels"] == {"kept": "yes"}

    play(scenario)


def test_cancelling_ends_the_work_first_and_then_gives_the_lease_back() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        await asyncio.sleep(5)
        await one.stop()

        assert one.ended == ["open"]
        assert not one.passes()
        assert (spec(api)["holderIdentity"], spec(api)["leaseDurationSeconds"]) == ("", 1)
        assert one.election.holder == ""
        two = Candidate(api, "two").start()
        await asyncio.wait_for(two.leading.wait(), 0.1)
        assert spec(api)["leaseTransitions"] == 1
        await two.stop()

    play(scenario)


def test_the_lease_is_renewed_while_the_cancelled_work_still_ends() -> None:
    async def scenario() -> None:
        api = Scripted()
        election = Election(api.client(), LEASE, "one")
        open_at_end = []

        async def slow_to_end() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(30)
                election.gate()
                open_at_end.append(True)

        task = asyncio.create_task(election.run(slow_to_end))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        assert open_at_end == [True]
        assert spec(api)["holderIdentity"] == ""

    play(scenario)


def test_a_release_that_gets_no_answer_is_given_up_in_time() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()

        async def silent(_request: Request, _when: str) -> Response | None:
            await asyncio.sleep(3600)
            return None

        api.fault = silent
        before = clock.monotonic()
        await one.stop()

        assert clock.monotonic() - before <= one.election.write_timeout < 5
        assert not one.passes()

    play(scenario)


def test_a_candidate_that_is_cancelled_while_waiting_leaves_the_lease_alone() -> None:
    async def scenario() -> None:
        api = Scripted()
        api._store(PATH, a_lease("other"))
        one = Candidate(api, "one").start()
        await asyncio.sleep(5)
        await one.stop()

        assert spec(api)["holderIdentity"] == "other"
        assert api.asked("PUT") == []

    play(scenario)


def test_a_taking_whose_answer_was_lost_is_given_back_on_exit() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def lose_answers(request: Request, when: str) -> None:
            if request.method == "POST" and when == "after":
                raise TransportError("lost")

        api.fault = lose_answers
        one = Candidate(api, "one").start()
        await asyncio.sleep(0.1)
        assert spec(api)["holderIdentity"] == "one"
        assert not one.leading.is_set()

        await one.stop()

        assert spec(api)["holderIdentity"] == ""

    play(scenario)


def test_the_end_of_the_work_is_the_end_of_the_election() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def short() -> None:
            await asyncio.sleep(5)

        await Election(api.client(), LEASE, "one").run(short)

        assert clock.monotonic() == 5
        assert spec(api)["holderIdentity"] == ""

    play(scenario)


def test_a_failure_of_the_work_is_raised_as_it_is_and_the_lease_given_back() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def broken() -> None:
            await asyncio.sleep(5)
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            await Election(api.client(), LEASE, "one").run(broken)

        assert spec(api)["holderIdentity"] == ""

    play(scenario)


def test_a_leader_that_cannot_renew_closes_its_gate_at_the_deadline_and_ends_its_work() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        api.fault = unreachable
        await asyncio.sleep(9.9)
        assert one.passes()

        await asyncio.sleep(0.2)

        assert not one.passes()
        assert one.ended == ["closed"]
        with pytest.raises(LostLease, match=r"10 seconds.*no route"):
            await one.task  # type: ignore[misc]

    play(scenario)


def test_a_paused_process_finds_its_gate_closed_before_anything_else_runs() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        assert one.passes()

        asyncio.get_running_loop()._now += 10.0  # type: ignore[attr-defined]

        assert not one.passes()
        await one.stop()

    play(scenario)


def test_the_time_of_a_renewal_counts_from_its_sending() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def slow(request: Request, when: str) -> None:
            if request.method == "POST" and when == "after":
                await asyncio.sleep(3)
                api.fault = unreachable

        api.fault = slow
        one = Candidate(api, "one").start()
        await one.leading.wait()
        assert clock.monotonic() == 3
        await asyncio.sleep(6.9)
        assert one.passes()

        await asyncio.sleep(0.2)

        assert not one.passes()
        await one.stop()

    play(scenario)


def test_a_leader_that_sees_another_holder_stops_at_its_next_renewal() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        stolen = a_lease("thief")
        api._store(PATH, stolen)
        await asyncio.sleep(2.1)

        assert not one.passes()
        with pytest.raises(LostLease, match="thief"):
            await one.task  # type: ignore[misc]
        assert spec(api) == stolen["spec"], "the lease of another is not given back"

    play(scenario)


def test_a_lease_that_somebody_else_touched_is_still_ours() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        touched = api.objects[PATH]
        touched["metadata"]["labels"] = {"touched": "yes"}
        api._store(PATH, touched)
        await asyncio.sleep(60)

        assert one.passes()
        assert api.objects[PATH]["metadata"]["labels"] == {"touched": "yes"}
        await one.stop()

    play(scenario)


def test_a_lease_deleted_under_its_holder_is_made_anew_by_it() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        two = Candidate(api, "two").start()
        await asyncio.sleep(5)
        api._remove(PATH)
        # The candidate looks before the holder does, and must not take it for free.
        await asyncio.sleep(30)

        assert one.passes()
        assert not two.passes()
        assert spec(api)["holderIdentity"] == "one"
        await two.stop()
        await one.stop()

    play(scenario)


def test_a_lease_deleted_under_its_holder_and_made_by_another_ends_the_leadership() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()

        async def steal(request: Request, when: str) -> None:
            """Another process creates the lease just before the holder does."""
            if request.method == "POST" and when == "before":
                api.fault = None
                api._store(PATH, a_lease("thief"))

        api.fault = steal
        api._remove(PATH)
        await asyncio.sleep(2.1)

        assert not one.passes()
        with pytest.raises(LostLease, match="thief"):
            await one.task  # type: ignore[misc]

    play(scenario)


def test_of_two_that_create_the_lease_at_once_one_leads_and_the_other_knows_it() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def slow_reads(request: Request, when: str) -> None:
            if request.method == "GET" and when == "after" and PATH not in api.objects:
                await asyncio.sleep(1)

        api.fault = slow_reads
        one, two = Candidate(api, "one", seed=1).start(), Candidate(api, "two", seed=2).start()
        await asyncio.sleep(1.5)

        assert [one.passes(), two.passes()].count(True) == 1
        assert one.election.holder == two.election.holder != ""
        await one.stop()
        await two.stop()

    play(scenario)


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
