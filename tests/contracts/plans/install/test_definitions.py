"""The definitions of section 2.1: what they are called, what they show, and that nothing upstream stores is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import (
    ApplicationSpec,
    ApplicationStatus,
    AppRevisionNames,
    AppRolloutSpec,
    ComponentSpec,
    ComponentStatus,
    ConfigurationSpec,
    ConfigurationStatus,
    DeploymentNames,
    DeploymentSpec,
    RevisionNames,
    RolloutSpec,
    TraitDefinitionSpec,
    WorkloadDefinitionSpec,
)
from fairlead.contracts.plans.install.definitions import definitions

Tree = dict[str, Any]

THEIRS: dict[str, Tree] = json.loads((Path(__file__).parent / "upstream_fields.json").read_text(encoding="utf-8"))
OURS = {each["metadata"]["name"]: each for each in definitions()}
KEEPS = "x-kubernetes-preserve-unknown-fields"
APP_ROLLOUTS = "approllouts.core.oam.dev"
ROLLOUTS = (
    "rollouttraits.standard.oam.dev",
    "applicationdeployments.core.oam.dev",
    "rollouts.standard.oam.dev",
    APP_ROLLOUTS,
)


def version_of(name: str) -> Tree:
    """The one that is stored."""
    (version,) = (each for each in OURS[name]["spec"]["versions"] if each["storage"])
    found: Tree = version
    return found


def schema_of(name: str) -> Tree:
    found: Tree = version_of(name)["schema"]["openAPIV3Schema"]
    return found


def test_the_kinds_are_those_of_the_contract() -> None:
    shown = {
        name: (
            version_of(name)["name"],
            each["spec"]["names"]["kind"],
            each["spec"]["names"].get("shortNames", []),
            each["spec"]["names"].get("categories", []),
        )
        for name, each in OURS.items()
    }

    assert shown == {
        "rollouttraits.standard.oam.dev": ("v1alpha1", "RolloutTrait", [], []),
        "applicationdeployments.core.oam.dev": ("v1alpha2", "ApplicationDeployment", [], ["oam"]),
        "rollouts.standard.oam.dev": ("v1alpha1", "Rollout", [], []),
        APP_ROLLOUTS: ("v1beta1", "AppRollout", ["approllout"], ["oam"]),
        "applications.core.oam.dev": ("v1alpha2", "Application", [], ["oam"]),
        "applicationrevisions.core.oam.dev": ("v1beta1", "ApplicationRevision", ["apprev"], ["oam"]),
        "components.core.oam.dev": ("v1alpha2", "Component", [], ["oam"]),
        "applicationconfigurations.core.oam.dev": ("v1alpha2", "ApplicationConfiguration", ["appconfig"], ["oam"]),
        "workloaddefinitions.core.oam.dev": ("v1alpha2", "WorkloadDefinition", [], ["oam"]),
        "traitdefinitions.core.oam.dev": ("v1alpha2", "TraitDefinition", [], ["oam"]),
        "metrictemplates.standard.oam.dev": ("v1alpha1", "MetricTemplate", ["mt"], []),
        "alertproviders.standard.oam.dev": ("v1alpha1", "AlertProvider", ["ap"], []),
    }
    assert {each["spec"]["scope"] for each in OURS.values()} == {"Namespaced"}


def test_app_rollouts_are_served_in_two_versions_of_one_shape() -> None:
    older, stored = OURS[APP_ROLLOUTS]["spec"]["versions"]

    assert (older["name"], older["served"], older["storage"]) == ("v1alpha2", True, False)
    assert (stored["name"], stored["served"], stored["storage"]) == ("v1beta1", True, True)
    assert older["schema"] == stored["schema"]
    assert "conversion" not in OURS[APP_ROLLOUTS]["spec"]


@pytest.mark.parametrize("name", ROLLOUTS)
def test_rollouts_have_a_status_and_their_columns(name: str) -> None:
    version = version_of(name)

    assert version["subresources"] == {"status": {}}
    assert {each["name"]: each["jsonPath"] for each in version["additionalPrinterColumns"]} == {
        "TARGET": ".status.rolloutTargetSize",
        "UPGRADED": ".status.upgradedReplicas",
        "READY": ".status.upgradedReadyReplicas",
        "BATCH-STATE": ".status.batchRollingState",
        "ROLLING-STATE": ".status.rollingState",
        "AGE": ".metadata.creationTimestamp",
    }


@pytest.mark.parametrize("name", THEIRS)
def test_names_are_upstreams(name: str) -> None:
    assert OURS[name]["spec"]["names"] == THEIRS[name]["names"]


@pytest.mark.parametrize("name", THEIRS)
def test_every_field_of_upstream_is_of_the_same_type_or_is_kept_unread(name: str) -> None:
    ours = dict(fields(schema_of(name), ""))
    lost = [path for path in THEIRS[name]["fields"] if path not in ours and not is_kept(path, ours)]
    other = {
        path: (type_of(ours[path]), theirs)
        for path, theirs in THEIRS[name]["fields"].items()
        if path in ours and type_of(ours[path]) != theirs
    }

    assert lost == []
    assert other == {}


@pytest.mark.parametrize("name", OURS)
def test_every_field_is_described(name: str) -> None:
    undescribed = [
        path
        for path, each in fields(schema_of(name), "")
        if "description" not in each and not path.endswith("[]") and not each.get(KEEPS)
    ]

    assert undescribed == [".metadata"], "the API server describes it"


def fields(schema: Tree, path: str) -> Iterator[tuple[str, Tree]]:
    for name, each in schema.get("properties", {}).items():
        inside = f"{path}.{name}"
        yield inside, each
        yield from fields(each, inside)
        if "items" in each:
            yield f"{inside}[]", each["items"]
            yield from fields(each["items"], f"{inside}[]")


def is_kept(path: str, ours: dict[str, Tree]) -> bool:
    """Whether the nearest field around it that we have keeps what it does not know."""
    around = path
    while around:
        around = around[:-2] if around.endswith("[]") else around.rpartition(".")[0]
        if around in ours:
            return bool(ours[around].get(KEEPS))
    return False


def type_of(schema: Tree) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    return "/".join(filter(None, (schema["type"], schema.get("format", ""))))


@pytest.mark.parametrize(
    ("name", "path", "kind"),
    [
        ("applicationdeployments.core.oam.dev", ".spec", DeploymentSpec),
        ("applicationdeployments.core.oam.dev", ".status", DeploymentNames),
        ("rollouts.standard.oam.dev", ".spec", RolloutSpec),
        ("rollouts.standard.oam.dev", ".status", RevisionNames),
        (APP_ROLLOUTS, ".spec", AppRolloutSpec),
        (APP_ROLLOUTS, ".status", AppRevisionNames),
        ("applications.core.oam.dev", ".spec", ApplicationSpec),
        ("applications.core.oam.dev", ".status", ApplicationStatus),
        ("components.core.oam.dev", ".spec", ComponentSpec),
        ("components.core.oam.dev", ".status", ComponentStatus),
        ("applicationconfigurations.core.oam.dev", ".spec", ConfigurationSpec),
        ("applicationconfigurations.core.oam.dev", ".status", ConfigurationStatus),
        ("workloaddefinitions.core.oam.dev", ".spec", WorkloadDefinitionSpec),
        ("traitdefinitions.core.oam.dev", ".spec", TraitDefinitionSpec),
    ],
)
def test_every_field_that_is_read_is_defined(name: str, path: str, kind: type[Struct]) -> None:
    defined = {each for each, _ in fields(schema_of(name), "")}

    assert {f"{path}.{each.encode_name}" for each in msgspec.structs.fields(kind)} <= defined
