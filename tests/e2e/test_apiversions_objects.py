"""Objects that another version of the operator has handled, and workloads that an upgrade must not roll."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from fairlead.contracts import contract
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from fairlead.contracts.leaderworker.settings import Settings as SetSettings
from fairlead.core.controller_version import CONTROLLER_VERSION
from fairlead.core.rollout_hash import ROLLOUT_HASH_VERSION
from fairlead.engine.decide.guard import UNKNOWN, VersionPolicy
from fairlead.engine.options import PartOptions
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, Stream, Transport, delete
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.leaderworkers import admit, define_sets
from tests.e2e.widget_operators import WidgetOperator, a_widget, changed, defined, found, told, workload_of
from tests.widgets.decide import Settings
from tests.widgets.kinds import FINALIZER, NAME, WIDGETS

OLD = VersionPolicy(own="1.2.0", minimum="1.1.0")
NEW = VersionPolicy(own="1.3.0", minimum="1.1.0")
SPEC: Tree = {"size": 1, "paint": {"colour": "red"}}
FOREIGN = "fairlead_foreign_version_objects"


def version_of(widget: Tree) -> str:
    return str(widget["metadata"].get("annotations", {}).get(CONTROLLER_VERSION, ""))


@everywhere(controllers=False)
async def test_a24_objects_of_other_versions_are_taken_over_or_left_alone(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await defined(site, monkeypatch)
    await site.history.follow(EVENTS)
    await a_widget(site, "fresh", SPEC)
    await workload_of(site, await a_widget(site, "unnoted", SPEC))
    for name, version in {"ancient": "1.0.9", "older": "1.1.0", "newer": "1.4.0", "patch": "1.3.7"}.items():
        await a_widget(site, name, SPEC, {CONTROLLER_VERSION: version})
    await a_widget(site, "unmanaged", SPEC, {"fairlead.dev/managed": "false"})
    untouched = [await found(site, WIDGETS, name) for name in ("ancient", "newer", "unmanaged")]
    operator = WidgetOperator(site, Settings(), NEW).start()

    async def is_settled() -> bool:
        made = [await site.get(STATEFULSETS, name) for name in ("fresh", "older", "patch")]
        return all(made) and version_of(await found(site, WIDGETS, "unnoted")) == UNKNOWN

    await site.until(is_settled, every=0.1)
    for name, reason in {
        "unnoted": "HandledByOlderOperator",
        "ancient": "HandledByOlderOperator",
        "newer": "HandledByNewerOperator",
        "older": "Adopted",
    }.items():
        await site.until(lambda name=name, reason=reason: told(site, name, reason), every=0.1)  # type: ignore[misc]

    assert [await found(site, WIDGETS, name) for name in ("ancient", "newer", "unmanaged")] == untouched
    handled = {name: version_of(await found(site, WIDGETS, name)) for name in ("fresh", "older", "patch")}
    assert handled == {"fresh": "1.3.0", "older": "1.3.0", "patch": "1.3.7"}
    assert "finalizers" not in (await found(site, WIDGETS, "unnoted"))["metadata"]
    assert (await found(site, STATEFULSETS, "unnoted"))["metadata"]["generation"] == 1
    counts = {why: operator.value(FOREIGN, crd=NAME, reason=why) for why in ("older", "newer", "unknown")}
    assert counts == {"older": 1, "newer": 1, "unknown": 1}

    await changed(site, WIDGETS, "newer", {"metadata": {"annotations": {CONTROLLER_VERSION: None}}})

    async def is_lifted() -> bool:
        return await site.get(STATEFULSETS, "newer") is not None

    await site.until(is_lifted, every=0.1)
    assert operator.value(FOREIGN, crd=NAME, reason="newer") == 0


@everywhere(controllers=False)
async def test_a24_objects_of_a_predecessor_are_adopted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await defined(site, monkeypatch)
    await site.history.follow(EVENTS)
    await workload_of(site, await a_widget(site, "theirs", SPEC))
    WidgetOperator(site, Settings(has_predecessors=True), NEW).start()

    async def is_adopted() -> bool:
        return version_of(await found(site, WIDGETS, "theirs")) == "1.3.0"

    await site.until(is_adopted, every=0.1)
    await site.until(lambda: told(site, "theirs", "Adopted"), every=0.1)
    assert CONTROLLER_VERSION not in (await found(site, STATEFULSETS, "theirs"))["metadata"].get("annotations", {})


@everywhere(controllers=False)
async def test_object_that_is_left_alone_can_be_deleted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await defined(site, monkeypatch)
    await a_widget(site, "newer", SPEC, {CONTROLLER_VERSION: "2.0.0"}, finalizers=[FINALIZER])
    WidgetOperator(site, Settings(), NEW).start()

    await site.client.call(delete(Ref(WIDGETS, site.namespace, "newer")))

    async def is_gone() -> bool:
        return await site.get(WIDGETS, "newer") is None

    await site.until(is_gone, every=0.1)


@everywhere()
async def test_a25_upgrade_of_the_operator_rolls_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await defined(site, monkeypatch)
    site.start_kubelet(ready_after=0.02, gone_after=0.02)
    names = ("a", "b", "c")
    for name in names:
        await a_widget(site, name, SPEC)
    old = WidgetOperator(site, Settings(), OLD).start()
    await site.until(lambda: len(ready(site)) == len(names), following=[PODS])
    await site.until(lambda: at_rest(old, names), every=0.1)
    await old.stop()
    pods = ready(site)
    before = {name: await found(site, STATEFULSETS, name) for name in names}

    new = WidgetOperator(site, Settings(helper_image="example.test/helper:2", hash_ways=(1, 2)), NEW).start()

    async def is_renewed() -> bool:
        found_now = [await found(site, STATEFULSETS, name) for name in names]
        return all(each["metadata"]["annotations"][ROLLOUT_HASH_VERSION] == "2" for each in found_now)

    await site.until(is_renewed, every=0.1)
    await site.until(lambda: at_rest(new, names), every=0.1)
    for name, then in before.items():
        now = await found(site, STATEFULSETS, name)
        assert now["spec"] == then["spec"]
        assert now["metadata"]["generation"] == then["metadata"]["generation"]
    assert ready(site) == pods

    await changed(site, WIDGETS, "a", {"spec": {"paint": {"colour": "blue"}}})

    async def is_rolled() -> bool:
        template = (await found(site, STATEFULSETS, "a"))["spec"]["template"]["spec"]
        return "example.test/helper:2" in {each["image"] for each in template["containers"]}

    await site.until(is_rolled, every=0.1)


@everywhere(controllers=False)
async def test_upgrade_at_rest_writes_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """I12: not even its version, as long as there is nothing to be done."""
    await defined(site, monkeypatch)
    await a_widget(site, "a", SPEC)
    old = WidgetOperator(site, Settings(), OLD).start()
    await site.until(lambda: at_rest(old, ("a",)), every=0.1)
    await old.stop()
    before = [await found(site, WIDGETS, "a"), await found(site, STATEFULSETS, "a")]

    new = WidgetOperator(site, Settings(helper_image="example.test/helper:2"), NEW).start()
    await site.until(lambda: at_rest(new, ("a",)), every=0.1)

    assert [await found(site, WIDGETS, "a"), await found(site, STATEFULSETS, "a")] == before


@everywhere(on=("sim",))
async def test_upgrade_writes_nothing_about_sets_at_rest_and_rolls_nothing_later(site: Site) -> None:
    """I11 and I12 of a kind that other operators served before."""
    await define_sets(site)
    await admit(site)
    site.start_kubelet(ready_after=0.02, gone_after=0.02)
    sets = PartOptions(contract("leaderworker"), SetSettings())
    pod = {"spec": {"containers": [{"name": "main", "image": "example.test/main:1"}]}}
    template = {"size": 1, "workerTemplate": pod}
    await site.create(LEADER_WORKER_SETS, {"metadata": {"name": "a"}, "spec": {"leaderWorkerTemplate": template}})
    old = WidgetOperator(site, Settings(), OLD, sets).start()
    await site.until(lambda: len(ready(site)) == 1, following=[PODS])
    await asyncio.sleep(60)  # in virtual time
    await old.stop()
    before = [await found(site, resource, "a") for resource in (LEADER_WORKER_SETS, STATEFULSETS)]

    WidgetOperator(site, Settings(), NEW, sets).start()
    await asyncio.sleep(60)

    assert [await found(site, resource, "a") for resource in (LEADER_WORKER_SETS, STATEFULSETS)] == before
    await changed(site, LEADER_WORKER_SETS, "a", {"spec": {"replicas": 2}})
    await site.until(lambda: len(ready(site)) == 2, following=[PODS])
    after = await found(site, STATEFULSETS, "a")
    assert after["spec"]["template"] == before[1]["spec"]["template"]
    assert CONTROLLER_VERSION not in after["metadata"].get("annotations", {})


def ready(site: Site) -> dict[str, str]:
    """UIDs of the pods that are."""
    return {
        name: pod["metadata"]["uid"]
        for name, pod in site.history.objects(PODS).items()
        if any(
            each["type"] == "Ready" and each["status"] == "True" for each in pod.get("status", {}).get("conditions", [])
        )
    }


def at_rest(operator: WidgetOperator, names: tuple[str, ...]) -> bool:
    return all((operator.passes(name) or [""])[-1] == "complete" for name in names)


class Refusing:
    """A transport over which no version can be noted on an object."""

    def __init__(self, transport: Transport) -> None:
        self.refused = 0
        self._transport = transport

    async def send(self, request: Request) -> Response:
        if request.method == "PATCH" and CONTROLLER_VERSION.encode() in request.body:
            self.refused += 1
            return Response(403, b'{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}')
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        if (close := getattr(self._transport, "close", None)) is not None:
            await close()


@everywhere(controllers=False, on=("sim",))
async def test_a_version_that_cannot_be_noted_stops_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await defined(site, monkeypatch)
    await a_widget(site, "a", SPEC)
    refusing = Refusing(site.ground.transport("admin"))
    operator = WidgetOperator(site, Settings(has_predecessors=True), NEW)

    site.start(operator(refusing))

    await site.until(lambda: at_rest(operator, ("a",)), every=0.1)
    assert refusing.refused > 0
    assert await site.get(STATEFULSETS, "a") is not None
    assert version_of(await found(site, WIDGETS, "a")) == ""


@everywhere(controllers=False, on=("sim",))
async def test_an_own_kind_waits_for_its_note(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made without it would be taken for that of something older, and left alone."""
    await defined(site, monkeypatch)
    before = await a_widget(site, "a", SPEC)
    refusing = Refusing(site.ground.transport("admin"))

    site.start(WidgetOperator(site, Settings(), NEW)(refusing))

    await site.until(lambda: refusing.refused > 3, every=0.1)
    assert await found(site, WIDGETS, "a") == before
    assert await site.get(STATEFULSETS, "a") is None
