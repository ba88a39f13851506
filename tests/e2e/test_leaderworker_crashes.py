"""The operator dies before or after any of its writes, and the next one goes on: nothing is lost, or done twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from fairlead.contracts.leaderworker.kinds import MAX_GROUP_RESTARTS, RECREATE_BACK_OFF
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.core import PODS
from kubeloop.request import Request, Transport, place_of
from kubesim.faults import Fault, Faulty
from kubesim.pods.behaviour import CRASH_AFTER, CRASH_TIMES
from tests.chaos.machine import SOAKS, soaked
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, UNCOUNTED, Play, begin, image_of, owner_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.zones import change

MOST_WRITES = 90
"""More than any of these takes."""
STRIDE = 1 if SOAKS else 5
"""Writes from one death to the next; any effect may be struck in `tests/chaos/leaderworker`."""


class Death:
    """Of a process at its n-th write, before the server has it or after; from then on nothing of it is heard."""

    def __init__(self, number: int, *, after: bool, counts: Callable[[Request], bool] = lambda _: True) -> None:
        """Of the writes that `counts` says."""
        self.is_over = False
        self._counts = counts
        self._left = number
        self._last = Fault("lost-answer" if after else "timeout")

    def on(self, transport: Transport) -> Transport:
        return Faulty(transport, self._fault)

    def _fault(self, request: Request, _: int) -> Fault | None:
        if self.is_over:
            return Fault("timeout")
        if request.verb in ("get", "list", "watch") or place_of(request.path).plural in UNCOUNTED:
            return None
        if not self._counts(request):
            return None
        self._left -= 1
        self.is_over = self._left == 0
        return self._last if self.is_over else None


Deed = Callable[[Play, int], Awaitable[Callable[[], object]]]
"""Disturbs a set that is at rest, for the n-th time; answers what holds when it is at rest again."""


async def every_write(
    play: Play, deed: Deed, *, counts: Callable[[Request], bool] = lambda _: True, stride: int = 1
) -> int:
    """How many writes the deed takes; each of them, or one of so many, was the last of some process, twice."""
    deeds = 0
    for number in range(1, MOST_WRITES, stride):
        deaths = 0
        for after in (False, True):
            await play.at_rest()
            await play.kill()
            death = Death(number, after=after, counts=counts)
            play.start(death.on(play.site.ground.transport("admin")))
            deeds += 1
            is_done = await deed(play, deeds)
            await play.until(lambda death=death, is_done=is_done: death.is_over or is_done(), every=0.05)
            deaths += death.is_over
            await play.kill()
            play.start()
            await play.until(is_done, within=120, every=0.05)
        if not deaths:
            return number - 1
    raise AssertionError("it takes more writes than it should")


async def rolled(play: Play, number: int) -> Callable[[], object]:
    image = f"example.test/main:{number + 1}"
    await play.give_image(image)
    return lambda: _runs(play, image)


def _runs(play: Play, image: str) -> bool:
    """Whether all of the set does, and nothing else is left to be done."""
    return play.is_available() and len(play.keys()) == 1 and {image_of(pod) for pod in play.pods(set="a")} == {image}


async def interrupted(play: Play, number: int) -> Callable[[], object]:
    """Another rollout begins while group 1 is away."""
    first, second = (f"example.test/main:{2 * number + more}" for more in (0, 1))

    async def interrupt() -> None:
        await play.until(lambda: play.numbers() == "1/4", within=120, every=0.05)
        await play.give_image(second)

    await play.give_image(first)
    play.site.start(interrupt())
    return lambda: _runs(play, second)


async def switched(play: Play, number: int) -> Callable[[], object]:
    """All groups share one Service, or each has its own again."""
    is_shared = number % 2 == 1
    await play.change({"spec": {"networkConfig": {"subdomainPolicy": "Shared" if is_shared else "UniquePerReplica"}}})
    services = ["a"] if is_shared else ["a", "a-0", "a-1"]

    def is_switched() -> bool:
        return play.is_available() and len(play.keys()) == 1 and play.services() == services

    return is_switched


@soaked
@everywhere(on=("sim",), seeds=(0,))
@pytest.mark.parametrize(
    ("deed", "spec", "writes"),
    [
        (rolled, {"replicas": 4}, 22),
        (rolled, {"replicas": 2, "update": {"maxUnavailable": 0, "maxSurge": 1}}, 20),
        (interrupted, {"replicas": 4}, 40),
        (
            switched,
            {
                "replicas": 2,
                "update": {"maxUnavailable": 1, "maxSurge": 2},
                "networkConfig": {"subdomainPolicy": "UniquePerReplica"},
            },
            26,
        ),
    ],
    ids=["budget", "surge", "interrupted", "services"],
)
async def test_a_rollout_survives_any_death(site: Site, deed: Deed, spec: Tree, writes: int) -> None:
    """Scenarios 4, 5, 11, 12 and 17; L5; section 5.1 and section 5.2."""
    play = await begin(site)
    judged(play)
    await play.create(a_set(**spec))
    await play.available()
    taken = await every_write(play, deed, stride=STRIDE)
    assert 5 <= taken <= writes
    made = [event for event in site.history.of(CONTROLLER_REVISIONS, "ADDED") if _is_ours(event.object)]
    numbers = [event.object["revision"] for event in made]
    assert numbers == sorted(set(numbers))
    if deed is not switched:
        assert len(made) == len({event.object["data"]["spec"]["leaderWorkerTemplate"].__repr__() for event in made})


def _is_ours(revision: Tree) -> bool:
    return owner_of(revision).get("kind") == "LeaderWorkerSet"


async def bereaved(play: Play, _: int) -> Callable[[], object]:
    """A restart stays visible; of a pod that is deleted and replaced while nobody looks nothing is left to see."""
    before = play.uids(0)
    crash = {"metadata": {"annotations": {CRASH_AFTER: "10ms", CRASH_TIMES: "1"}}}
    await change(play.site, PODS, "a-0-1", crash)
    return lambda: play.is_available() and not before & play.uids(0) and play.is_whole(0, FIRST)


@soaked
@everywhere(on=("sim",))
@pytest.mark.parametrize(
    "limits", [{}, {RECREATE_BACK_OFF: "1s,5s", MAX_GROUP_RESTARTS: "99"}], ids=["at once", "counted"]
)
async def test_a_recreation_survives_any_death(site: Site, limits: dict[str, str]) -> None:
    """Scenarios 15 and 26; L5 and S11."""
    play = await begin(site)
    judged(play, budget=False)
    tree = a_set(replicas=1)
    tree["metadata"]["annotations"] = limits
    await play.create(tree)
    await play.available()
    assert 3 <= await every_write(play, bereaved, stride=STRIDE) <= 12
