"""The next write of a definition beside others, decided without a cluster: who owns what decides what is sent."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import structs

from fairlead.core.act import AnyWrite, Apply, Patch
from fairlead.engine.decide.definition_writes import DefinitionStep, DefinitionWish, next_step
from fairlead.engine.decide.owned_definitions import DefinitionOwner, disputed, is_foreign, left_to_others, without
from fairlead.engine.decide.registration import ConversionWebhook, Tree, at
from tests.engine.definition_server import NAME, a_definition

HOOK = ConversionWebhook(name="hook", namespace="operator")
BUNDLE = b"authority"
OWNER = DefinitionOwner(
    manager="we", ca_manager="we-ca", namespace="operator", owner_key="we/owner", revision_key="we/revision"
)
WISH = DefinitionWish(
    name=NAME,
    definition=a_definition("v1", "v2"),
    webhook=HOOK,
    bundle=BUNDLE,
    enough=frozenset({BUNDLE}),
    owner=OWNER,
)
ADDRESS: Tree = {"f:service": {"f:name": {}, "f:namespace": {}}}
CONVERSION: Tree = {"f:strategy": {}, "f:webhook": {"f:clientConfig": ADDRESS}}
CA: Tree = {"f:webhook": {"f:clientConfig": {"f:caBundle": {}}}}


def owned(manager: str, conversion: Tree, operation: str = "Apply") -> Tree:
    return {"manager": manager, "operation": operation, "fieldsV1": {"f:spec": {"f:conversion": conversion}}}


def live(conversion: Tree | None = None, *managers: Tree, **meta: Any) -> Tree:
    tree = a_definition("v1", "v2")
    annotations = {"we/owner": "operator"}
    tree["metadata"] |= {"resourceVersion": "7", "generation": 3, "annotations": annotations} | meta
    tree["metadata"]["managedFields"] = list(managers)
    tree["spec"]["conversion"] = HOOK.conversion(BUNDLE) if conversion is None else conversion
    return tree


SETTLED = live(None, owned("we", CONVERSION), owned("we-ca", CA))


def sent(step: DefinitionStep | None) -> AnyWrite:
    assert step is not None
    return step.write


def body(step: DefinitionStep | None) -> Tree:
    write = sent(step)
    assert isinstance(write, Apply)
    tree: Tree = msgspec.json.decode(write.body)
    return tree


def test_a_definition_that_is_as_it_should_be_gets_no_write() -> None:
    assert next_step(WISH, SETTLED) is None


def test_the_first_write_has_the_bundle_and_the_next_ones_move_it_to_its_manager() -> None:
    both = {
        **CONVERSION,
        "f:webhook": {"f:clientConfig": {"f:service": {"f:name": {}, "f:namespace": {}}, "f:caBundle": {}}},
    }
    first = next_step(WISH, live({"strategy": "None"}))
    second = next_step(WISH, live(None, owned("we", both)))
    third = next_step(WISH, live(None, owned("we", both), owned("we-ca", CA)))

    assert at(body(first), "spec", "conversion", "webhook", "clientConfig")["caBundle"]
    assert (sent(second).manager, sent(third).manager) == ("we-ca", "we")  # type: ignore[union-attr]
    assert set(body(second)["spec"]["conversion"]["webhook"]["clientConfig"]) == {"caBundle"}
    assert "caBundle" not in body(third)["spec"]["conversion"]["webhook"]["clientConfig"]
    assert [each is not None and each.corrects for each in (first, second, third)] == [True, False, False]


def test_an_apply_between_them_does_not_take_the_bundle_away() -> None:
    both = {
        **CONVERSION,
        "f:webhook": {"f:clientConfig": {"f:service": {"f:name": {}, "f:namespace": {}}, "f:caBundle": {}}},
    }
    tree = live(None, owned("we", both))
    tree["spec"]["versions"] = tree["spec"]["versions"][:1]

    assert at(body(next_step(WISH, tree)), "spec", "conversion", "webhook", "clientConfig")["caBundle"]


def test_another_address_of_ours_comes_with_the_bundle_of_whoever_serves_there() -> None:
    other = structs.replace(HOOK, name="own", port=8001)
    before = live(other.conversion(b"another"), owned("we", {**CONVERSION, **_both()}))

    applied = body(next_step(WISH, before))

    assert applied["spec"]["conversion"] == HOOK.conversion(BUNDLE)


def _both() -> Tree:
    """The address and the bundle, of one manager."""
    return {"f:webhook": {"f:clientConfig": {**ADDRESS, "f:caBundle": {}}}}


def test_another_bundle_is_written_by_its_manager_alone() -> None:
    step = next_step(structs.replace(WISH, bundle=b"next", enough=frozenset()), SETTLED)

    write = sent(step)
    assert isinstance(write, Apply)
    assert (write.manager, write.force, write.resource_version) == ("we-ca", True, "7")
    assert step is not None
    assert not step.corrects


def test_disputed_versions_are_forced_and_what_else_is_disputed_is_left_out() -> None:
    tree = live({"strategy": "None"}, owned("helm", {"f:strategy": {}}))
    ours = a_definition("v1", "v2")
    ours["spec"]["names"]["shortNames"] = ["w"]
    text = (
        'Apply failed with 2 conflicts: conflicts with "helm" using apiextensions.k8s.io/v1:\n'
        "- .spec.names.shortNames\n- .spec.versions"
    )

    step = next_step(structs.replace(WISH, definition=ours), tree, [text])

    write = sent(step)
    assert isinstance(write, Apply)
    assert write.force
    assert "shortNames" not in body(step)["spec"]["names"]


def test_one_disputed_field_is_read_as_well_as_several() -> None:
    one = 'applying x: Apply failed with 1 conflict: conflict with "helm" using apiextensions.k8s.io/v1: .spec.versions'
    other = 'Apply failed with 1 conflict: conflict with "helm": .metadata.annotations.we/revision'

    fields = disputed([one, other, "the object has been modified"])

    assert fields == (".spec.versions", ".metadata.annotations.we/revision")
    assert left_to_others(fields) == (".metadata.annotations.we/revision",)
    assert without({"metadata": {"annotations": {"we/revision": "1", "other": "x"}}}, fields) == {
        "metadata": {"annotations": {"other": "x"}}
    }


def test_leaving_the_webhook_is_a_patch_of_the_whole_conversion_after_the_versions() -> None:
    wish = structs.replace(WISH, webhook=None)
    behind = msgspec.json.decode(msgspec.json.encode(SETTLED))
    behind["spec"]["versions"][0]["served"] = False

    first, second = next_step(wish, behind), next_step(wish, SETTLED)

    assert body(first)["spec"]["conversion"]["strategy"] == "Webhook"
    write = sent(second)
    assert isinstance(write, Patch)
    assert msgspec.json.decode(write.body) == [{"op": "add", "path": "/spec/conversion", "value": {"strategy": "None"}}]
    assert write.resource_version == "7"


def test_a_conversion_of_somebody_else_is_left_out_of_what_is_applied() -> None:
    tree = live(ConversionWebhook(name="theirs", namespace="elsewhere").conversion(b"x"))
    tree["spec"]["versions"] = tree["spec"]["versions"][:1]

    assert "conversion" not in body(next_step(WISH, tree))["spec"]


def test_only_the_conversion_of_a_definition_of_others_is_written() -> None:
    step = next_step(structs.replace(WISH, definition=None), live({"strategy": "None"}))

    assert set(body(step)["spec"]) == {"conversion"}
    assert set(body(step)["metadata"]) == {"name"}


def test_what_somebody_else_pointed_elsewhere_is_not_ours_whatever_we_still_own_of_it() -> None:
    """A patch that changes the name of the Service leaves path and port with us."""
    rest: Tree = {"f:strategy": {}, "f:webhook": {"f:clientConfig": {"f:service": {"f:path": {}, "f:port": {}}}}}
    tree = live(ConversionWebhook(name="theirs", namespace="operator").conversion(b"x"), owned("we", rest))

    assert is_foreign(tree, HOOK, OWNER)
    assert next_step(structs.replace(WISH, definition=None), tree) is None
