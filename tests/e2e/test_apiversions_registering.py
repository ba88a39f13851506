"""Definitions of the operator's own beside others who write them: scenarios A8 to A10, and each rule of section 3.3."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import msgspec
import pytest

from fairlead.contracts.apiversions.kinds import CA_MANAGER, CONVERTIBLE, CRD_OWNER, CRD_REVISION, MANAGER
from fairlead.engine.decide.owned_definitions import BUNDLE, owns
from fairlead.engine.decide.registration import DEFINITIONS, Tree
from fairlead.engine.kinds.registration import RegistrationFailed
from fairlead.engine.part import GivesBack
from kubeloop import request
from kubeloop.objects.meta import Ref, Resource
from kubesim.pki import Authority
from tests.contracts.apiversions.decide.definitions import NAME, V1, V2, a_version
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.converting import definition, marks, patched
from tests.e2e.owned_widgets import AUTHORITY, Installation, widgets
from tests.e2e.service_proxy import Endpoint, ServiceProxy, a_pod
from tests.e2e.tellings import tellings


async def applied(site: Site, manager: str, tree: Tree, *, force: bool = True) -> None:
    """As another tool would."""
    whole = {"apiVersion": DEFINITIONS.api_version, "kind": DEFINITIONS.kind, **tree}
    sent = request.apply(Ref(DEFINITIONS, "", NAME), msgspec.json.encode(whole), manager, force=force)
    await site.client.call(sent)


async def live(site: Site) -> Tree:
    return await definition(site, NAME)


def conversion(tree: Tree) -> Tree:
    found: Tree = tree["spec"]["conversion"]
    return found


def bundle(tree: Tree) -> bytes:
    return b64decode(conversion(tree)["webhook"]["clientConfig"]["caBundle"])


def a_conversion(service: str, namespace: str = "elsewhere", **config: Any) -> Tree:
    client: Tree = {"service": {"name": service, "namespace": namespace, "path": "/convert", "port": 443}, **config}
    return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}


@everywhere(controllers=False)
async def test_a8_a_cluster_without_the_definition_gets_it_with_its_conversion(site: Site) -> None:
    operator = Installation(site)

    await operator.registered()

    tree = await live(site)
    assert [(each["name"], each["served"], each["storage"]) for each in tree["spec"]["versions"]] == [
        ("v1", True, False),
        ("v2", True, True),
    ]
    service = {"name": "fairlead", "namespace": site.namespace, "path": "/convert", "port": 443}
    assert conversion(tree)["strategy"] == "Webhook"
    assert conversion(tree)["webhook"]["clientConfig"]["service"] == service
    assert conversion(tree)["webhook"]["conversionReviewVersions"] == ["v1"]
    assert bundle(tree) == AUTHORITY.certificate
    assert tree["metadata"]["annotations"] == {CRD_REVISION: "3", CRD_OWNER: site.namespace}
    assert tree["metadata"]["generation"] == 1, "one write of the spec is enough"
    assert owns(tree, CA_MANAGER, *BUNDLE)
    assert not owns(tree, MANAGER, *BUNDLE)
    assert owns(tree, MANAGER, "spec", "versions")
    # Objects of earlier scenarios on the same control plane have nobody here who converts them, which is told.
    left = await site.client.list(Resource("example.test", "v2", "widgets", "Widget"), dict[str, Any])
    assert operator.reasons == ["CRDRegistered", *(["WebhookUnreachable"] if left.items else [])]


@everywhere(controllers=False)
async def test_a9_further_starts_write_nothing(site: Site) -> None:
    operator = Installation(site)
    await operator.registered()
    before = marks(await live(site))

    await operator.registered()
    await operator.registered()

    assert marks(await live(site)) == before


@everywhere(controllers=False)
async def test_a10_a_conversion_that_names_somebody_else_stays_unless_it_is_to_be_taken_over(site: Site) -> None:
    theirs = a_conversion("other", caBundle=b64encode(Authority().certificate).decode())
    tree = widgets()
    tree["spec"]["conversion"] = theirs
    await site.create(CUSTOM_RESOURCES, tree)
    operator = Installation(site)

    await operator.kept()
    await site.until(lambda: "ConversionForeign" in operator.reasons)
    kept = await live(site)
    await Installation(site, takes_over=True).registered()

    taken = await live(site)
    assert conversion(kept) == theirs
    assert conversion(taken)["webhook"]["clientConfig"]["service"]["name"] == "fairlead"
    assert bundle(taken) == AUTHORITY.certificate


@everywhere(controllers=False)
async def test_a_url_of_somebody_else_is_taken_over_as_a_whole(site: Site) -> None:
    """Section 3.3 step 4. An apply would leave the URL beside the Service, which no server accepts."""
    tree = widgets()
    config = {"url": "https://other.example.test/convert"}
    tree["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config},
    }
    await site.create(CUSTOM_RESOURCES, tree)

    await Installation(site, takes_over=True).registered()

    taken = await live(site)
    assert "url" not in conversion(taken)["webhook"]["clientConfig"]
    assert bundle(taken) == AUTHORITY.certificate
    assert owns(taken, CA_MANAGER, *BUNDLE)


@everywhere(controllers=False)
async def test_versions_that_others_brought_stay_and_are_never_the_stored_one(site: Site) -> None:
    """Section 3.3 step 3."""
    odd = a_version("v9", V1, served=False)
    await applied(site, "helm", widgets(a_version("v2", V2, storage=True), odd, revision="2"))

    await Installation(site).registered()

    tree = await live(site)
    found = {each["name"]: (each["served"], each["storage"]) for each in tree["spec"]["versions"]}
    assert found == {"v1": (True, False), "v2": (True, True), "v9": (False, False)}
    assert tree["metadata"]["annotations"][CRD_REVISION] == "2", "what another applied stays where it is not forced"


@everywhere(controllers=False)
async def test_fields_that_others_own_stay_and_people_are_told(site: Site) -> None:
    """Section 3.3 step 2."""
    theirs = widgets(a_version("v2", V2, storage=True))
    theirs["spec"]["names"]["shortNames"] = ["wi"]
    await applied(site, "helm", theirs)
    ours = widgets()
    ours["spec"]["names"]["shortNames"] = ["wd"]
    operator = Installation(site)

    await operator.kept(ours)

    tree = await live(site)
    assert tree["spec"]["names"]["shortNames"] == ["wi"]
    assert [each["name"] for each in tree["spec"]["versions"]] == ["v1", "v2"]
    assert conversion(tree)["strategy"] == "Webhook"
    await site.until(lambda: "FieldsForeign" in operator.reasons)


@everywhere(controllers=False)
@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"labels": {"olm.managed": "true"}}, "CRDOwnedElsewhere"),
        ({"labels": {"operators.coreos.com/widgets.here": ""}}, "CRDOwnedElsewhere"),
        ({"annotations": {CRD_OWNER: "another-installation"}}, "CRDOwnedElsewhere"),
        ({"annotations": {CRD_REVISION: "4"}}, "CRDNewer"),
    ],
    ids=["of OLM", "of OLM by another label", "of another installation", "of a newer operator"],
)
async def test_a_definition_that_is_not_ours_to_write_is_left_as_it_is(site: Site, metadata: Tree, reason: str) -> None:
    """Section 3.3 step 6."""
    tree = widgets()
    tree["metadata"] = {"name": NAME, **metadata}
    before = marks(await site.create(CUSTOM_RESOURCES, tree))
    operator = Installation(site)

    await operator.kept()
    await site.until(lambda: reason in operator.reasons)

    tree = await live(site)
    assert conversion(tree) == {"strategy": "None"}
    assert tree["metadata"]["generation"] == before[0]


@everywhere(controllers=False)
async def test_a_bundle_that_cert_manager_keeps_is_not_written(site: Site) -> None:
    tree = widgets()
    tree["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] = "operator/webhook"
    await site.create(CUSTOM_RESOURCES, tree)

    await Installation(site).registered()

    found = await live(site)
    assert conversion(found)["strategy"] == "Webhook"
    assert "caBundle" not in conversion(found)["webhook"]["clientConfig"]


@everywhere(controllers=False)
async def test_a_placeholder_in_the_place_of_a_bundle_is_repaired(site: Site) -> None:
    """Section 3.3 step 7."""
    tree = widgets()
    tree["spec"]["conversion"] = a_conversion("fairlead", site.namespace, caBundle="Cg==")
    await site.create(CUSTOM_RESOURCES, tree)

    await Installation(site).registered()

    assert bundle(await live(site)) == AUTHORITY.certificate


@everywhere(controllers=False)
async def test_leaving_the_webhook_needs_no_apply_that_the_owner_of_the_bundle_could_spoil(site: Site) -> None:
    """Section 3.3 step 5."""
    operator = Installation(site)
    await operator.registered()
    operator.webhook = None

    await operator.registered()
    left = await live(site)
    await operator.registered()

    assert conversion(left) == {"strategy": "None"}
    assert marks(await live(site)) == marks(left)


@everywhere(controllers=False)
async def test_whoever_overwrites_the_conversion_is_corrected_and_people_are_told(site: Site) -> None:
    operator = Installation(site)
    await operator.kept()
    await site.history.follow(CUSTOM_RESOURCES)

    await patched(site, {"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}, name=NAME)
    await site.until(
        lambda: (
            "ConversionLost" in operator.reasons
            and conversion(site.history.objects(CUSTOM_RESOURCES)[NAME])["strategy"] == "Webhook"
        )
    )

    assert bundle(await live(site)) == AUTHORITY.certificate


@everywhere(controllers=False)
async def test_a_version_is_named_only_when_every_ready_replica_can_convert_it(site: Site) -> None:
    """Section 3.3 step 1."""
    proxy = ServiceProxy(site)
    await proxy.start()
    able = {CONVERTIBLE: msgspec.json.encode({NAME: ["v1", "v2"]}).decode()}
    await a_pod(site, "first", able)
    await a_pod(site, "second")
    await proxy.tell(Endpoint("first", "10.1.0.1"), Endpoint("second", "10.1.0.2"))
    operator = Installation(site)
    starting = site.start(operator.registered())
    await site.until(lambda: operator.log.of("definitions wait for replicas"), every=0.1)
    await site.history.follow(CUSTOM_RESOURCES)
    waiting = NAME in site.history.objects(CUSTOM_RESOURCES)

    await proxy.tell(Endpoint("first", "10.1.0.1"), Endpoint("second", "10.1.0.2", ready=False))
    await site.until(starting.done, every=0.1)

    assert not waiting
    assert conversion(await live(site))["strategy"] == "Webhook"


@everywhere(controllers=False, on=("sim",))
async def test_a_leader_that_waits_in_vain_for_replicas_gives_its_lease_back(site: Site) -> None:
    proxy = ServiceProxy(site)
    await proxy.start()
    await a_pod(site, "old")
    await proxy.tell(Endpoint("old", "10.1.0.1"))

    with pytest.raises(GivesBack, match="old cannot convert what is to be registered") as given:
        await Installation(site).registered()

    assert given.value.seconds == 60.0


@everywhere(controllers=False, on=("sim",))
async def test_a_definition_that_does_not_come_into_force_ends_the_start_and_people_are_told(site: Site) -> None:
    """Section 3.3 step 8."""
    going = widgets()
    going["metadata"]["finalizers"] = ["example.test/stays"]
    made = await site.create(CUSTOM_RESOURCES, going)
    await site.client.call(request.delete(Ref(DEFINITIONS, "", NAME, made["metadata"]["uid"])))
    operator = Installation(site)

    with pytest.raises(RegistrationFailed, match="it is being deleted"):
        await operator.registered()

    assert operator.reasons == ["NotEstablished"]


@everywhere(controllers=False)
async def test_a_process_registers_its_definitions_and_tells_people_in_events(site: Site) -> None:
    """Scenarios A8, A9 and A10 as a process plays them, with a Lease."""
    await site.history.follow(CUSTOM_RESOURCES)
    told = await tellings(site)
    first = site.start_operator(Installation(site))
    await site.until(lambda: told.has("CRDRegistered"), every=0.2)
    await site.until(lambda: _is_settled(site), every=0.2)
    before = marks(await live(site))
    await site.stop(first)

    second = Installation(site)
    running = site.start_operator(second)
    await site.until(lambda: second.log.of("definition registered"), every=0.2)
    again = marks(await live(site))
    await site.stop(running)
    theirs = a_conversion("other", caBundle=b64encode(Authority().certificate).decode())
    await patched(site, {"op": "replace", "path": "/spec/conversion", "value": theirs}, name=NAME)
    site.start_operator(Installation(site))
    await site.until(lambda: told.has("ConversionForeign"), every=0.2)

    assert again == before
    assert conversion(await live(site)) == theirs


async def _is_settled(site: Site) -> bool:
    tree = await live(site)
    return owns(tree, CA_MANAGER, *BUNDLE) and not owns(tree, MANAGER, *BUNDLE)


@everywhere(controllers=False, on=("sim",))
async def test_replicas_that_stay_behind_are_told_about_on_the_lease(site: Site) -> None:
    proxy = ServiceProxy(site)
    await proxy.start()
    await a_pod(site, "old")
    await proxy.tell(Endpoint("old", "10.1.0.1"))

    told = await tellings(site)
    site.start_operator(Installation(site))
    await site.until(lambda: told.has("ReplicasBehind"), every=5, within=900)

    (found,) = await told.all("ReplicasBehind")
    assert found["regarding"]["kind"] == "Lease"


@everywhere(controllers=False)
async def test_a_webhook_that_the_api_server_does_not_reach_is_told_and_stops_nothing(site: Site) -> None:
    await Installation(site).registered()
    tree = {"metadata": {"name": "one"}, "spec": {"size": 1}}
    await site.create(Resource("example.test", "v2", "widgets", "Widget"), tree)
    operator = Installation(site)

    await operator.registered()

    assert operator.reasons == ["WebhookUnreachable"]
    assert "conversion webhook for" in operator.told[0].text
