"""CustomResourceDefinitions of the environment contract.

How objects are converted is not in them: that takes the address of a running operator and the authority that signed its
certificate, so the operator adds it when it registers them.
"""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.environments.install.schema import schema_of
from fairlead.contracts.environments.install.v1alpha1 import OldSpec, OldStatus
from fairlead.contracts.environments.kinds import (
    BALANCERS,
    CONSOLES,
    GROUP,
    MATERIALIZES,
    BalancerSpec,
    CompanionStatus,
    ConsoleSpec,
    Json,
    MaterializeSpec,
    MaterializeStatus,
)
from kubeloop.objects.meta import Resource

AGE: Json = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
"""A table with columns of its own shows the age of objects only if one of them does."""
USUAL: tuple[Json, ...] = (
    {
        "name": "Status",
        "type": "string",
        "jsonPath": '.status.conditions[?(@.type=="UpToDate")].reason',
        "description": "Where the rollout stands.",
    },
    {
        "name": "Generation",
        "type": "integer",
        "jsonPath": ".status.activeGeneration",
        "description": "The generation that serves.",
    },
    AGE,
)
"""Beside the contract's columns, which only `-o wide` shows."""


def definitions(columns: tuple[Json, ...] = ()) -> tuple[Json, ...]:
    """All kinds; `columns` come before those that environments are listed with anyway."""
    return materializes(columns), balancers(), consoles()


def materializes(columns: tuple[Json, ...] = ()) -> Json:
    """In three versions, of which v1alpha2 is stored and v1 differs from it by name alone."""
    shown = [
        _column("ImageRefRunning", ".status.lastCompletedRolloutEnvironmentdImageRef"),
        _column("ImageRefToDeploy", ".spec.environmentdImageRef"),
        _column("UpToDate", '.status.conditions[?(@.type=="UpToDate")].status'),
    ]
    given = {column.get("name") for column in columns}
    more = [*columns, *shown, *(column for column in USUAL if column["name"] not in given)]
    return _definition(
        MATERIALIZES,
        _version("v1", MaterializeSpec, MaterializeStatus, more, storage=False),
        _version("v1alpha2", MaterializeSpec, MaterializeStatus, more),
        _version("v1alpha1", OldSpec, OldStatus, [*shown, *USUAL], storage=False),
        short="mzs",
    )


def balancers() -> Json:
    return _definition(BALANCERS, _companion(BalancerSpec, "balancerd"))


def consoles() -> Json:
    return _definition(CONSOLES, _companion(ConsoleSpec, "console"))


def _companion(spec: type[Struct], program: str) -> Json:
    columns = [
        _column("ImageRef", f".spec.{program}ImageRef"),
        _column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        AGE,
    ]
    return _version("v1alpha1", spec, CompanionStatus, columns)


def _definition(resource: Resource, *versions: Json, short: str = "") -> Json:
    names: Json = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
        **({"shortNames": [short]} if short else {}),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": list(versions)},
    }


def _version(name: str, spec: type[Struct], status: type[Struct], columns: list[Json], *, storage: bool = True) -> Json:
    schema: Json = {
        "type": "object",
        "required": ["spec"],
        "properties": {"spec": schema_of(spec), "status": {**schema_of(status), "nullable": True}},
    }
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }


def _column(name: str, path: str) -> Json:
    return {"name": name, "type": "string", "jsonPath": path, "priority": 1}
