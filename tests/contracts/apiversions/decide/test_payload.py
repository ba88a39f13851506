"""Whose fields an object holds, row by row of the table, and what is worked with."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any, TypeAlias

import pytest

from fairlead.contracts.apiversions.decide.convert import KindConversion, convert
from fairlead.contracts.apiversions.decide.field_evidence import fields, payload_of
from fairlead.contracts.apiversions.decide.payload import Payload, PayloadVerdict, judged, payload_hash
from fairlead.contracts.apiversions.decide.payload_actions import condition, normalized, note, noted_payload
from fairlead.contracts.apiversions.decide.rule_sets import kind_of, read_rules
from fairlead.contracts.apiversions.decide.trees import copied
from fairlead.contracts.apiversions.kinds import CARRY_PREFIX, PAYLOAD_HASH, PAYLOAD_VERSION
from fairlead.contracts.apiversions.samples import sample
from kubeloop.objects.meta import Ref, Resource
from kubeloop.schemas.structural import compile_schema
from tests.contracts.apiversions.decide.widgets import BOOLEAN, INTEGER, TEXT, listed, made_of, widget
from tests.contracts.apiversions.decide.widgets import KIND as RICH

GROUP = "example.test"
WIDGETS = Resource(GROUP, "v2", "widgets", "Widget")
V1 = made_of(spec=made_of(size=INTEGER, colour=TEXT, legacyMode=BOOLEAN, ratio=INTEGER, mode=TEXT | {"enum": ["fast"]}))
PARTS = listed(made_of(("name",), name=TEXT, weight=INTEGER), "name")
V2 = made_of(
    spec=made_of(
        size=INTEGER,
        paint=made_of(colour=TEXT, finish=TEXT),
        parts=PARTS,
        ratio=INTEGER,
        mode=TEXT | {"enum": ["Speedy"]},
    )
)
OLD, NEW, NEWER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"
Manager: TypeAlias = tuple[str, str, dict[str, Any]]


def widgets(*more: dict[str, Any], schemas: dict[str, Any] | None = None) -> KindConversion:
    found = schemas or {"v1": V1, "v2": V2}
    versions = [{"name": name, "schema": {"openAPIV3Schema": schema}} for name, schema in found.items()]
    names = {"kind": "Widget", "plural": "widgets"}
    definition = {
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "versions": versions},
    }
    move = {"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"}
    spokes = [{"version": "v1", "toHub": [move, *more]}]
    return kind_of(
        read_rules({"kind": "ConversionRules", "crd": f"widgets.{GROUP}", "hub": "v2", "spokes": spokes}), definition
    )


def a_widget(spec: dict[str, Any], *managers: Manager, **noted: str) -> dict[str, Any]:
    """Each manager has a version, a time, and what it owns of the spec."""
    managed = [
        {"apiVersion": f"{GROUP}/{version}", "time": time, "fieldsV1": {"f:spec": owned}, "manager": time}
        for version, time, owned in managers
    ]
    metadata = {"name": "one", "namespace": "n", "resourceVersion": "7", "annotations": noted, "managedFields": managed}
    return {"apiVersion": f"{GROUP}/v2", "kind": "Widget", "metadata": metadata, "spec": spec}


KIND = widgets()
SCALED = widgets({"op": "scale", "path": "/spec/ratio", "by": 10})


def spec_of(payload: Payload) -> dict[str, Any]:
    assert payload.tree is not None
    found: dict[str, Any] = payload.tree["spec"]
    return found


def test_hash_that_still_holds_tells_the_version_whatever_the_fields_say() -> None:
    spec = {"size": 1, "ratio": 5}
    one = a_widget(spec, ("v2", NEW, {"f:ratio": {}}))
    one["metadata"]["annotations"] = {PAYLOAD_VERSION: "v1", PAYLOAD_HASH: payload_hash(one)}

    found = judged(one, SCALED)

    assert (found.verdict, found.evidence, found.version) == (PayloadVerdict.OTHER, 1, "v1")
    assert spec_of(found)["ratio"] == 50


@pytest.mark.parametrize("noted", [{PAYLOAD_VERSION: "v1", PAYLOAD_HASH: "0"}, {PAYLOAD_VERSION: "v9"}])
def test_note_of_another_spec_or_an_unknown_version_tells_nothing(noted: dict[str, str]) -> None:
    one = a_widget({"paint": {"finish": "matt"}}, **noted)
    if PAYLOAD_HASH not in noted:
        one["metadata"]["annotations"][PAYLOAD_HASH] = payload_hash(one)

    found = judged(one, KIND)

    assert (found.verdict, found.evidence) == (PayloadVerdict.HUB, 2)


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        ({"size": 1, "colour": "red"}, "v1"),
        ({"legacyMode": False}, "v1"),
        ({"paint": {}}, "v2"),
        ({"parts": [{"name": "a"}]}, "v2"),
        ({"mode": "fast"}, "v1"),
        ({"mode": "Speedy"}, "v2"),
    ],
)
def test_fields_that_one_version_alone_knows_tell_it(spec: dict[str, Any], version: str) -> None:
    found = judged(a_widget(spec, ("v2", NEW, {"f:size": {}})), KIND)

    assert (found.evidence, found.version) == (2, version)


def test_old_payload_is_worked_with_as_the_hub_has_it_and_loses_nothing() -> None:
    found = judged(a_widget({"size": 2, "colour": "red", "legacyMode": True}), KIND)

    assert found.verdict is PayloadVerdict.OTHER
    assert spec_of(found) == {"size": 2, "paint": {"colour": "red"}}
    assert found.tree is not None
    carried = found.tree["metadata"]["annotations"]
    assert [key for key in carried if key.startswith(CARRY_PREFIX)]


def test_type_tells_the_version_where_names_are_the_same() -> None:
    schemas = {"v1": made_of(spec=made_of(wait=TEXT)), "v2": made_of(spec=made_of(wait=INTEGER))}

    assert judged(a_widget({"wait": "90s"}), widgets(schemas=schemas)).version == "v1"
    assert judged(a_widget({"wait": 90}), widgets(schemas=schemas)).version == "v2"


def test_parts_of_two_versions_that_do_not_meet_are_both_used() -> None:
    found = judged(a_widget({"size": 1, "colour": "red", "paint": {"finish": "matt"}}), KIND)

    assert (found.verdict, found.versions) == (PayloadVerdict.MIXED, ("v1", "v2"))
    assert spec_of(found) == {"size": 1, "paint": {"colour": "red", "finish": "matt"}}


def test_parts_that_agree_need_no_owner() -> None:
    found = judged(a_widget({"colour": "red", "paint": {"colour": "red"}}), KIND)

    assert (found.verdict, spec_of(found)) == (PayloadVerdict.MIXED, {"paint": {"colour": "red"}})


@pytest.mark.parametrize(("first", "second", "colour"), [(OLD, NEW, "blue"), (NEW, OLD, "red")])
def test_newest_writer_of_a_contested_field_wins(first: str, second: str, colour: str) -> None:
    old: Manager
    new: Manager
    old, new = ("v1", first, {"f:colour": {}}), ("v2", second, {"f:paint": {".": {}, "f:colour": {}}})

    found = judged(a_widget({"colour": "red", "paint": {"colour": "blue"}}, old, new), KIND)

    assert (found.verdict, spec_of(found)) == (PayloadVerdict.MIXED, {"paint": {"colour": colour}})


@pytest.mark.parametrize(
    "managers",
    [
        (),
        (("v1", OLD, {"f:colour": {}}),),
        (("v1", OLD, {"f:colour": {}}), ("v2", OLD, {"f:paint": {"f:colour": {}}})),
    ],
)
def test_contested_field_whose_writers_are_unknown_or_equally_old_is_ambiguous(managers: tuple[Any, ...]) -> None:
    found = judged(a_widget({"colour": "red", "paint": {"colour": "blue"}}, *managers), KIND)

    assert (found.verdict, found.evidence, found.tree) == (PayloadVerdict.AMBIGUOUS, 3, None)
    assert found.places == ("/spec/colour", "/spec/paint")


def test_newest_manager_of_the_spec_tells_where_no_field_does() -> None:
    old: Manager
    new: Manager
    old, new = ("v1", NEW, {"f:ratio": {}}), ("v2", OLD, {"f:size": {}})

    found = judged(a_widget({"size": 1, "ratio": 2}, old, new), SCALED)

    assert (found.verdict, found.evidence, found.version) == (PayloadVerdict.OTHER, 4, "v1")
    assert spec_of(found) == {"size": 1, "ratio": 20}


def test_writer_of_the_status_tells_nothing() -> None:
    one = a_widget({"ratio": 2}, ("v2", OLD, {"f:ratio": {}}), ("v1", NEW, {"f:size": {}}))
    one["metadata"]["managedFields"][1]["subresource"] = "status"

    assert judged(one, SCALED).version == "v2"


@pytest.mark.parametrize(("since", "version"), [(OLD, "v2"), (NEW, "v2"), (NEWER, "v1"), ("", "v1")])
def test_what_was_written_while_somebody_converted_is_of_the_hub(since: str, version: str) -> None:
    found = judged(a_widget({"ratio": 2}, ("v1", NEW, {"f:ratio": {}})), SCALED, since)

    assert (found.evidence, found.version) == (4, version)


def test_payload_that_means_the_same_in_every_version_is_of_the_hub() -> None:
    assert (found := judged(a_widget({"size": 1}), SCALED)).verdict is PayloadVerdict.HUB
    assert found.evidence == 5


def test_payload_that_means_something_else_in_another_version_is_ambiguous() -> None:
    found = judged(a_widget({"ratio": 2}), SCALED)

    assert (found.verdict, found.evidence, found.tree) == (PayloadVerdict.AMBIGUOUS, 6, None)


def test_rules_that_fail_leave_the_payload_ambiguous() -> None:
    huge = a_widget({"colour": "red", "legacyMode": True})
    huge["metadata"]["annotations"] = {"big": "x" * 262_143}

    assert judged(huge, KIND).verdict is PayloadVerdict.AMBIGUOUS


def test_items_of_keyed_lists_are_joined_by_their_keys() -> None:
    schemas = {
        "v1": made_of(spec=made_of(parts=listed(made_of(("name",), name=TEXT, old=TEXT), "name"))),
        "v2": made_of(spec=made_of(parts=listed(made_of(("name",), name=TEXT, new=TEXT), "name"))),
    }
    kind = widgets({"op": "move", "from": "/spec/parts/*/old", "to": "/spec/parts/*/new"}, schemas=schemas)
    spec = {"parts": [{"name": "a", "old": "x"}, {"name": "b", "new": "y"}]}

    found = judged(a_widget(spec), kind)

    assert found.verdict is PayloadVerdict.MIXED
    assert spec_of(found) == {"parts": [{"name": "a", "new": "x"}, {"name": "b", "new": "y"}]}


NOW = datetime(2026, 1, 5, tzinfo=UTC)


def test_condition_is_there_only_where_something_was_ever_wrong() -> None:
    well, wrong = judged(a_widget({"paint": {}}), KIND), judged(a_widget({"colour": "red"}), KIND)

    said = condition(wrong, "v2", [], 3, NOW)
    assert said is not None
    assert (said["status"], said["reason"], said["observedGeneration"]) == ("False", "OlderPayload", 3)
    assert condition(well, "v2", [], 3, NOW) is None
    mended = condition(well, "v2", [said], 4, NOW)
    assert mended is not None
    assert (mended["status"], mended["reason"]) == ("True", "HubPayload")


def test_event_is_told_once_for_each_generation_and_holds_no_value() -> None:
    wrong = judged(a_widget({"colour": "secret", "paint": {"colour": "hidden"}}), KIND)

    told = note(wrong, Ref(WIDGETS, "n", "one"), "v2", 5)

    assert told is not None
    assert (told.reason, told.warning, told.occurrence) == ("PayloadVersionMismatch", True, "5")
    assert "secret" not in told.text
    assert "hidden" not in told.text
    assert note(judged(a_widget({"paint": {}}), KIND), Ref(WIDGETS, "n", "one"), "v2", 5) is None


def test_annotations_are_written_when_they_change_and_never_of_a_mixture() -> None:
    one = a_widget({"colour": "red"})
    noted = noted_payload(one, judged(one, KIND))
    one["metadata"]["annotations"] = noted

    assert noted[PAYLOAD_VERSION] == "v1"
    assert noted_payload(one, judged(one, KIND)) == {}
    mixed = a_widget({"colour": "red", "paint": {"finish": "matt"}})
    assert noted_payload(mixed, judged(mixed, KIND)) == {}


def test_spec_is_rewritten_only_where_the_registered_schema_keeps_all_of_it() -> None:
    one = a_widget({"size": 2, "colour": "red", "legacyMode": True})
    found = judged(one, KIND)

    made = normalized(one, found, KIND, compile_schema(V2))

    assert made is not None
    assert made["spec"] == {"size": 2, "paint": {"colour": "red"}}
    assert made["metadata"]["resourceVersion"] == "7"
    assert judged(made, KIND).verdict is PayloadVerdict.HUB
    assert normalized(one, found, KIND, compile_schema(V1)) is None


def test_whole_payloads_are_told_and_converted_as_a_webhook_would() -> None:
    """Of a kind whose versions differ in every way: what one version alone knows tells it, and nothing is lost."""
    chance = Random(1)
    told = 0
    for _ in range(300):
        version = chance.choice(("v1", "v2"))
        body = sample(RICH.hub.schema if version == "v2" else RICH.spokes["v1"].version.schema, chance)
        body.pop("status", None)
        claimed = widget("v2", **copied(body))

        found = judged(claimed, RICH)

        if found.evidence == 2:
            assert found.version == version or not _is_telling(body, version)
        if found.version == version and found.tree is not None:
            told += 1
            expected = convert(widget(version, **copied(body)), "v2", RICH).tree
            assert payload_of(found.tree) == payload_of(expected)
        assert payload_of(claimed) == body
    assert told > 200


def _is_telling(body: dict[str, Any], version: str) -> bool:
    """Whether a field is there that this version alone knows."""
    schemas = {"v2": RICH.hub.schema} | {name: each.version.schema for name, each in RICH.spokes.items()}
    return any(each.versions == {version} for each in fields(body, schemas, RICH.hub.shape))
