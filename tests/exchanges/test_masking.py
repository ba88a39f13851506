"""What is replaced in an answer, and what is not."""

from __future__ import annotations

from tests.exchanges.masking import Mask, sorted_causes

UID = "0b4d1b5a-1111-4000-8000-000000000000"
OTHER = "0b4d1b5a-2222-4000-8000-000000000000"


def test_versions_and_uids_become_ordinals_that_keep_equality() -> None:
    mask = Mask(())

    first = mask.body({"metadata": {"uid": UID, "resourceVersion": "7", "ownerReferences": [{"uid": OTHER}]}})
    second = mask.body({"metadata": {"uid": OTHER, "resourceVersion": "9"}, "message": f"gone: {UID}"})
    third = mask.body({"metadata": {"uid": UID, "resourceVersion": "7"}})

    assert first["metadata"] == {"uid": "uid2", "resourceVersion": "rv1", "ownerReferences": [{"uid": "uid1"}]}
    assert second == {"metadata": {"uid": "uid1", "resourceVersion": "rv2"}, "message": "gone: uid2"}
    assert third["metadata"] == {"uid": "uid2", "resourceVersion": "rv1"}


def test_what_the_case_says_stays() -> None:
    given = {"uid": UID, "renewTime": "2026-01-02T03:04:05Z", "nodePort": 30080, "resourceVersion": "5"}

    assert Mask(given.values()).body(given) == given


def test_times_addresses_ports_and_tokens_become_words() -> None:
    tree = {
        "metadata": {"creationTimestamp": "2026-01-02T03:04:05Z", "continue": "abc"},
        "spec": {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "ports": [{"nodePort": 31000, "port": 80}]},
        "renewTime": "2026-01-02T03:04:05.000006Z",
    }

    assert Mask(()).body(tree) == {
        "metadata": {"creationTimestamp": "TIME", "continue": "TOKEN"},
        "spec": {"clusterIP": "CHOSEN", "clusterIPs": ["CHOSEN"], "ports": [{"nodePort": "CHOSEN", "port": 80}]},
        "renewTime": "MICROTIME",
    }


def test_a_headless_service_is_told_from_one_with_an_address() -> None:
    assert Mask(()).body({"clusterIP": "None"}) == {"clusterIP": "None"}


def test_generated_names_become_ordinals_wherever_they_are_told() -> None:
    mask = Mask((), ["job-"])

    assert mask.body({"name": "job-x7b2k", "message": "job-x7b2k or job-given"}) == {
        "message": "job-GENERATED1 or job-given",
        "name": "job-GENERATED1",
    }


def test_the_version_of_a_list_is_not_compared_with_those_of_its_items() -> None:
    listed = {"kind": "ConfigMapList", "metadata": {"resourceVersion": "9"}, "items": [{"resourceVersion": "9"}]}

    masked = Mask(()).body(listed)

    assert (masked["metadata"], masked["items"]) == ({"resourceVersion": "RV"}, [{"resourceVersion": "rv1"}])


def test_managers_are_in_one_order_and_lists_in_their_own() -> None:
    managers = [{"manager": name, "operation": "Update", "fieldsV1": {"b": 1, "a": {}}} for name in "ba"]

    masked = Mask(()).body({"managedFields": managers, "items": ["b", "a"]})

    assert [each["manager"] for each in masked["managedFields"]] == ["a", "b"]
    assert masked["managedFields"][0]["fieldsV1"] == '{"a":{},"b":1}'
    assert masked["items"] == ["b", "a"]


def test_ages_and_prose_of_a_table_are_not_compared() -> None:
    table = {
        "kind": "Table",
        "columnDefinitions": [{"name": "Age", "type": "string", "description": "Long ago."}],
        "rows": [{"cells": ["one", "3m12s", 3]}],
    }

    masked = Mask(()).body(table)

    assert masked["columnDefinitions"] == [{"name": "Age", "type": "string"}]
    assert masked["rows"] == [{"cells": ["one", "AGE", 3]}]


def test_causes_that_come_in_any_order_are_sorted_with_their_message() -> None:
    causes = [{"field": "spec.b", "message": "Required value"}, {"field": "spec.a", "message": "Required value"}]
    status = {
        "message": "X is invalid: [spec.b: Required value, spec.a: Required value]",
        "details": {"causes": causes},
    }

    ordered = sorted_causes(status)

    assert ordered["message"] == "X is invalid: [spec.a: Required value, spec.b: Required value]"
    assert [cause["field"] for cause in ordered["details"]["causes"]] == ["spec.a", "spec.b"]


def test_json_that_a_message_quotes_is_masked_as_well() -> None:
    mask = Mask(())
    quoted = '{\\"metadata\\":{\\"resourceVersion\\":\\"7\\",\\"name\\":\\"one\\"},\\"kind\\":\\"X\\"}'

    masked = mask.text(f'patch: Invalid value: "{quoted}": json: no')

    ordered = '{\\"kind\\": \\"X\\", \\"metadata\\": {\\"name\\": \\"one\\", \\"resourceVersion\\": \\"rv1\\"}}'
    assert masked == f'patch: Invalid value: "{ordered}": json: no'


def test_go_structs_are_not_compared() -> None:
    mask = Mask(())

    assert mask.text('spec: Invalid value: {"Spec":{"Volumes":null}}: is fixed') == "spec: Invalid value: is fixed"
    assert mask.text("may not change\n@@ -1,2 +1,2 @@\n {\n") == "may not change"
