"""An operator of environments and of API versions: one listener, one certificate and one migration for both."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from msgspec import structs

from fairlead.contracts import contract
from fairlead.contracts.apiversions.kinds import CA_MANAGER, CONVERTIBLE, CRD_OWNER
from fairlead.contracts.apiversions.settings import ReviewLimits
from fairlead.contracts.environments.install.definitions import materializes
from fairlead.contracts.environments.kinds import BALANCERS, CONSOLES, MANAGER, MATERIALIZES
from fairlead.contracts.environments.settings import ConversionOptions, EnvironmentsOptions, Settings
from fairlead.engine.certificates import pairs
from fairlead.engine.decide.owned_definitions import BUNDLE, owns
from fairlead.engine.decide.registration import Tree, authority_of
from fairlead.engine.options import PartOptions
from kubeloop import request
from kubeloop.calls import Call
from kubeloop.errors import NotFound
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON_PATCH, MERGE_PATCH
from kubesim.pki import Authority
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.converting import LATEST, NAME, OLD, an_environment, definition
from tests.e2e.replicated_operator import SERVICE, Replica, Replicas
from tests.e2e.service_proxy import Endpoint, ServiceProxy, a_pod
from tests.e2e.test_apiversions_process import operating
from tests.e2e.widgets import widgets

OTHER = Authority()
KINDS = tuple(f"{each.plural}.{each.group}" for each in (MATERIALIZES, BALANCERS, CONSOLES))


class BothReplica(Replica):
    """With the port of API versions for environments, too."""

    @property
    def parts(self) -> tuple[PartOptions, ...]:
        conversion = ConversionOptions(service_name="own", service_namespace=self.site.namespace, port=9443)
        settings = Settings(operator_namespace=self.site.namespace)
        environments = EnvironmentsOptions(settings=settings, conversion=conversion)
        return (PartOptions(contract("environments"), environments), *super().parts)


class ApartReplica(Replica):
    """With a port of their own for environments."""

    @property
    def parts(self) -> tuple[PartOptions, ...]:
        conversion = ConversionOptions(service_name="own", service_namespace=self.site.namespace, port=8001)
        settings = Settings(operator_namespace=self.site.namespace)
        environments = EnvironmentsOptions(settings=settings, conversion=conversion)
        return (PartOptions(contract("environments"), environments), *super().parts)


@asynccontextmanager
async def replicas(site: Site, of: type[Replica] = BothReplica) -> AsyncIterator[Replicas]:
    """None yet, behind a Service; the kinds of environments are gone before and afterwards."""
    await without_kinds(site)
    made = Replicas(site, of)
    await made.begin()
    try:
        yield made
    finally:
        await made.stop()
        await without_kinds(site)


async def let_go(site: Site) -> None:
    """Environments that no operator takes its finalizer off are in the way of nobody."""
    with suppress(NotFound):
        found = await site.client.list(MATERIALIZES, dict[str, Any], namespace=site.namespace)
        for each in found.items:
            ref = Ref(MATERIALIZES, site.namespace, each["metadata"]["name"])
            body = msgspec.json.encode({"metadata": {"finalizers": None}})
            await site.client.call(request.patch(ref, MERGE_PATCH, body))


async def without_kinds(site: Site) -> None:
    await let_go(site)
    for name in KINDS:
        try:
            await site.client.call(request.delete(Ref(CUSTOM_RESOURCES, "", name)))
        except NotFound:
            continue

        async def is_gone(name: str = name) -> bool:
            try:
                await definition(site, name)
            except NotFound:
                return True
            return False

        await site.until(is_gone, every=0.1)


async def registered(site: Site) -> Tree:
    """The definition of environments, once the authorities in it are those of the shared listener alone."""

    async def is_registered() -> bool:
        try:
            tree = await definition(site)
        except NotFound:
            return False
        return owns(tree, CA_MANAGER, *BUNDLE) and not owns(tree, MANAGER, *BUNDLE)

    await site.until(is_registered, every=0.1)
    return await definition(site)


def service_of(tree: Tree) -> Tree:
    found: Tree = tree["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    return found


def only_old() -> Tree:
    tree: Tree = materializes()
    version = next(each for each in tree["spec"]["versions"] if each["name"] == OLD.version)
    return {**tree, "spec": {**tree["spec"], "versions": [{**version, "storage": True}]}}


async def put(site: Site, name: str, kind: Any = MATERIALIZES) -> Tree:
    """The object, once the API server that has just heard of the kind serves it."""

    async def is_served() -> bool:
        try:
            await site.client.list(kind, dict[str, Any], namespace=site.namespace)
        except NotFound:
            return False
        return True

    await site.until(is_served, every=0.1)
    return await site.create(kind, an_environment(name, kind))


@everywhere(controllers=False)
async def test_environments_are_converted_by_the_listener_of_all_parts(site: Site) -> None:
    """apiversions section 2.2: one listener, one pair; environments section 3.1 for the field manager."""
    async with replicas(site) as operator:
        replica = await operator.add()
        tree = await registered(site)

        await put(site, "m", OLD)
        shown = await site.get(LATEST, "m")

        assert shown is not None
        assert shown["apiVersion"] == LATEST.api_version
        assert replica.manager is not None
        assert replica.manager.servers == ()
        assert service_of(tree)["name"] == SERVICE
        assert service_of(tree)["port"] == operator.proxy.port
        assert owns(tree, MANAGER, "spec", "versions")
        assert tree["metadata"]["annotations"][CRD_OWNER] == site.namespace
        assert tree["status"]["storedVersions"] == [MATERIALIZES.version]
        pod = await site.get(PODS, replica.endpoint.pod)
        assert pod is not None
        versions = {each["name"] for each in tree["spec"]["versions"]}
        assert {*msgspec.json.decode(pod["metadata"]["annotations"][CONVERTIBLE])[NAME]} == versions
        assert replica.metrics.registry.get_sample_value("orchestratord_conversions_total", {"result": "success"})


@everywhere(controllers=False)
async def test_environments_wait_for_every_replica_that_may_be_asked_to_convert_them(site: Site) -> None:
    """apiversions B20: the kind names the webhook when all that API servers may call there can convert it."""
    async with replicas(site) as operator:
        await a_pod(site, "older")
        await operator.proxy.tell(Endpoint("older", "10.9.0.1"))
        replica = BothReplica(site, operator.proxy, 7)
        operator.all.append(replica)

        await replica.start()
        await replica.led()
        await site.until(lambda: bool(replica.log.of("definitions wait for replicas")), every=0.1)

        with pytest.raises(NotFound):
            await definition(site)
        assert replica.log.of("definitions wait for replicas")[0]["replicas"] == "older"

        await operator.proxy.tell(replica.endpoint)
        assert service_of(await registered(site))["name"] == SERVICE


@everywhere(controllers=False)
async def test_another_start_of_both_parts_writes_no_definition(site: Site) -> None:
    async with replicas(site) as operator:
        first = await operator.add()
        before = await registered(site)
        await operator.lose(first)

        second = await operator.add()
        await site.until(lambda: bool(second.log.of("definition registered")), every=0.1)

        after = await definition(site)
        assert after["metadata"]["generation"] == before["metadata"]["generation"]
        assert authority_of(after) == authority_of(before)


@everywhere(controllers=False)
async def test_what_is_stored_of_environments_is_moved_once_in_such_a_process(site: Site) -> None:
    async with replicas(site) as operator:
        await site.create(CUSTOM_RESOURCES, only_old())
        await put(site, "m", OLD)

        replica = await operator.add()

        async def is_clean() -> bool:
            return bool((await definition(site))["status"]["storedVersions"] == [MATERIALIZES.version])

        await site.until(is_clean, within=60, every=0.2)
        # It is told once the answer is there, which no event announces.
        await site.until(lambda: replica.log.of("storage migration finished"), every=0.2)
        assert len(replica.log.of("storage migration finished")) == 1
        assert not [each for each in replica.log.of("storage migration") if each["crd"] == NAME]


@everywhere(controllers=False, on=("sim",))
async def test_environments_go_back_to_a_listener_of_their_own_and_are_read_all_the_time(site: Site) -> None:
    """apiversions I17: while one replica is told so and another not yet, both are behind the Service."""
    async with replicas(site) as operator:
        await operator.add()
        await registered(site)
        await put(site, "m", OLD)
        apart = ApartReplica(site, operator.proxy, 8)
        operator.all.append(apart)

        await apart.start()
        await operator.proxy.tell(*(each.endpoint for each in operator.all))

        for _ in range(4):
            found = await site.get(OLD, "m")
            assert found is not None
        assert service_of(await definition(site))["name"] == SERVICE
        assert all(operator.proxy.calls.get(each.endpoint.address) for each in operator.all)
        pod = await site.get(PODS, apart.endpoint.pod)
        assert pod is not None
        assert NAME in msgspec.json.decode(pod["metadata"]["annotations"][CONVERTIBLE])


async def on_a_listener_of_their_own(site: Site) -> None:
    """The definition as an operator writes it whose environments have a listener of their own."""
    other = {"service": {"name": "own", "namespace": site.namespace, "path": "/convert", "port": 8001}}
    ours = await definition(site)
    moved = {
        "apiVersion": CUSTOM_RESOURCES.api_version,
        "kind": CUSTOM_RESOURCES.kind,
        "metadata": {"name": NAME},
        "spec": {
            **{key: ours["spec"][key] for key in ("group", "names", "scope", "versions")},
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {**other, "caBundle": msgspec.to_builtins(OTHER.certificate)},
                },
            },
        },
    }
    body = msgspec.json.encode(moved)
    await site.client.call(request.apply(Ref(CUSTOM_RESOURCES, "", NAME), body, MANAGER, force=True))


@everywhere(controllers=False)
async def test_a_listener_of_their_own_is_left_when_every_replica_converts_on_the_other(site: Site) -> None:
    """apiversions section 3.3: in a rolling update some replica still has them on the listener of their own."""
    async with replicas(site) as operator:
        first = await operator.add()
        await registered(site)
        await operator.lose(first)
        await on_a_listener_of_their_own(site)
        await a_pod(site, "older")
        await operator.proxy.tell(Endpoint("older", "10.9.0.1"))
        replica = BothReplica(site, operator.proxy, 7)
        operator.all.append(replica)

        await replica.start()
        await replica.led()
        await site.until(lambda: bool(replica.log.of("definitions wait for replicas")), every=0.1)

        assert service_of(await definition(site))["name"] == "own"

        await operator.proxy.tell(replica.endpoint)
        assert service_of(await registered(site))["name"] == SERVICE


@everywhere(controllers=False)
async def test_a_listener_of_their_own_is_left_with_its_authority_in_one_write(site: Site) -> None:
    """No state of the definition names one listener and trusts the other."""
    async with replicas(site) as operator:
        first = await operator.add()
        before = await registered(site)
        await operator.lose(first)
        await on_a_listener_of_their_own(site)
        await site.history.follow(CUSTOM_RESOURCES)
        states: set[tuple[str, bytes]] = set()
        watching = site.start(noted(site, states))

        await operator.add()
        after = await registered(site)
        await site.until(lambda: service_of(held(site))["name"] == SERVICE, every=0.1)
        await site.stop(watching)

        assert authority_of(after) == authority_of(before)
        own, shared = OTHER.certificate, authority_of(before) or b""
        assert {(name, trusts(bundle, own), trusts(bundle, shared)) for name, bundle in states} == {
            ("own", True, False),
            (SERVICE, False, True),
        }


def held(site: Site) -> Tree:
    found: Tree = site.history.objects(CUSTOM_RESOURCES)[NAME]
    return found


async def noted(site: Site, states: set[tuple[str, bytes]]) -> None:
    """Every state of the definition: which Service it names, and whom it trusts."""
    while True:
        moment = site.history.moment
        if (found := site.history.objects(CUSTOM_RESOURCES).get(NAME)) is not None:
            states.add((str(service_of(found)["name"]), authority_of(found) or b""))
        await site.history.past(moment)


def trusts(bundle: bytes, authority: bytes) -> bool:
    return {*dict(pairs.authorities(authority))} <= {*dict(pairs.authorities(bundle))}


@everywhere(controllers=False, on=("sim",))
async def test_what_is_no_review_is_answered_as_on_the_port_of_all_parts(site: Site) -> None:
    async with replicas(site) as operator:
        replica = await operator.add()

        reply = await replica.webhooks(
            Call(method="POST", url="/convert", headers=(("Content-Type", "application/json"),), body=b"{}")
        )
        strange = await replica.ask(an_environment("m"), desired="materialize.cloud/v9")

        assert reply.status == 400
        assert strange["result"]["status"] == "Failure"


class CautiousReplica(BothReplica):
    """With small reviews alone."""

    def __init__(self, site: Site, proxy: ServiceProxy, number: int) -> None:
        super().__init__(site, proxy, number)
        self._settings = structs.replace(self._settings, reviews=ReviewLimits(largest=1000))


@everywhere(controllers=False, on=("sim",))
async def test_reviews_of_environments_are_held_to_the_limits_of_that_port(site: Site) -> None:
    """apiversions section 2.2: `--max-review-bytes` and the other limits are those of reviews of every kind."""
    async with replicas(site, CautiousReplica) as operator:
        replica = await operator.add()
        large = an_environment("m", OLD, podLabels={"x": "y" * 1000})

        reply = await replica.webhooks(
            Call(
                method="POST",
                url="/convert",
                headers=(("Content-Type", "application/json"),),
                body=a_review(large, to=MATERIALIZES.api_version),
            )
        )

        assert reply.status == 413


def a_review(*objects: Tree, to: str, uid: str = "u-1") -> bytes:
    request_ = {"uid": uid, "desiredAPIVersion": to, "objects": objects}
    return msgspec.json.encode(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request_, "response": {}}
    )


@everywhere(controllers=False, on=("served",))
async def test_one_port_of_a_process_answers_for_both_parts_over_tls(site: Site, tmp_path: Path) -> None:
    """Small reviews where they come in, large ones by another process, and what is no review in words."""
    kind = widgets(site)
    await kind.define("v1", "v2", storage="v2")
    port = free_port()
    section = {
        "cloud-provider": "local",
        "region": "kind",
        "console-image-tag-default": "v26.0.0",
        "webhook-service-namespace": site.namespace,
        "webhook-listen-address": f"[::]:{port}",
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"environments": section}))
    words = "--parts=environments,apiversions", f"--webhook-port={port}", f"--config={tmp_path / 'config.yaml'}"
    async with operating(site, tmp_path, kind.rules(), *words) as operator:
        await operator.program.said("conversion rules loaded")
        widget = {"apiVersion": f"{kind.group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
        many = [an_environment(f"m-{number}", OLD, podLabels={"x": "y" * 2000}) for number in range(300)]

        answers = {
            "an environment": await operator.send(a_review(an_environment("m", OLD), to=MATERIALIZES.api_version)),
            "many": await operator.send(a_review(*many, to=MATERIALIZES.api_version)),
            "a widget": await operator.send(a_review(widget, to=f"{kind.group}/v2")),
            "no review": await operator.send(b"{}"),
            "many, and no review": await operator.send(a_review(*many, to=MATERIALIZES.api_version, uid="")),
        }
        served = [line for line in operator.program.lines if " port=" in line and "served" in line]

    assert {name: status for name, (status, _, _) in answers.items()} == {
        "an environment": 200,
        "many": 200,
        "a widget": 200,
        "no review": 400,
        "many, and no review": 400,
    }
    for name, count in (("an environment", 1), ("many", 300), ("a widget", 1)):
        response = msgspec.json.decode(answers[name][2])["response"]
        assert response["result"] == {"status": "Success"}
        assert len(response["convertedObjects"]) == count
    assert len(served) == 1, served


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@everywhere(controllers=False, on=("sim",))
async def test_a_conversion_that_is_lost_while_a_replica_is_behind_is_put_back_when_it_is_not(site: Site) -> None:
    """apiversions section 3.13: nobody tells of a replica that has become able to convert."""
    async with replicas(site) as operator:
        replica = await operator.add()
        await registered(site)
        await site.until(lambda: NAME in [each["name"] for each in replica.log.of("definition registered")], every=0.1)
        await a_pod(site, "older")
        await operator.proxy.tell(replica.endpoint, Endpoint("older", "10.9.0.1"))
        body = msgspec.json.encode([{"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}])
        await site.client.call(request.patch(Ref(CUSTOM_RESOURCES, "", NAME), JSON_PATCH, body))
        await asyncio.sleep(30)
        assert (await definition(site))["spec"]["conversion"]["strategy"] == "None"

        await operator.proxy.tell(replica.endpoint)

        async def is_back() -> bool:
            return bool((await definition(site))["spec"]["conversion"]["strategy"] == "Webhook")

        await site.until(is_back, every=0.1)


@everywhere(controllers=False, on=("sim",))
async def test_a_replica_that_comes_while_kinds_are_registered_is_waited_for_as_long_as_any(site: Site) -> None:
    """apiversions section 3.3: ten minutes, where a definition has half a minute to be in force."""
    async with replicas(site) as operator:
        replica = await operator.add()
        await registered(site)
        assert NAME not in [each["name"] for each in replica.log.of("definition registered")]
        await a_pod(site, "older")
        await operator.proxy.tell(replica.endpoint, Endpoint("older", "10.9.0.1"))
        body = msgspec.json.encode([{"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}])
        await site.client.call(request.patch(Ref(CUSTOM_RESOURCES, "", NAME), JSON_PATCH, body))

        await asyncio.sleep(90)

        assert replica.log.of("definitions wait for replicas")
        await operator.proxy.tell(replica.endpoint)
        await site.until(lambda: NAME in [each["name"] for each in replica.log.of("definition registered")], every=0.1)
        assert service_of(await definition(site))["name"] == SERVICE
