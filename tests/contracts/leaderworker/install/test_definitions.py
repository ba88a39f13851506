"""The kind of LeaderWorkerSets: its definition says what upstream's says (sections 2.1 and 2.2 and 2.3)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.contracts.leaderworker.install.definitions import leader_worker_sets
from tools import template_schemas
from tools.template_schemas import MEANT, digest, facts, schema_of

Tree = dict[str, Any]

THEIRS: Tree = json.loads((Path(__file__).parent / "upstream_schema.json").read_text(encoding="utf-8"))
TEMPLATE = ".spec.leaderWorkerTemplate"


@pytest.fixture(scope="module")
def said() -> dict[str, Tree]:
    return facts(schema_of(leader_worker_sets()))


def test_names_scope_columns_and_subresources_are_upstreams() -> None:
    definition = leader_worker_sets()
    (version,) = definition["spec"]["versions"]

    assert definition["metadata"] == {"name": "leaderworkersets.leaderworkerset.x-k8s.io"}
    assert definition["spec"]["names"] == THEIRS["names"]
    assert definition["spec"]["scope"] == THEIRS["scope"]
    assert {key: value for key, value in version.items() if key != "schema"} == THEIRS["version"]


def test_the_fields_of_the_kind_are_upstreams(said: dict[str, Tree]) -> None:
    """Types, defaults, enums, required fields and keys of lists, path by path."""
    own = {path: each for path, each in said.items() if path in THEIRS["facts"]}

    assert own == {path: {**each, **MEANT.get(path, {})} for path, each in THEIRS["facts"].items()}


@pytest.mark.parametrize("part", ["leaderTemplate", "workerTemplate", "volumeClaimTemplates"])
def test_templates_and_claims_are_upstreams(said: dict[str, Tree], part: str) -> None:
    assert digest(said, part) == THEIRS["digests"][part]


def test_what_stands_out_in_templates_is_upstreams(said: dict[str, Tree]) -> None:
    """A digest alone would not tell which default or key of a list is another."""
    found = {path: {key: said[path].get(key) for key in each} for path, each in THEIRS["template"].items()}

    assert found == THEIRS["template"]
    assert found[f"{TEMPLATE}.workerTemplate.spec.containers[].ports"] == {
        "x-kubernetes-list-map-keys": ["containerPort", "protocol"]
    }
    assert found[f"{TEMPLATE}.workerTemplate.spec.containers[].ports[].protocol"] == {"default": "TCP"}


def test_there_are_no_other_fields(said: dict[str, Tree]) -> None:
    parts = tuple(f"{TEMPLATE}.{part}" for part in THEIRS["digests"])

    assert {path for path in said if not path.startswith(parts)} == THEIRS["facts"].keys()


def test_every_field_of_the_kind_is_described() -> None:
    undescribed = [path for path, each in own_fields(schema_of(leader_worker_sets()), "") if "description" not in each]

    assert undescribed == [".metadata"], "the API server describes it"


def test_the_kept_schemas_are_what_the_tool_makes() -> None:
    made = template_schemas.collected(json.loads(template_schemas.SOURCE.read_text(encoding="utf-8")))

    assert template_schemas.printed(made) == template_schemas.TARGET.read_text(encoding="utf-8")


def test_a_difference_to_upstream_is_told() -> None:
    ours: dict[str, Tree] = {
        ".spec.replicas": {"type": "integer", "minimum": 0, "maximum": 1000000},
        ".spec.more": {"type": "string"},
    }
    theirs: dict[str, Tree] = {".spec.replicas": {"type": "integer"}, ".spec.size": {"default": 1}}

    assert [*template_schemas.differing(ours, theirs, MEANT)] == [
        '.spec.more: {"type": "string"} instead of {}',
        '.spec.size: null instead of {"default": 1}',
    ]


def own_fields(schema: Tree, path: str) -> Iterator[tuple[str, Tree]]:
    """Fields outside of templates, claims and conditions."""
    for name, each in schema.get("properties", {}).items():
        yield f"{path}.{name}", each
        if name not in (*THEIRS["digests"], "persistentVolumeClaimRetentionPolicy"):
            yield from own_fields(each, f"{path}.{name}")
