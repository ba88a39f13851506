"""Those who judge scaling in end-to-end tests: they must object to an operator that breaks its promises."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from kubeloop.calls import Call, NoReply
from kubeloop.client import Client
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, delete, patch
from tests.e2e.clusters import SimGround, Site, everywhere
from tests.e2e.endpoints import Answer, Endpoints, timestamp
from tests.e2e.scaling import delayed, following
from tests.e2e.zones import PREFIX, Zone, a_zone, deeds_on

PACE = 60.0
"""Seconds; whatever happens in a test happens in one pass."""


class Careless:
    """An operator that writes what it is told to."""

    def __init__(self, site: Site, pace: float = PACE) -> None:
        self._site = site
        self._transport = site.ground.transport("admin")
        self._client = Client(site.notes.noting(self._transport, site.notes.begin("careless", pace)))

    async def scale(self, zone: Zone, replicas: int) -> None:
        body = msgspec.json.encode({"spec": {"replicas": replicas}})
        await self._client.call(patch(Ref(STATEFULSETS, self._site.namespace, zone.name), MERGE_PATCH, body))
        await self._site.history.caught_up()

    async def terminate(self, zone: Zone, ordinal: int) -> None:
        pod = await self._site.get(PODS, f"{zone.name}-{ordinal}")
        assert pod is not None
        ref = Ref(PODS, self._site.namespace, pod["metadata"]["name"], pod["metadata"]["uid"])
        await self._client.call(delete(ref))
        await self._site.history.caught_up()

    async def close(self) -> None:
        await Client(self._transport).close()


@everywhere(controllers=False)
async def test_two_zones_scaled_in_one_pass_are_objected_to(site: Site) -> None:
    a, b = await a_zone(site, "a"), await a_zone(site, "b", annotations=following("a"))
    deeds = await deeds_on(site)
    operator = Careless(site)

    await operator.scale(a, 4)
    assert deeds.scalings == ["a: 3 to 4"]
    await operator.scale(b, 4)

    with pytest.raises(AssertionError, match="S8"):
        _ = deeds.witness
    await operator.close()


@everywhere(controllers=False)
async def test_pod_deleted_in_a_pass_that_scaled_is_objected_to(site: Site) -> None:
    a, b = await a_zone(site, "a"), await a_zone(site, "b", annotations=following("a"))
    deeds = await deeds_on(site)
    operator = Careless(site)

    await operator.scale(b, 2)
    await operator.terminate(a, 0)

    with pytest.raises(AssertionError, match="S5"):
        _ = deeds.witness
    await operator.close()


@everywhere(controllers=False)
async def test_what_a_user_scales_is_not_taken_for_the_operators(site: Site) -> None:
    a, b = await a_zone(site, "a"), await a_zone(site, "b")
    deeds = await deeds_on(site)
    operator = Careless(site)

    await a.change({"spec": {"replicas": 4}})
    await operator.scale(b, 4)

    assert deeds.scalings == ["b: 3 to 4"]
    await operator.close()


@everywhere(controllers=False)
@pytest.mark.parametrize(
    ("answers", "objection"),
    [
        pytest.param((), "without being asked", id="never asked"),
        pytest.param((Answer(500, b'{"timestamp": 1}'),), "prepared never", id="asked in vain"),
        pytest.param((timestamp(0),), "prepared never", id="not prepared"),
        pytest.param((timestamp(1), Answer(500)), "prepared never", id="not prepared any more"),
    ],
)
async def test_delayed_zone_that_loses_an_unprepared_pod_is_objected_to(
    site: Site, answers: tuple[Answer, ...], objection: str
) -> None:
    zone, pods = await delayed(site, wanted=3)
    operator = Careless(site)

    for answer in answers:
        pods.answer("a-4", "POST", answer)
        await asked(site, pods, "a-4")
    await operator.scale(zone, 4)

    with pytest.raises(AssertionError, match=f"S12 broken: a-4 was .*{objection}"):
        pods.judge()
    site.judges.clear()
    await operator.close()


@everywhere(controllers=False)
async def test_delayed_zone_that_loses_a_pod_before_the_delay_is_over_is_objected_to(site: Site) -> None:
    zone, pods = await delayed(site, wanted=3)
    operator = Careless(site)
    pods.age(a_4=60, a_3=59)

    await asked(site, pods, "a-4")
    await operator.scale(zone, 4)
    pods.judge()
    await asked(site, pods, "a-3")
    await operator.scale(zone, 3)

    with pytest.raises(AssertionError, match="S12 broken: a-3 was prepared 35"):
        pods.judge()
    site.judges.clear()
    await operator.close()


@everywhere(controllers=False, on=("sim",))
async def test_delayed_zone_that_loses_a_pod_which_was_asked_in_an_earlier_pass_is_objected_to(site: Site) -> None:
    zone, pods = await delayed(site, wanted=3)
    operator = Careless(site)
    pods.age(a_4=70, a_3=70)

    for pod in ("a-3", "a-4"):
        await asked(site, pods, pod)
    await asyncio.sleep(1)
    await operator.scale(zone, 4)
    pods.judge()
    await asyncio.sleep(1)
    await operator.scale(zone, 3)

    with pytest.raises(AssertionError, match="a-3 was scaled away without being asked in that pass"):
        pods.judge()
    site.judges.clear()


@everywhere(controllers=False, on=("sim",))
async def test_nobody_answers_for_pods_that_are_not_served(site: Site) -> None:
    _, pods = await delayed(site, wanted=3)

    with pytest.raises(NoReply, match="no such host"):
        await asked(site, pods, "a-5")

    assert pods.calls() == []


async def asked(site: Site, pods: Endpoints, pod: str) -> None:
    """A POST as the operator would send it."""
    host = f"{PREFIX}{pod}.ingester.{site.namespace}.svc.cluster.local."
    call = Call(method="POST", url=f"http://{host}:8080/prepare")
    if isinstance(site.ground, SimGround):
        await site.ground.cluster.network.call(call)
    else:
        await pods.handler(msgspec.structs.replace(call, url="/prepare", headers=(("Host", f"{host}:8080"),)))
