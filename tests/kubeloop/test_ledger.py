"""No decision before the cache shows our own writes, and none held up for longer than needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from kubeloop import clock
from kubeloop.informer import Informer
from kubeloop.ledger import Cache, Ledger
from kubeloop.objects.core import LEASES, PODS, Pod, PodMeta
from kubeloop.objects.meta import Ref, Resource
from kubeloop.store import Store
from kubeloop.watch import Selection
from kubesim.time import run
from tests.kubeloop.ledgers import ShownLedger
from tests.kubeloop.scripted import Scripted, a_pod, pod_ref


class Seen(Struct, eq=False):
    """A cache as the ledger sees one."""

    store: Store[Pod]
    version: str = ""
    listed_at: float = float("-inf")
    selection: Selection = Selection(PODS)

    def ask_for_list(self) -> None:
        raise AssertionError("a ledger only says of whom to ask for one")


def a_cache(*pods: Pod, version: str = "") -> Seen:
    store: Store[Pod] = Store()
    for pod in pods:
        store.put(pod)
    return Seen(store, version)


def seen(name: str, version: str, *, uid: str = "", going: bool = False) -> Pod:
    when = datetime(2026, 1, 1, tzinfo=UTC) if going else None
    return Pod(PodMeta(name, uid or f"uid-{name}", version, namespace="ns", deletion_timestamp=when))


def in_(cache: Cache) -> Mapping[Resource, Cache]:
    return {PODS: cache}


def play(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario()

    run(whole(), steps=100_000)


def test_a_write_is_pending_until_its_version_or_a_newer_one_is_seen() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        ledger.wrote("rollout", pod_ref("a"), "100")

        assert ledger.pending_in("rollout", in_(a_cache(seen("a", "99")))) == (pod_ref("a"),)
        assert ledger.pending_in("rollout", in_(a_cache(seen("a", "100")))) == ()
        assert ledger.pending_in("rollout", in_(a_cache(seen("a", "99")))) == (), "what was visible is forgotten"

        ledger.wrote("rollout", pod_ref("a"), "9")
        assert ledger.pending_in("rollout", in_(a_cache(seen("a", "10")))) == ()

    play(scenario)


def test_a_creation_is_pending_while_the_object_is_absent() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        ledger.wrote("rollout", pod_ref("a"), "100")

        assert ledger.pending_in("rollout", in_(a_cache(version="99"))) == (pod_ref("a"),)

    play(scenario)


def test_a_write_to_an_object_that_is_gone_again_is_visible_once_the_cache_has_come_that_far() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        ledger.wrote("rollout", pod_ref("a"), "100")

        assert ledger.pending_in("rollout", in_(a_cache(version="101"))) == ()

    play(scenario)


def test_a_creation_is_not_taken_for_visible_because_an_earlier_incarnation_still_is() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        ledger.wrote("rollout", pod_ref("a", uid="uid-new"), "100")

        assert ledger.pending_in("rollout", in_(a_cache(seen("a", "90", uid="uid-old")))) != ()
        assert ledger.pending_in("rollout", in_(a_cache(seen("a", "110", uid="uid-newer")))) == ()

    play(scenario)


def test_versions_that_are_no_numbers_must_be_equal() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        ledger.wrote("rollout", pod_ref("a"), "b")

        assert ledger.pending_in("rollout", in_(a_cache(seen("a", "c")))) != ()
        assert ledger.pending_in("rollout", in_(a_cache(seen("a", "b")))) == ()

    play(scenario)


def test_a_deletion_is_pending_until_the_object_is_absent_going_or_another() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        visible = [a_cache(), a_cache(seen("a", "5", going=True)), a_cache(seen("a", "5", uid="uid-other"))]
        for cache in visible:
            ledger.deleted("rollout", pod_ref("a"))

            assert ledger.pending_in("rollout", in_(a_cache(seen("a", "500"), version="500"))) == (pod_ref("a"),)
            assert ledger.pending_in("rollout", in_(cache)) == ()

    play(scenario)


def test_a_deletion_without_a_uid_waits_for_absence_or_the_mark() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        nameless = Ref(PODS, "ns", "a")
        ledger.deleted("rollout", nameless)

        assert ledger.pending_in("rollout", in_(a_cache(seen("a", "5")))) == (nameless,)
        assert ledger.pending_in("rollout", in_(a_cache())) == ()

    play(scenario)


def test_a_written_version_is_settled_by_any_list_that_began_later() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        await asyncio.sleep(5)
        ledger.wrote("rollout", pod_ref("a"), "900")
        cache = a_cache()

        cache.listed_at = 5.0
        assert ledger.pending_in("rollout", in_(cache)) == (pod_ref("a"),), "begun at the same moment is not later"
        cache.listed_at = 5.1
        assert ledger.pending_in("rollout", in_(cache)) == ()

    play(scenario)


def test_an_unknown_outcome_is_settled_by_nothing_but_a_list_that_begins_when_it_must_be_over() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10, settle=7)
        await asyncio.sleep(5)
        ledger.unknown("rollout", pod_ref("a"))
        cache = a_cache(seen("a", "900"), version="900")

        cache.listed_at = 11.9
        assert ledger.pending_in("rollout", in_(cache)) == (pod_ref("a"),), "the server may still be at it"
        cache.listed_at = 12.0
        assert ledger.pending_in("rollout", in_(cache)) == ()

    play(scenario)


def test_an_unknown_outcome_asks_for_a_list_as_soon_as_one_tells() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10, settle=7)
        ledger.caches = in_(a_cache())
        ledger.unknown("rollout", pod_ref("a"))
        await asyncio.sleep(6.9)
        assert ledger.late("rollout") == ()

        await asyncio.sleep(0.1)

        assert ledger.late("rollout") == (PODS,)

    play(scenario)


def test_a_write_in_flight_is_pending_whatever_the_caches_show_and_asks_for_no_list() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        lease = Ref(LEASES, "ns", "lease")
        cache = a_cache(version="900")
        with ledger.in_flight([("one", pod_ref("a")), ("two", lease)]):
            await asyncio.sleep(100)
            cache.listed_at = 50.0

            assert ledger.pending_in("one", in_(cache)) == (pod_ref("a"),)
            assert ledger.pending_in("two", in_(cache)) == (lease,), "nobody caches leases, but it is not over"
            assert ledger.pending_in("three", in_(cache)) == ()
            assert ledger.late("one") == ()

        assert ledger.pending_in("one", in_(cache)) == ()
        assert ledger._expected == {}

    play(scenario)


def test_a_scope_never_waits_for_the_writes_of_another() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=0)
        ledger.unknown("one", pod_ref("a"))
        ledger.wrote("two", pod_ref("b"), "100")

        assert ledger.pending_in("two", in_(a_cache(seen("b", "100")))) == ()
        assert ledger.pending_in("three", in_(a_cache())) == ()
        assert ledger.late("two") == ()
        assert ledger.pending_in("one", in_(a_cache())) == (pod_ref("a"),)

    play(scenario)


def test_a_resource_that_nobody_caches_is_not_waited_for() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        ledger.wrote("rollout", Ref(LEASES, "ns", "lease"), "100")

        assert ledger.pending_in("rollout", in_(a_cache())) == ()

    play(scenario)


def test_only_resources_whose_writes_outlast_the_patience_are_overdue() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(catch_up_seconds=10)
        ledger.caches = in_(a_cache())
        ledger.wrote("rollout", pod_ref("a"), "100")
        ledger.wrote("rollout", pod_ref("b"), "101")
        await asyncio.sleep(9)
        ledger.wrote("rollout", Ref(LEASES, "ns", "lease"), "102")
        assert ledger.late("rollout") == ()

        await asyncio.sleep(1)

        assert ledger.late("rollout") == (PODS,)

    play(scenario)


@asynccontextmanager
async def a_running_informer(api: Scripted) -> AsyncIterator[Informer[Pod]]:
    informer = Informer(api.client(), PODS, Pod, seed=1)
    task = asyncio.create_task(informer.run())
    await informer.synced.wait()
    await asyncio.sleep(2)
    try:
        yield informer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_with_a_live_watch_our_writes_become_visible_by_themselves() -> None:
    async def scenario() -> None:
        api = Scripted()
        api.put(a_pod("a"))
        ledger = ShownLedger(catch_up_seconds=10)
        async with a_running_informer(api) as informer:
            ledger.wrote("rollout", pod_ref("a"), api.put(a_pod("a", touched="yes")))
            api.remove("a")
            ledger.deleted("rollout", pod_ref("a"))
            assert len(ledger.pending_in("rollout", in_(informer))) == 2

            await asyncio.sleep(0.01)

            assert ledger.pending_in("rollout", in_(informer)) == ()

    play(scenario)


def test_with_a_frozen_watch_a_list_unblocks_the_scope() -> None:
    async def scenario() -> None:
        api = Scripted()
        for name in ("changed", "deleted", "unsure"):
            api.put(a_pod(name))
        ledger = ShownLedger(catch_up_seconds=10)
        async with a_running_informer(api) as informer:
            api.freeze()
            ledger.wrote("rollout", pod_ref("changed"), api.put(a_pod("changed", touched="yes")))
            api.remove("deleted")
            ledger.deleted("rollout", pod_ref("deleted"))
            ledger.unknown("rollout", pod_ref("unsure"))

            await asyncio.sleep(10)
            assert len(ledger.pending_in("rollout", in_(informer))) == 3
            assert ledger.late("rollout") == (PODS,)
            before = clock.monotonic()
            informer.ask_for_list()
            await asyncio.sleep(0.01)

            assert ledger.pending_in("rollout", in_(informer)) == ()
            assert ledger.late("rollout") == ()
            assert informer.store.get("ns", "deleted") is None
            assert informer.listed_at == before

    play(scenario)


class Several(Ledger):
    """A ledger on several caches of pods."""

    def __init__(self, *caches: Seen) -> None:
        super().__init__(10, lambda _: caches)


def test_a_write_is_visible_when_every_cache_shows_it() -> None:
    async def scenario() -> None:
        one, other = a_cache(seen("a", "100")), a_cache(seen("a", "99"))
        ledger = Several(one, other)
        ledger.wrote("rollout", pod_ref("a"), "100")
        await asyncio.sleep(10)

        assert ledger.pending("rollout") == (pod_ref("a"),)
        assert ledger.overdue("rollout") == (other,), "the one that shows it need not be listed"
        other.store.put(seen("a", "100"))
        assert ledger.pending("rollout") == ()

    play(scenario)


@given(
    caches=st.lists(st.tuples(st.sampled_from(["", "x", "y", "!x", "x=1", "y in (1,2)"]), st.booleans()), max_size=4),
    labels=st.dictionaries(st.sampled_from(["x", "y"]), st.just("1")),
    is_new=st.booleans(),
)
def test_a_write_waits_for_those_caches_that_select_the_object_and_do_not_show_it(
    caches: list[tuple[str, bool]], labels: dict[str, str], is_new: bool
) -> None:
    selects = {"": True, "x": "x" in labels, "y": "y" in labels, "!x": "x" not in labels, "x=1": "x" in labels}
    selects["y in (1,2)"] = "y" in labels

    async def scenario() -> None:
        made = []
        for selector, shows in caches:
            cache = a_cache(version="50")
            cache.selection = Selection(PODS, labels=selector)
            if selects[selector] and (shows or not is_new):
                cache.store.put(Pod(PodMeta("a", "u", "100" if shows else "40", namespace="ns", labels=labels)))
            made.append(cache)
        ledger = Several(*made)
        ledger.wrote("rollout", Ref(PODS, "ns", "a"), "100")

        lacks = [selects[selector] and not shows for selector, shows in caches]
        shown = [selects[selector] and shows for selector, shows in caches]
        # A set of values is not read: such a cache may hold the object until it shows that it has come further.
        unsure = any(selector == "y in (1,2)" and not selects[selector] for selector, _ in caches)
        nobody = bool(caches) and not any(shown)
        assert bool(ledger.pending("rollout")) == (any(lacks) or unsure or nobody)

    play(scenario)


def test_what_has_arrived_or_never_will_is_forgotten_also_where_nobody_writes_again() -> None:
    async def scenario() -> None:
        ledger = Ledger(10, lambda _: (), settle=5)
        for number in range(100):
            ledger.travels(pod_ref(f"pod-{number}"), b"body")
            await asyncio.sleep(1)

        assert len(ledger._travelling) <= 6
        assert not ledger.is_clear(pod_ref("pod-99"), b"other")
        assert ledger.is_clear(pod_ref("pod-90"), b"other")

    play(scenario)
