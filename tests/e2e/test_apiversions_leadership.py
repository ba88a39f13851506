"""Two versions of the operator and one Lease: one acts at a time, and a lower one does not come back unasked."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from fairlead.contracts.plans.kinds import ROLLOUT_TRAITS
from fairlead.core.controller_version import CONTROLLER_VERSION
from fairlead.engine.decide.downgrade import MAX_OPERATOR_VERSION, OPERATOR_VERSION
from fairlead.engine.decide.guard import VersionPolicy
from kubeloop import clock
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS, LEASES
from kubeloop.request import Request, Response, Stream, Transport
from tests.e2e.clusters import Site, everywhere
from tests.e2e.installing import define
from tests.e2e.operator_versions import copy_of, environment, program
from tests.e2e.plans import definitions, with_traits
from tests.e2e.processes import started
from tests.e2e.widget_operators import WidgetOperator, a_widget, defined, found, told
from tests.widgets.decide import Settings
from tests.widgets.kinds import WIDGETS

LEASE = "fairlead-operator"
OLD = VersionPolicy(own="1.2.0", minimum="1.0.0")
NEW = VersionPolicy(own="1.3.0", minimum="1.0.0")
SPEC = {"paint": {"colour": "red"}}
WITHIN = 25.0
"""Seconds from the death of a leader to the first act of the next."""


class Mortal:
    """The transport of a process that can be killed: then nothing of it reaches the cluster any more."""

    def __init__(self, transport: Transport, name: str, wrote: list[str]) -> None:
        self.dead = False
        self._transport, self._name, self._wrote = transport, name, wrote

    async def send(self, request: Request) -> Response:
        if self.dead:
            await asyncio.Event().wait()
        if request.method != "GET" and not any(each in request.path for each in ("/leases", "/events")):
            self._wrote.append(self._name)
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        if (close := getattr(self._transport, "close", None)) is not None:
            await close()


class Replica:
    """An operator whose writes are noted under its version."""

    def __init__(self, site: Site, policy: VersionPolicy, wrote: list[str]) -> None:
        self.operator = WidgetOperator(site, Settings(), policy)
        self._mortal = Mortal(site.ground.transport("admin"), policy.own, wrote)
        self._site = site
        self._task = site.start(self.operator(self._mortal))

    async def kill(self) -> None:
        self._mortal.dead = True
        await self._site.stop(self._task)

    async def end(self) -> None:
        """As after a signal: the Lease is given back."""
        await self._site.stop(self._task)


async def lease_of(site: Site) -> dict[str, str]:
    lease = await site.get(LEASES, LEASE)
    return {} if lease is None else lease["metadata"].get("annotations", {})


async def handled_by(site: Site, resource: Any, name: str, version: str) -> None:
    async def is_handled() -> bool:
        metadata = (await found(site, resource, name))["metadata"]
        return bool(metadata.get("annotations", {}).get(CONTROLLER_VERSION) == version and metadata.get("finalizers"))

    await site.until(is_handled, every=0.1)


async def highest(site: Site, version: str) -> None:
    async def is_noted() -> bool:
        noted = await lease_of(site)
        return (noted.get(OPERATOR_VERSION), noted.get(MAX_OPERATOR_VERSION)) == (version, version)

    await site.until(is_noted, every=0.1)


@everywhere(controllers=False, on=("sim",))
async def test_a23_one_version_acts_at_a_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """I10 and I16: writes of two processes never mix, and the next one is soon there."""
    await defined(site, monkeypatch)
    await site.history.follow(EVENTS)
    wrote: list[str] = []
    old = Replica(site, OLD, wrote)
    await a_widget(site, "a", SPEC)
    await handled_by(site, WIDGETS, "a", "1.2.0")
    await highest(site, "1.2.0")
    new = Replica(site, NEW, wrote)
    await site.until(lambda: bool(new.operator.log.of("waiting for the lease")), every=0.1)

    await old.kill()
    died = clock.monotonic()
    await a_widget(site, "b", SPEC)
    await handled_by(site, WIDGETS, "b", "1.3.0")
    assert clock.monotonic() - died < WITHIN
    await highest(site, "1.3.0")
    await new.end()
    assert runs(wrote) == ["1.2.0", "1.3.0"]

    again = Replica(site, OLD, wrote)
    await site.until(lambda: bool(again.operator.log.of("the Lease is left alone")), every=0.1)
    await a_widget(site, "c", SPEC)
    await asyncio.sleep(60)  # in virtual time: many attempts
    assert await site.get(STATEFULSETS, "c") is None
    assert (await lease_of(site))[MAX_OPERATOR_VERSION] == "1.3.0"
    assert len(await told(site, LEASE, "DowngradeRefused")) == 1
    await again.end()
    assert runs(wrote) == ["1.2.0", "1.3.0"]

    released = clock.monotonic()
    Replica(site, structs.replace(OLD, allow_downgrade=True), wrote)
    await handled_by(site, WIDGETS, "c", "1.2.0")
    assert clock.monotonic() - released < 5
    await highest(site, "1.2.0")
    assert runs(wrote) == ["1.2.0", "1.3.0", "1.2.0"]


@with_traits(controllers=False, on=("real",))
async def test_a23_programs_of_two_versions(site: Site, tmp_path: Path) -> None:
    await define(site, *definitions())
    await site.history.follow(EVENTS)
    old, new = (copy_of(version, tmp_path) for version in ("1.2.0", "1.3.0"))
    async with started(program(site, "old-1"), environment(old)) as first:
        await a_trait(site, "a")
        await handled_by(site, ROLLOUT_TRAITS, "a", "1.2.0")
        async with started(program(site, "new-1"), environment(new)) as second:
            await second.said("waiting for the lease")
            first.process.kill()
            died = clock.monotonic()
            await a_trait(site, "b")
            await handled_by(site, ROLLOUT_TRAITS, "b", "1.3.0")
            assert clock.monotonic() - died < WITHIN
            await highest(site, "1.3.0")
            assert await second.stop() == 0
    given_back = (await found(site, LEASES, LEASE))["spec"]
    assert given_back["holderIdentity"] == ""

    async with started(program(site, "old-2"), environment(old)) as third:
        await a_trait(site, "c")
        await third.said("the Lease is left alone")
        await site.until(lambda: told(site, LEASE, "DowngradeRefused"), every=0.1)
        assert (await found(site, LEASES, LEASE))["spec"] == given_back
        assert await third.stop() == 0
    assert "finalizers" not in (await found(site, ROLLOUT_TRAITS, "c"))["metadata"]

    async with started(program(site, "old-3", "--allow-downgrade"), environment(old)) as fourth:
        await handled_by(site, ROLLOUT_TRAITS, "c", "1.2.0")
        await highest(site, "1.2.0")
        await fourth.said("object left alone")
        assert await fourth.stop() == 0
    annotations = (await found(site, ROLLOUT_TRAITS, "b"))["metadata"]["annotations"]
    assert annotations[CONTROLLER_VERSION] == "1.3.0"


async def a_trait(site: Site, name: str) -> None:
    """Its workload is not there, so that nothing comes of it but a claim of the object."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "absent"}
    spec = {"targetRef": target, "rolloutPlan": {"targetSize": 1}}
    await site.create(ROLLOUT_TRAITS, {"metadata": {"name": name}, "spec": spec})


def runs(wrote: list[str]) -> list[str]:
    """Who wrote, each for as long as nobody else did."""
    return [each for index, each in enumerate(wrote) if index == 0 or wrote[index - 1] != each]
