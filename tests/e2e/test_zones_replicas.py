"""Two replicas of the operator with one Lease, on both clusters: webhooks on both, rounds on one, marks for both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from fairlead.contracts.zones.configuration_kinds import ZPDBS
from fairlead.contracts.zones.settings import Settings
from kubeloop import clock
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.objects.core import LEASES
from kubeloop.request import Transport
from kubesim.faults import Fault, Faulty
from tests.e2e.clusters import Site, everywhere
from tests.e2e.downscaling import BOTH, a_prepared_zone, last_downscale, scaled
from tests.e2e.endpoints import HANGING, Answer, Endpoints, endpoints
from tests.e2e.evicting import a_guarded_zone, budget, define_budgets, evict, going
from tests.e2e.history import Tree
from tests.e2e.operators import LOOK_EVERY, Operator
from tests.e2e.scaling import replicas
from tests.e2e.webhooks import register
from tests.e2e.zones import PREFIX, Play, a_zone, begin

LEASE = "fairlead-operator"
SEEDS = tuple(range(5))

Choose = Callable[[Tree], Operator]
"""Who is asked about the request of a review."""


class Service:
    """Stands before the replicas, like a Service, except that the test says who is asked."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self._work: dict[asyncio.Task[Reply], Operator] = {}

    async def webhooks(self, call: Call) -> Reply:
        operator = self.choose(msgspec.json.decode(call.body)["request"])
        work = asyncio.ensure_future(operator.webhooks(call))
        self._work[work] = operator
        try:
            await asyncio.wait([work])
            if work.cancelled():
                raise NoReply("the replica is gone")
            return work.result()
        finally:
            work.cancel()
            del self._work[work]

    def kill(self, operator: Operator) -> None:
        """What the replica had in hand ends with it."""
        for work, who in self._work.items():
            if who is operator:
                work.cancel()


class Replicas:
    """Two operators; the first leads."""

    def __init__(self, site: Site, settings: Settings | None = None) -> None:
        self.site = site
        self.first = Operator(site, lease=LEASE, identity="first", settings=settings, through=self._while_alive)
        self.second = Operator(site, lease=LEASE, identity="second", settings=settings)
        self.service = Service(lambda _: self.second)
        self._plays: list[Play] = []
        self._is_dead = False

    def _while_alive(self, transport: Transport) -> Transport:
        return Faulty(transport, lambda _request, _number: Fault("drop") if self._is_dead else None)

    async def begin(self, *names: str) -> Play:
        """Registers the webhooks and starts both."""
        await register(self.site, self.service, *(names or BOTH))
        play = await begin(self.site, self.first)
        await self.site.until(lambda: self.leads(self.first), every=LOOK_EVERY)
        self._plays = [play, await begin(self.site, self.second)]
        await self.site.until(lambda: self.second.ready, every=LOOK_EVERY)
        assert not self.leads(self.second)
        return play

    async def kill_first(self) -> None:
        """Nothing of it reaches the cluster any more, so it cannot give back its Lease either."""
        self._is_dead = True
        self.service.kill(self.first)
        await self.site.stop(self._plays[0].task)

    @staticmethod
    def leads(operator: Operator) -> bool:
        return operator.manager is not None and operator.manager.leading.is_set()


def reviews(operator: Operator) -> int:
    return len(operator.records("debug", "admission review"))


def by_zone(**operators: Operator) -> Choose:
    """By the letter of the zone that the review is about."""

    def choose(request: Tree) -> Operator:
        return operators[request["name"].removeprefix(PREFIX)[0]]

    return choose


async def two_zones(site: Site, *, delay: float = 0.0) -> Endpoints:
    """Zones a and b, whose pods take their time to prepare."""
    pods = await endpoints(site)
    for letter in "ab":
        await a_prepared_zone(site, letter, 3, pods=pods, min_time="12h")
        pods.answer(f"{letter}-2", "POST", Answer(delay=delay))
    return pods


@everywhere(controllers=False)
async def test_downscale_is_prepared_by_a_replica_that_does_not_lead(site: Site) -> None:
    pods = await two_zones(site)
    both = Replicas(site)
    await both.begin()

    allowed = await scaled(site, 2, "a")

    assert allowed.status == 200
    assert pods.called("POST") == ["a-2"]
    assert await last_downscale(site, "a") is not None
    assert (reviews(both.first), reviews(both.second) > 0) == (0, True)
    assert not both.leads(both.second)

    both.service.choose = lambda _: both.first
    denied = await scaled(site, 2, "b")

    assert denied.status == 400
    assert f"{PREFIX}a was downscaled at" in denied.text
    assert reviews(both.first) > 0


