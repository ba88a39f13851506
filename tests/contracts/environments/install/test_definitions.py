"""The kinds of environments: what their definitions say, as the contract lists it (sections 2.1 and 2.2, B15)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.contracts.environments.install.definitions import definitions, materializes

Tree = dict[str, Any]
NIL = "00000000-0000-0000-0000-000000000000"
COMMON_DEFAULTS = {
    "forceRollout": NIL,
    "rolloutStrategy": "WaitUntilReady",
    "authenticatorKind": "None",
    "enableRbac": False,
    "environmentId": NIL,
}
DEFAULTS = {
    "v1": COMMON_DEFAULTS,
    "v1alpha2": COMMON_DEFAULTS,
    "v1alpha1": COMMON_DEFAULTS | {"requestRollout": NIL, "forcePromote": "", "inPlaceRollout": False},
}
SHOWN = {
    "ImageRefRunning": ".status.lastCompletedRolloutEnvironmentdImageRef",
    "ImageRefToDeploy": ".spec.environmentdImageRef",
    "UpToDate": '.status.conditions[?(@.type=="UpToDate")].status',
}
USUAL = {
    "Status": '.status.conditions[?(@.type=="UpToDate")].reason',
    "Generation": ".status.activeGeneration",
    "Age": ".metadata.creationTimestamp",
}


def kinds() -> tuple[Tree, ...]:
    return definitions()


def versions(definition: Any) -> dict[str, Tree]:
    return {each["name"]: each for each in definition["spec"]["versions"]}


def part_of(definition: Any, version: str, part: str) -> Tree:
    found: Tree = versions(definition)[version]["schema"]["openAPIV3Schema"]["properties"][part]
    return found


def columns(version: Tree) -> dict[str, str]:
    return {each["name"]: each["jsonPath"] for each in version["additionalPrinterColumns"]}


def test_names_and_scope() -> None:
    named = {tree["metadata"]["name"]: tree["spec"] for tree in kinds()}

    assert list(named) == [
        "materializes.materialize.cloud",
        "balancers.materialize.cloud",
        "consoles.materialize.cloud",
    ]
    assert named["materializes.materialize.cloud"]["names"] == {
        "kind": "Materialize",
        "listKind": "MaterializeList",
        "plural": "materializes",
        "singular": "materialize",
        "shortNames": ["mzs"],
    }
    assert {spec["scope"] for spec in named.values()} == {"Namespaced"}
    assert not any("conversion" in spec for spec in named.values()), "the operator adds it"


def test_three_versions_of_which_one_is_stored() -> None:
    found = versions(materializes())

    assert {name: (each["served"], each["storage"]) for name, each in found.items()} == {
        "v1": (True, False),
        "v1alpha2": (True, True),
        "v1alpha1": (True, False),
    }
    assert all(each["subresources"] == {"status": {}} for each in found.values())
    assert found["v1"]["schema"] == found["v1alpha2"]["schema"]


def test_columns_of_others_come_first_where_environments_are_looked_at() -> None:
    extra: Tree = {"name": "Team", "type": "string", "jsonPath": ".metadata.labels.team"}

    found = versions(materializes((extra,)))

    assert [list(columns(found[name])) for name in ("v1", "v1alpha2")] == [["Team", *SHOWN, *USUAL]] * 2
    assert columns(found["v1alpha1"]) == SHOWN | USUAL
    shown = found["v1alpha1"]["additionalPrinterColumns"]
    assert [(each["type"], each["priority"]) for each in shown if each["name"] in SHOWN] == [("string", 1)] * 3


@pytest.mark.parametrize("version", ["v1", "v1alpha2", "v1alpha1"])
def test_tables_show_where_environments_stand_and_their_age(version: str) -> None:
    """Without `-o wide`, too: columns of the contract are for that alone."""
    shown = versions(materializes())[version]["additionalPrinterColumns"]

    assert [(each["name"], each["type"]) for each in shown if not each.get("priority")] == [
        ("Status", "string"),
        ("Generation", "integer"),
        ("Age", "date"),
    ]


def test_a_column_of_somebody_else_takes_the_place_of_one_of_its_name() -> None:
    own: Tree = {"name": "Age", "type": "string", "jsonPath": ".metadata.labels.age"}

    found = columns(versions(materializes((own,)))["v1alpha2"])

    assert found["Age"] == ".metadata.labels.age"
    assert list(found).count("Age") == 1


@pytest.mark.parametrize("version", ["v1", "v1alpha2", "v1alpha1"])
def test_what_is_required_defaulted_and_nullable(version: str) -> None:
    spec = part_of(materializes(), version, "spec")

    assert sorted(spec["required"]) == ["backendSecretName", "environmentdImageRef"]
    fields = spec["properties"]
    assert {name: each["default"] for name, each in fields.items() if "default" in each} == DEFAULTS[version]
    plain = {name for name, each in fields.items() if not each.get("nullable")}
    assert plain == {*spec["required"], *DEFAULTS[version]}
    assert "rolloutRequestTimeout" in fields


def test_v1alpha1_has_the_fields_that_went() -> None:
    old, later = (part_of(materializes(), version, "spec")["properties"] for version in ("v1alpha1", "v1alpha2"))

    assert sorted(set(old) - set(later)) == ["environmentdIamRoleArn", "inPlaceRollout", "requestRollout"]
    assert set(later) < set(old)
    assert len(later) == 27
    assert "format" not in old["forcePromote"], "hashes must pass as well"


def test_statuses() -> None:
    old, later = (part_of(materializes(), version, "status") for version in ("v1alpha1", "v1alpha2"))

    assert sorted(later["required"]) == ["activeGeneration", "conditions", "resourceId"]
    assert sorted(old["required"]) == sorted([*later["required"], "lastCompletedRolloutRequest", "resourcesHash"])
    assert set(old["properties"]) - set(later["properties"]) == {"lastCompletedRolloutRequest", "resourcesHash"}
    hashes = {"lastCompletedRolloutHash", "requestedRolloutHash", "lastCompletedRolloutEnvironmentdImageRef"}
    for status in (old, later):
        assert all(status["properties"][name]["nullable"] for name in hashes)
        assert not any("default" in each for each in status["properties"].values())


def test_companions() -> None:
    _, balancers, consoles = definitions()

    assert columns(versions(balancers)["v1alpha1"]) == {
        "ImageRef": ".spec.balancerdImageRef",
        "Ready": '.status.conditions[?(@.type=="Ready")].status',
        "Age": ".metadata.creationTimestamp",
    }
    assert columns(versions(consoles)["v1alpha1"])["ImageRef"] == ".spec.consoleImageRef"
    assert part_of(balancers, "v1alpha1", "spec")["required"] == ["balancerdImageRef"]
    console = part_of(consoles, "v1alpha1", "spec")
    assert console["required"] == ["consoleImageRef", "balancerd"]
    assert console["properties"]["balancerd"]["required"] == ["serviceName", "namespace", "scheme"]
    assert console["properties"]["authenticatorKind"]["default"] == "None"


def test_no_field_that_may_be_null_lists_its_values() -> None:
    """The API server would refuse the null."""
    nullable = [schema for schema in schemas() if schema.get("nullable")]

    assert nullable
    assert not any("enum" in schema for schema in nullable)
    assert any(schema.get("pattern") == "^(RSA|ECDSA|Ed25519)$" for schema in nullable)


def test_every_field_is_described() -> None:
    bare = [
        f"{tree['spec']['names']['kind']}.{version}.{part}.{name}"
        for tree in kinds()
        for version in versions(tree)
        for part in ("spec", "status")
        for name, field in part_of(tree, version, part)["properties"].items()
        if not field.get("description", "").endswith(".")
    ]

    assert not bare


def test_definitions_are_made_afresh() -> None:
    """Whoever registers them adds to them."""
    first = kinds()
    first[0]["spec"]["conversion"] = {"strategy": "Webhook"}
    first[0]["spec"]["versions"].clear()

    assert kinds() != first
    assert len(versions(kinds()[0])) == 3


def schemas() -> Iterator[Tree]:
    pending = [each["schema"]["openAPIV3Schema"] for tree in kinds() for each in versions(tree).values()]
    while pending:
        schema = pending.pop()
        yield schema
        pending += schema.get("properties", {}).values()
        pending += [schema[key] for key in ("items", "additionalProperties") if key in schema]
