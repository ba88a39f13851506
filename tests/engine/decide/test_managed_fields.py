"""managedFields under another version: the same owners, merged where they become one, and never none."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fairlead.engine.decide.managed_fields import SEED, known_fields, moved
from kubeloop.schemas.structural import compile_schema

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def an_entry(manager: str, version: str, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    named = {"manager": manager, "operation": "Apply", "apiVersion": f"example.test/{version}"}
    return {**named, "time": "2029-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


def goes(api_version: str) -> bool:
    return api_version == "example.test/v1"


def renamed(entry: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = entry["fieldsV1"]
    return fields


def test_only_the_version_of_an_entry_changes() -> None:
    old = an_entry("a", "v1", {"f:spec": {"f:size": {}}}, subresource="status")
    other = an_entry("b", "v2", {"f:spec": {"f:colour": {}}})

    assert moved([old, other], goes, "example.test/v2", renamed, NOW) == [
        {**old, "apiVersion": "example.test/v2"},
        other,
    ]


def test_entries_that_become_the_same_are_merged_with_the_later_time() -> None:
    old = an_entry("a", "v1", {"f:spec": {"f:size": {}, "f:colour": {}}}, time="2029-05-05T00:00:00Z")
    new = an_entry("a", "v2", {"f:spec": {"f:size": {}, "f:paint": {}}})

    (found,) = moved([new, old], goes, "example.test/v2", renamed, NOW)

    assert found["fieldsV1"] == {"f:spec": {"f:size": {}, "f:colour": {}, "f:paint": {}}}
    assert found["time"] == "2029-05-05T00:00:00Z"


def test_the_same_manager_of_another_subresource_is_another_one() -> None:
    old = an_entry("a", "v1", {"f:status": {"f:ready": {}}}, subresource="status")
    new = an_entry("a", "v2", {"f:spec": {"f:size": {}}})

    assert len(moved([new, old], goes, "example.test/v2", renamed, NOW)) == 2


def test_an_entry_that_owns_nothing_any_more_goes_and_a_seed_stays_where_none_is_left() -> None:
    old = an_entry("a", "v1", {"f:spec": {"f:legacyMode": {}}})

    (found,) = moved([old], goes, "example.test/v2", lambda _: {}, NOW)

    assert found["manager"] == SEED
    assert found["fieldsV1"] == {"f:metadata": {"f:name": {}}}


def test_fields_that_a_schema_does_not_have_are_left_out() -> None:
    schema = compile_schema(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "size": {"type": "integer"},
                        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                        "parts": {
                            "type": "array",
                            "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["name"],
                            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                        },
                        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    },
                }
            },
        }
    )
    part = 'k:{"name":"web"}'
    fields = {
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {
            "f:size": {},
            "f:legacyMode": {},
            "f:labels": {"f:x": {}},
            "f:parts": {part: {".": {}, "f:name": {}, "f:weight": {}}},
            "f:any": {"f:thing": {"f:inside": {}}},
            "f:paint": {"f:finish": {}},
        },
    }

    assert known_fields(fields, schema) == {
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {
            "f:size": {},
            "f:labels": {"f:x": {}},
            "f:parts": {part: {".": {}, "f:name": {}}},
            "f:any": {"f:thing": {"f:inside": {}}},
        },
    }
