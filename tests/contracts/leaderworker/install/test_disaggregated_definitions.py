"""The kinds of DisaggregatedSets and of their scalers: as upstream has them, with what came later (section 6.7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairlead.contracts.leaderworker.install.definitions import definitions
from tools.template_schemas import DISAGGREGATED_MEANT, MEANT, ROLE_SPEC, facts, schema_of

Tree = dict[str, Any]

RECORD = Path(__file__).parent / "upstream_disaggregated_schema.json"
THEIRS: Tree = json.loads(RECORD.read_text(encoding="utf-8"))


def test_names_scope_and_subresources_are_upstreams() -> None:
    definition = definitions()[1]
    (version,) = definition["spec"]["versions"]

    assert definition["metadata"] == {"name": "disaggregatedsets.disaggregatedset.x-k8s.io"}
    assert definition["spec"]["names"] == THEIRS["names"]
    assert definition["spec"]["scope"] == THEIRS["scope"]
    assert {key: value for key, value in version.items() if key != "schema"} == THEIRS["version"]


def test_the_fields_are_upstreams_and_those_of_later_releases() -> None:
    said = facts(schema_of(definitions()[1]))
    own = {path: each for path, each in said.items() if not path.startswith(f"{ROLE_SPEC}.")}
    meant = {path: each for path, each in DISAGGREGATED_MEANT.items() if not path.startswith(f"{ROLE_SPEC}.")}

    expected = {path: {**THEIRS["facts"].get(path, {}), **meant.get(path, {})} for path in THEIRS["facts"] | meant}

    assert own == expected


def test_a_role_has_the_whole_spec_of_a_leader_worker_set() -> None:
    sets, disaggregated, _ = (schema_of(each) for each in definitions())
    role = disaggregated["properties"]["spec"]["properties"]["roles"]["items"]["properties"]["spec"]

    assert role["properties"] == sets["properties"]["spec"]["properties"]
    assert role["required"] == sets["properties"]["spec"]["required"]
    assert facts(role)[".replicas"].items() >= MEANT[".spec.replicas"].items()


def test_scalers_are_scaled_and_shown() -> None:
    definition = definitions()[2]
    (version,) = definition["spec"]["versions"]

    assert definition["metadata"] == {"name": "disaggregatedsetrolescalers.disaggregatedset.x-k8s.io"}
    assert definition["spec"]["names"]["shortNames"] == ["dsrs"]
    assert version["subresources"] == {
        "scale": {
            "labelSelectorPath": ".status.selector",
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
        },
        "status": {},
    }
    assert [each["name"] for each in version["additionalPrinterColumns"]] == ["Desired", "Current", "Age"]
    assert facts(schema_of(definition))[".spec.replicas"] == {
        "default": 0,
        "format": "int32",
        "minimum": 0,
        "type": "integer",
    }
