"""Applications on a site, with the operator of plans at work on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, TypeVar

from fairlead.contracts.plans.install.definitions import definitions as all_definitions
from fairlead.contracts.plans.kinds import (
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    AUTOSCALERS,
    COMPONENTS,
    CONFIGURATIONS,
    CORE_GROUP,
    ROLLOUT_TEMPLATE,
    ROLLOUT_TRAITS,
    SUCCEEDED,
)
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, Response, Stream, Transport, delete
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.plan_play import NEW, OLD, Play
from tests.e2e.zones import change

FOLLOWED = (
    ROLLOUT_TRAITS,
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    DEPLOYMENTS,
    AUTOSCALERS,
    SERVICES,
)


def definitions() -> tuple[Tree, ...]:
    """Of applications, and of RolloutTraits."""
    names = (CORE_GROUP, ROLLOUT_TRAITS.group)
    plurals = (ROLLOUT_TRAITS.plural,)
    return tuple(
        each
        for each in all_definitions()
        if each["spec"]["group"] == names[0] or each["spec"]["names"]["plural"] in plurals
    )


with_applications = partial(everywhere, definitions=definitions)
"""For scenarios that begin with `begin`."""


class Mortal:
    """A transport whose process dies after its first write, whatever it writes but Events and Leases."""

    def __init__(self, transport: Transport, dies: asyncio.Event) -> None:
        self._transport, self._dies = transport, dies

    async def send(self, request: Request) -> Response:
        if self._dies.is_set():
            await asyncio.Event().wait()
        response = await self._transport.send(request)
        is_read = request.verb in ("get", "list", "watch")
        if not is_read and not any(each in request.path for each in ("/events", "/leases")):
            self._dies.set()
            await asyncio.Event().wait()
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        if (close := getattr(self._transport, "close", None)) is not None:
            await close()


class ApplicationPlay(Play):
    async def lives(self, is_done: Callable[[], Any], most: int = 120) -> int:
        """How many operators it takes, each of which dies after its first write."""
        await self.kill()
        for life in range(1, most):
            dies = asyncio.Event()
            self.start(partial(Mortal, dies=dies))
            await self.until(lambda: dies.is_set() or is_done(), every=0.02)  # noqa: B023  (awaited here)
            await self.kill()
            await self.site.history.caught_up()
            if is_done():
                return life
        raise AssertionError(f"it does not end: {self.sent[-4:]}")

    async def apply(self, name: str, *components: Tree, template: bool = False) -> None:
        """A new Application, or another spec of one."""
        spec = {"components": [*components]}
        if self.object(APPLICATIONS, name):
            await change(self.site, APPLICATIONS, name, {"spec": spec})
            return
        annotations = {ROLLOUT_TEMPLATE: "true"} if template else {}
        metadata = {"name": name, "annotations": annotations}
        await self.site.create(APPLICATIONS, {"metadata": metadata, "spec": spec})

    async def deploy(self, target: str, source: str = "", **plan: Any) -> None:
        spec = {"targetApplicationName": target, "rolloutPlan": plan}
        if source:
            spec["sourceApplicationName"] = source
        if self.object(APPLICATION_DEPLOYMENTS, "d"):
            await change(self.site, APPLICATION_DEPLOYMENTS, "d", {"spec": spec})
            return
        await self.site.create(APPLICATION_DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})

    async def undeploy(self) -> None:
        await self.site.client.call(delete(Ref(APPLICATION_DEPLOYMENTS, self.site.namespace, "d")))

    def deployment(self) -> Tree:
        status: Tree = self.object(APPLICATION_DEPLOYMENTS, "d").get("status", {})
        return status

    def phase(self, name: str) -> str:
        return str(self.object(APPLICATIONS, name).get("status", {}).get("status", ""))

    def annotations(self, resource: Resource, name: str) -> Tree:
        found: Tree = self.object(resource, name).get("metadata", {}).get("annotations") or {}
        return found

    def rolling(self, name: str) -> str:
        return str(self.object(CONFIGURATIONS, name).get("status", {}).get("rollingStatus", ""))

    def controller(self, resource: Resource, name: str) -> str:
        owners = self.object(resource, name)["metadata"].get("ownerReferences", ())
        return next((str(each["name"]) for each in owners if each.get("controller")), "")

    async def runs(self, name: str) -> None:
        await self.until(lambda: self.phase(name) == "running")

    async def deployed(self, state: str = SUCCEEDED) -> None:
        await self.until(lambda: self.deployment().get("rollingState") == state)


A = TypeVar("A", bound=ApplicationPlay)


async def begin(site: Site) -> ApplicationPlay:
    return await begin_as(ApplicationPlay, site)


async def begin_as(kind: type[A], site: Site) -> A:
    await define(site, *definitions())
    for each in FOLLOWED:
        await site.history.follow(each)
    site.start_kubelet(ready_after=0.05, gone_after=0.05)
    play = kind(site)
    play.start()
    return play


def component(image: str, *traits: Tree, **settings: Any) -> Tree:
    return {"name": "web", "type": "webservice", "settings": {"image": image, **settings}, "traits": [*traits]}


async def old_and_new(play: ApplicationPlay, *traits: Tree, size: int = 2) -> None:
    """`shop` runs, and `next` waits for its rollout."""
    await play.apply("shop", component(OLD, *traits, replicas=size))
    await play.runs("shop")
    await play.apply("next", component(NEW, *traits), template=True)
    await play.until(lambda: play.phase("next") == "rollingOut")