@everywhere(controllers=False)
async def test_downscale_in_progress_at_one_replica_is_known_to_the_other(site: Site) -> None:
    """By a record on a Lease: the time of the downscale is not written yet."""
    pods = await two_zones(site)
    done = asyncio.Event()
    pods.answer("a-2", "POST", Answer(after=done))
    both = Replicas(site)
    both.service.choose = by_zone(a=both.first, b=both.second)
    await both.begin()

    first = asyncio.create_task(scaled(site, 2, "a"))
    await site.until(lambda: pods.called("POST") == ["a-2"])
    second = await scaled(site, 2, "b")
    stamp = await last_downscale(site, "a")
    done.set()

    assert second.status == 400
    assert f"a downscale of {PREFIX}a" in second.text
    assert stamp is None
    assert (await first).status == 200
    assert pods.called("POST") == ["a-2"]


@everywhere(controllers=False, seeds=SEEDS)
async def test_of_two_downscales_at_once_through_different_replicas_exactly_one_is_admitted(site: Site) -> None:
    pods = await two_zones(site, delay=0.1)
    both = Replicas(site)
    both.service.choose = by_zone(a=both.first, b=both.second)
    await both.begin()

    answers = await asyncio.gather(*(scaled(site, 2, letter, client=site.client_as("admin")) for letter in "ab"))

    assert sorted(answer.status for answer in answers) == [200, 400]
    winner, loser = ("a", "b") if answers[0].status == 200 else ("b", "a")
    assert (await replicas(site, winner), await replicas(site, loser)) == (2, 3)
    assert await last_downscale(site, winner) is not None
    assert await last_downscale(site, loser) is None
    assert pods.called("POST") == [f"{winner}-2"]


@everywhere(controllers=False, seeds=SEEDS)
async def test_of_two_evictions_at_once_through_different_replicas_exactly_one_is_admitted(site: Site) -> None:
    await define_budgets(site)
    for letter in "ab":
        await a_guarded_zone(site, letter)
    await site.create(ZPDBS, budget(maxUnavailable=1))
    both = Replicas(site)
    both.service.choose = by_zone(a=both.first, b=both.second)
    await both.begin("pod-eviction")

    answers = await asyncio.gather(*(evict(site, pod, client=site.client_as("admin")) for pod in ("a-0", "b-0")))

    assert sorted(answer.status for answer in answers) == [201, 429]
    await site.history.caught_up()
    assert len(going(site)) == 1


@everywhere(controllers=False)
async def test_when_the_leader_dies_the_other_goes_on_and_has_answered_all_along(site: Site) -> None:
    pods = await endpoints(site)
    await a_prepared_zone(site, "x", 3, pods=pods, group="other")
    zone = await a_zone(site, "a")
    both = Replicas(site)
    play = await both.begin()
    await both.first.at_rest()
    assert play.deletions == ["a-0"]

    await both.kill_first()
    await zone.make_pod(0)
    answered = await scaled(site, 2, "x")

    assert answered.status == 200
    lease = await site.get(LEASES, LEASE)
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == "first"
    assert not both.leads(both.second)
    await site.until(lambda: play.deletions == ["a-0", "a-1"], within=120)
    assert both.leads(both.second)
    assert (await scaled(site, 1, "x")).status == 200
    assert both.second.failures() == 0


@everywhere(controllers=False)
async def test_mark_of_a_replica_that_died_holds_nobody_back_for_long(site: Site) -> None:
    """While it may still be at work the group waits, and no longer."""
    pods = await two_zones(site)
    pods.answer("a-2", "POST", HANGING)
    both = Replicas(site, Settings(request_timeout=3.0, pods_timeout=1.0))
    both.service.choose = by_zone(a=both.first, b=both.second)
    await both.begin()

    lost = asyncio.create_task(scaled(site, 2, "a"))
    await site.until(lambda: pods.called("POST") == ["a-2"])
    await both.kill_first()
    waits = await scaled(site, 2, "b")

    assert (await lost).status == 500
    assert waits.status == 400
    assert f"a downscale of {PREFIX}a" in waits.text

    # One request, one call to the pod and one to undo it.
    over = clock.monotonic() + 3.0 + 1.0 + 1.0
    await site.until(lambda: clock.monotonic() > over, every=0.5)
    assert (await scaled(site, 2, "b")).status == 200
    assert await replicas(site, "a") == 3
    assert pods.called("POST") == ["a-2", "b-2"]


@everywhere(controllers=False)
async def test_records_of_replicas_are_leases_beside_the_one_they_are_elected_by(site: Site) -> None:
    await two_zones(site)
    await Replicas(site).begin()

    assert (await scaled(site, 2, "a")).status == 200

    await site.history.follow(LEASES)
    names = list(site.history.objects(LEASES))
    assert LEASE in names
    assert [name.startswith(f"{LEASE}-") for name in names if name != LEASE] == [True]
