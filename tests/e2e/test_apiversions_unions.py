"""Union schemas of definitions that others have written, taken by the API server; fetched as Go modules, never kept."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml

from fairlead.contracts.apiversions.decide.pruned_leaves import pruned, text_of
from fairlead.contracts.apiversions.decide.union import with_unions
from fairlead.plane.build import Unavailable, module_folder
from kubeloop.request import create, dry
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.history import Tree

MODULES = {
    "github.com/elastic/cloud-on-k8s/v2@v2.16.1": "config/crds/v1/all-crds.yaml",
    "sigs.k8s.io/cluster-api@v1.11.0": "config/crd/bases/*.yaml",
    "sigs.k8s.io/karpenter@v1.0.8": "pkg/apis/crds/*.yaml",
}
ELASTICSEARCH = "elasticsearches.elasticsearch.k8s.elastic.co"


def definitions(module: str) -> dict[str, Tree]:
    """Those with several versions, by name; skips the test where the module cannot be had."""
    try:
        folder: Path = module_folder(module)
    except (Unavailable, OSError) as error:
        pytest.skip(f"the Go module {module} cannot be had here: {str(error).splitlines()[0]}")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    trees = [tree for path in sorted(folder.glob(MODULES[module])) for tree in yaml.load_all(path.read_text(), loader)]
    found = [each for each in trees if each and each.get("kind") == CUSTOM_RESOURCES.kind]
    return {each["metadata"]["name"]: each for each in found if len(each["spec"]["versions"]) > 1}


@pytest.mark.parametrize("module", MODULES)
@everywhere(controllers=False)
async def test_unions_of_real_definitions_are_structural_and_prune_nothing(site: Site, module: str) -> None:
    """Some of their versions prune one another's fields, the unions of all of them nothing."""
    found = definitions(module)
    unions = {name: with_unions(each).definition for name, each in found.items()}

    assert any(pruned(each) for each in found.values())
    assert [name for name, each in unions.items() if pruned(each)] == []
    for each in unions.values():
        each.pop("status", None)
        each["spec"]["conversion"] = {"strategy": "None"}
        each["metadata"].pop("annotations", None)
        await site.client.call(dry(create(CUSTOM_RESOURCES, "", msgspec.json.encode(each))))


def test_fields_of_elasticsearch_that_its_older_version_loses_are_named() -> None:
    found = definitions("github.com/elastic/cloud-on-k8s/v2@v2.16.1")[ELASTICSEARCH]

    lost = {text_of(each.place) for each in pruned(found) if (each.known_to, each.pruned_by) == ("v1", "v1beta1")}

    assert "/spec/auth" in lost
