"""The operator around environments section 3.1 steps 1 to 5: leadership (environments B4), definitions, back-off."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import pairwise
from math import inf

import msgspec

from fairlead.contracts.environments.kinds import BALANCERS, CONSOLES, MATERIALIZES, ROLES
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.driver.perform import FRESH_SECONDS
from kubeloop import clock, request
from kubeloop.errors import NotFound
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request
from kubesim.faults import Fault
from tests.engine.estate import IMAGE, SPACE, Estate, play


def test_a_rollout_from_change_to_promotion_and_then_rest() -> None:
    async def scenario(estate: Estate) -> None:
        async with estate.operating(create_balancers=True, create_console=True):
            await estate.until(lambda: bool(estate.log.of("ready")))
            await estate.environment()
            await estate.until(lambda: estate.serves(1))

            await estate.change(environmentdImageRef=IMAGE.format(1))

            await estate.until(lambda: estate.serves(2), within=30)
            await asyncio.sleep(60)
            named = {keys["rollout"] for _, _, keys in estate.log.records if "rule" in keys and "round" not in keys}
            assert named == {"e/m", "balancer e/m", "console e/m"}
            begun = len(estate.requests)
            await asyncio.sleep(1800)
            writes = [each for _, each in estate.requests[begun:] if each.method != "GET"]
            assert {each.path.rsplit("/", 1)[1] for each in writes} <= {"orchestratord"}, "the lease alone is renewed"

    play(scenario)


def test_a_new_leader_registers_what_was_deleted_meanwhile_and_goes_on() -> None:
    async def scenario(estate: Estate) -> None:
        async with estate.operating("one") as first:
            await first.leading.wait()
            await estate.environment()
            await estate.until(lambda: estate.serves(1))
            async with estate.operating("two") as second:
                await second.ready.wait()
                await estate.client.call(request.delete(Ref(DEFINITIONS, "", f"{CONSOLES.plural}.{CONSOLES.group}")))
                await asyncio.sleep(10)
                estate.fault = lambda sent: Fault("status", status=500) if _by(sent, "one") else None
                await estate.until(second.leading.is_set, within=60)

                await estate.change(environmentdImageRef=IMAGE.format(1))

                await estate.until(lambda: estate.serves(2), within=60)

    play(scenario)


def _by(sent: Request, identity: str) -> bool:
    """Whether a lease is renewed by this replica."""
    return "/leases/" in sent.path and f'"{identity}"'.encode() in sent.body


def test_the_leader_begins_as_soon_as_the_definitions_are_there() -> None:
    """Those who list them have been told for a while that there are none, and wait longer and longer."""

    async def scenario(estate: Estate) -> None:
        late = clock.monotonic() + 15.0

        def refused(sent: Request) -> Fault | None:
            is_early = clock.monotonic() < late and "customresource" in sent.path
            return Fault("status", status=503) if is_early and sent.method == "PATCH" else None

        estate.fault = refused
        async with estate.operating() as manager:
            await estate.until(lambda: len(estate.log.of("definition registered")) == 3)
            registered = clock.monotonic()
            assert registered > late

            await manager.leading.wait()

            assert clock.monotonic() - registered < 2

    play(scenario)


def test_an_error_that_lasts_is_tried_less_and_less() -> None:
    async def scenario(estate: Estate) -> None:
        estate.fault = lambda sent: Fault("status", status=500) if f"/{ROLES.plural}/" in sent.path else None
        async with estate.operating() as manager:
            await manager.leading.wait()
            await estate.environment()
            await asyncio.sleep(1800)

            sent = [at for at, sent in estate.requests if sent.method == "PATCH" and f"/{ROLES.plural}/" in sent.path]
            tries = [after for before, after in pairwise([-inf, *sent]) if after - before > FRESH_SECONDS]
            assert 8 <= len(tries) <= 30
            assert len(sent) <= 4 * len(tries), "a write is sent again while its facts are fresh"
            gaps = [after - before for before, after in pairwise(tries)]
            assert max(gaps[:3]) < 20
            assert max(gaps) > 128, "the longest wait is between 128 and 256 seconds, unless all are looked at"
            assert estate.status().get("conditions", []) == []

    play(scenario)


def test_one_error_costs_one_wait() -> None:
    async def scenario(estate: Estate) -> None:
        once = iter([Fault("status", status=422)])
        estate.fault = lambda sent: next(once, None) if f"/{ROLES.plural}/" in sent.path else None
        async with estate.operating() as manager:
            await manager.leading.wait()
            await estate.environment()

            await estate.until(lambda: estate.serves(1), within=20)

    play(scenario)


def test_objects_that_come_to_be_stored_in_an_old_version_are_migrated_again() -> None:
    async def scenario(estate: Estate) -> None:
        ref = Ref(DEFINITIONS, "", f"{MATERIALIZES.plural}.{MATERIALIZES.group}")

        def stored() -> list[str]:
            versions: list[str] = estate.cluster.get(DEFINITIONS, "", ref.name)["status"]["storedVersions"]
            return versions

        async with estate.operating() as manager:
            await manager.leading.wait()
            await asyncio.sleep(60)
            assert stored() == ["v1alpha2"]

            body = msgspec.json.encode({"status": {"storedVersions": ["v1alpha1", "v1alpha2"]}})
            await estate.client.call(request.patch(ref, MERGE_PATCH, body, "status"))
            assert stored() == ["v1alpha1", "v1alpha2"]

            await estate.until(lambda: stored() == ["v1alpha2"], within=60)

    play(scenario)


def test_what_was_applied_is_forgotten_with_its_environment() -> None:
    async def scenario(estate: Estate) -> None:
        async with estate.operating() as manager:
            await manager.leading.wait()
            await estate.environment()
            await estate.until(lambda: estate.serves(1))
            applied = manager._controllers[0].applied
            assert applied is not None
            assert len(applied) > 3

            await estate.client.call(request.delete(Ref(MATERIALIZES, SPACE, "m")))
            await asyncio.sleep(30)

            assert len(applied) == 0

    play(scenario)


def test_a_balancer_that_somebody_keeps_deleting_is_made_again_every_ten_seconds() -> None:
    async def scenario(estate: Estate) -> None:
        async with estate.operating(create_balancers=True) as manager:
            await manager.leading.wait()
            await estate.environment()
            await estate.until(lambda: estate.serves(1))
            await asyncio.sleep(30)
            begun = len(estate.requests)

            for _ in range(3000):
                await asyncio.sleep(0.02)
                with suppress(NotFound):
                    await estate.client.call(request.delete(Ref(BALANCERS, SPACE, "m")))

            made = [
                sent
                for _, sent in estate.requests[begun:]
                if sent.method == "PATCH" and sent.path.endswith(f"/{BALANCERS.plural}/m")
            ]
            assert 4 <= len(made) <= 10

    play(scenario)


def test_who_cannot_ask_for_the_lease_says_so_and_who_stands_by_has_no_problem() -> None:
    async def scenario(estate: Estate) -> None:
        async with estate.operating("one") as first, estate.operating("two") as second:
            await estate.until(lambda: first.leading.is_set() or second.leading.is_set())
            await asyncio.sleep(120)
            assert (first.problem, second.problem) == ("", "")
            assert {leader.is_set() for leader in (first.leading, second.leading)} == {True, False}

            forbidden = Fault("status", status=403)
            estate.fault = lambda sent: forbidden if "/leases" in sent.path else None
            await asyncio.sleep(60)
            assert "cannot acquire the Lease orchestratord" in first.problem
            assert "cannot acquire the Lease orchestratord" in second.problem
            told = estate.log.of("not ready: the Lease cannot be acquired")
            assert len(told) == 2
            assert "grant get, create and update of leases in namespace ops" in told[0]["help"]

            estate.fault = lambda _: None
            await estate.until(lambda: first.leading.is_set() or second.leading.is_set())
            await estate.until(lambda: (first.problem, second.problem) == ("", ""))

    play(scenario)
