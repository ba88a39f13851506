"""What is applied to a definition, and when nothing is."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from fairlead.engine.decide.registration import (
    ConversionWebhook,
    Established,
    Pending,
    Tree,
    authority_of,
    differs,
    is_converted,
    is_injected,
    standing,
    wanted,
)

AUTHORITY = b"the authority"
SERVICE = ConversionWebhook(name="hook", namespace="operator", port=8001)


def a_version(name: str, *, storage: bool = False, served: bool = True, **more: Any) -> Tree:
    """With values that the server drops or keeps when they are empty."""
    spec = {
        "type": "object",
        "required": [],
        "nullable": False,
        "properties": {
            "size": {"type": "integer", "minimum": 0, "default": 0},
            "text": {"type": "string", "default": ""},
        },
    }
    schema = {"type": "object", "description": "", "properties": {"spec": spec}}
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 0}]
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "deprecated": False,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
        **more,
    }


def a_definition(*versions: Tree) -> Tree:
    return {
        "metadata": {"name": "widgets.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": list(versions or (a_version("v1"), a_version("v2", storage=True))),
        },
    }


def as_stored(applied: Tree) -> Tree:
    """What the server makes of it: defaults filled in, empty values left out."""
    live = deepcopy(applied)
    live["metadata"] |= {"resourceVersion": "7", "uid": "u", "generation": 1}
    live["spec"]["names"] |= {"listKind": "WidgetList", "singular": "widget"}
    for version in live["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        del schema["description"], schema["properties"]["spec"]["required"], schema["properties"]["spec"]["nullable"]
        del version["deprecated"], version["additionalPrinterColumns"][0]["priority"]
    established = [{"type": kind, "status": "True"} for kind in ("NamesAccepted", "Established")]
    return {**live, "status": {"conditions": established, "storedVersions": ["v2"]}}


def equal(ours: bytes, held: bytes) -> bool:
    return ours == held


def applied(live: Tree | None = None, definition: Tree | None = None, webhook: ConversionWebhook = SERVICE) -> Tree:
    return wanted(definition or a_definition(), webhook.conversion(AUTHORITY), live)


def test_a_definition_is_applied_with_its_conversion() -> None:
    tree = applied()

    assert tree["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {
                "service": {"name": "hook", "namespace": "operator", "path": "/convert", "port": 8001},
                "caBundle": b64encode(AUTHORITY).decode(),
            },
        },
    }
    assert (tree["apiVersion"], tree["kind"]) == ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert "resourceVersion" not in tree["metadata"]
    assert authority_of(tree) == AUTHORITY


def test_a_webhook_outside_of_the_cluster_is_named_by_its_url() -> None:
    there = ConversionWebhook(url="https://127.0.0.1:9443/somewhere")

    config = there.conversion(b"")["webhook"]["clientConfig"]

    assert config == {"url": "https://127.0.0.1:9443/somewhere"}
    assert (SERVICE.server_name, there.server_name) == ("hook.operator.svc", "")


@pytest.mark.parametrize("url", ["https://127.0.0.1:9443", "https://127.0.0.1:9443/"])
def test_a_url_without_a_path_gets_that_of_the_webhook(url: str) -> None:
    config = ConversionWebhook(url=url).conversion(b"")["webhook"]["clientConfig"]

    assert config["url"] == "https://127.0.0.1:9443/convert"


def test_a_definition_of_one_version_needs_no_conversion() -> None:
    definition = a_definition(a_version("v1", storage=True))

    assert not is_converted(definition)
    assert is_converted(a_definition())
    assert wanted(definition, None, None)["spec"]["conversion"] == {"strategy": "None"}


def test_what_the_server_made_of_it_does_not_differ() -> None:
    live = as_stored(applied())

    assert not differs(applied(live), live, equal)


def test_what_others_add_beside_ours_does_not_differ() -> None:
    live = as_stored(applied())
    live["spec"]["names"]["categories"] = ["all"]
    live["metadata"] |= {"labels": {"by": "others"}, "annotations": {"note": "theirs"}}

    assert not differs(applied(live), live, equal)


def test_an_absent_conversion_is_none() -> None:
    definition = a_definition(a_version("v1", storage=True))
    live = as_stored(wanted(definition, None, None))
    del live["spec"]["conversion"]

    assert not differs(wanted(definition, None, live), live, equal)


def _edit(*path: str | int, to: Any) -> Callable[[Tree], None]:
    def edit(live: Tree) -> None:
        place: Any = live
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return edit


CLIENT = ("spec", "conversion", "webhook", "clientConfig")
SCHEMA = ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties")


@pytest.mark.parametrize(
    "edit",
    [
        _edit("spec", "conversion", to={"strategy": "None"}),
        _edit("spec", "conversion", to=None),
        _edit(*CLIENT, "caBundle", to=b64encode(b"another").decode()),
        _edit(*CLIENT, "caBundle", to="Cg=="),
        _edit(*CLIENT, "caBundle", to="no base64"),
        _edit(*CLIENT, "service", "port", to=443),
        _edit(*CLIENT, "service", "namespace", to="elsewhere"),
        _edit("spec", "conversion", "webhook", "conversionReviewVersions", to=["v1beta1"]),
        _edit("spec", "versions", 0, "served", to=False),
        _edit("spec", "versions", 0, "storage", to=True),
        _edit("spec", "versions", 0, "subresources", to={}),
        _edit("spec", "versions", 0, "additionalPrinterColumns", to=[]),
        _edit("spec", "versions", 0, "deprecated", to=True),
        _edit(*SCHEMA, "size", "minimum", to=1),
        _edit(*SCHEMA, "size", to={"type": "integer", "default": 0}),
        _edit(*SCHEMA, "text", to={"type": "string"}),
        _edit(*SCHEMA, "more", to={"type": "string"}),
        _edit("spec", "names", "plural", to="gadgets"),
        _edit("spec", "scope", to="Cluster"),
        _edit("spec", "preserveUnknownFields", to=True),
    ],
)
def test_whatever_others_changed_of_ours_differs(edit: Callable[[Tree], None]) -> None:
    live = as_stored(applied())
    edit(live)

    assert differs(applied(live), live, equal)


def test_a_label_of_ours_that_is_missing_differs() -> None:
    definition = a_definition()
    definition["metadata"]["labels"] = {"ours": "yes"}
    live = as_stored(applied())

    assert differs(applied(live, definition), live, equal)


def test_a_write_is_bound_to_the_version_that_was_read() -> None:
    assert applied(as_stored(applied()))["metadata"]["resourceVersion"] == "7"


def test_versions_of_others_are_kept_while_they_are_needed_but_never_stored_in() -> None:
    live = as_stored(applied())
    served, stored, neither = (a_version(name, served=name == "v3") for name in ("v3", "v4", "v5"))
    live["spec"]["versions"] += [{**served, "storage": True}, stored, neither]
    live["status"]["storedVersions"] = ["v4", "v2"]

    versions = applied(live)["spec"]["versions"]

    assert [(each["name"], each["storage"]) for each in versions] == [
        ("v1", False),
        ("v2", True),
        ("v3", False),
        ("v4", False),
    ]
    assert versions[3] == stored


def test_fields_of_old_that_were_kept_unseen_are_given_up_for_a_webhook() -> None:
    live = as_stored(applied())
    live["spec"]["preserveUnknownFields"] = True

    assert applied(live)["spec"]["preserveUnknownFields"] is False


@pytest.mark.parametrize("key", ["inject-ca-from", "inject-ca-from-secret", "inject-apiserver-ca"])
def test_a_bundle_that_somebody_else_is_asked_to_keep_is_theirs(key: str) -> None:
    live = as_stored(applied())
    assert not is_injected(live)

    live["metadata"]["annotations"] = {f"cert-manager.io/{key}": "a/b"}

    assert is_injected(live)
    assert not is_injected(None)


def test_without_a_webhook_there_is_no_bundle() -> None:
    assert authority_of(None) is None
    assert authority_of(a_definition()) is None


def _conditions(**conditions: Tree) -> Callable[[Tree], None]:
    return _edit("status", "conditions", to=[{"type": kind, **each} for kind, each in conditions.items()])


YES = {"status": "True"}


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (_conditions(), "it is not NamesAccepted"),
        (_conditions(NamesAccepted=YES), "it is not Established: the API server has not looked at it yet"),
        (_conditions(NamesAccepted={"status": "False", "message": "taken"}, Established=YES), "NamesAccepted: taken"),
        (
            _conditions(NamesAccepted=YES, Established={"status": "False", "reason": "InvalidCABundle"}),
            "it is not Established: InvalidCABundle",
        ),
        (
            _conditions(NamesAccepted={**YES, "observedGeneration": 0}, Established=YES),
            "its NamesAccepted condition is about an earlier state",
        ),
        (_edit("metadata", "deletionTimestamp", to="2030-01-01T00:00:00Z"), "it is being deleted"),
    ],
)
def test_a_definition_is_not_in_force_until_the_server_says_so(edit: Callable[[Tree], None], why: str) -> None:
    live = as_stored(applied())
    edit(live)

    found = standing(live)

    assert isinstance(found, Pending)
    assert why in found.text


def test_a_definition_in_force_is_served_in_its_served_versions() -> None:
    live = as_stored(applied())
    live["spec"]["versions"][0]["served"] = False

    assert standing(live) == Established(("v2",))
