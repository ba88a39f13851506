"""Definitions of others, as their Go modules have them; nothing of them is kept here."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import Struct

from fairlead.plane.build import Unavailable, module_folder

DEFINITION = "CustomResourceDefinition"


class Module(Struct, frozen=True):
    name: str
    files: tuple[str, ...]

    def __str__(self) -> str:
        return self.name.rpartition("/")[2]


ECK = tuple(
    Module(f"github.com/elastic/cloud-on-k8s/{major}@{version}", ("config/crds/v1/all-crds.yaml",))
    for major, version in (("v2", "v2.16.1"), ("v3", "v3.5.0"))
)
CLUSTER_API = tuple(
    Module(f"sigs.k8s.io/cluster-api@{version}", ("config/crd/bases/*.yaml",))
    for version in ("v1.4.0", "v1.10.4", "v1.11.0")
)
KARPENTER = tuple(
    Module(f"sigs.k8s.io/karpenter@{version}", ("pkg/apis/crds/*.yaml",)) for version in ("v0.37.0", "v1.0.8")
)
MODULES = (
    *ECK,
    *CLUSTER_API,
    *(
        Module(f"sigs.k8s.io/gateway-api@{version}", ("config/crd/experimental/*.yaml",))
        for version in ("v0.6.0", "v1.1.0")
    ),
    *KARPENTER,
    Module("github.com/cert-manager/cert-manager@v1.15.3", ("deploy/crds/*.yaml",)),
    Module("github.com/external-secrets/external-secrets@v1.3.2", ("deploy/crds/bundle.yaml",)),
)


@cache
def folder_of(module: str) -> Path:
    """Skips the test where the module cannot be had."""
    try:
        return module_folder(module)
    except (Unavailable, OSError) as error:
        pytest.skip(f"the Go module {module} cannot be had here: {str(error).splitlines()[0]}")


@cache
def definitions_of(module: Module) -> dict[str, dict[str, Any]]:
    """By name."""
    folder = folder_of(module.name)
    found: dict[str, dict[str, Any]] = {}
    for pattern in module.files:
        for path in sorted(folder.glob(pattern)):
            text = path.read_text()
            if "{{" in text:
                text = "\n".join(line for line in text.splitlines() if "{{" not in line)
            for tree in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
                if isinstance(tree, dict) and tree.get("kind") == DEFINITION:
                    found[tree["metadata"]["name"]] = tree
    assert found, f"{module.name} has moved its definitions"
    return found
