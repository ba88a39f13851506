"""What is said of lists in two versions and of kinds of others."""

from __future__ import annotations

from bench.real_lists import Lists, Loaded, list_checks, loaded_checks, rules_of, several

DEFINITION = {
    "metadata": {"name": "widgets.example.test"},
    "spec": {"versions": [{"name": "v1", "storage": False}, {"name": "v2", "storage": True}]},
}


def test_a_kind_without_rules_of_its_own_has_a_set_that_changes_nothing() -> None:
    assert rules_of(DEFINITION) == {
        "kind": "ConversionRules",
        "crd": "widgets.example.test",
        "hub": "v2",
        "spokes": [{"version": "v1", "toHub": []}],
    }


def test_only_kinds_of_several_versions_need_rules() -> None:
    single = {"metadata": {"name": "one"}, "spec": {"versions": [{"name": "v1", "storage": True}]}}

    assert several([DEFINITION, single]) == [DEFINITION]


def test_lists_are_held_to_those_of_the_stored_version_and_to_the_patience_of_an_api_server() -> None:
    quick = Lists(10, first={"v2": 1.0, "v1": 2.0}, later={"v2": 1.0, "v1": 1.1})
    slow = Lists(10, first={"v2": 1.0, "v1": 31.0}, later={"v2": 1.0, "v1": 1.6})

    assert [each.ok for each in list_checks(quick)] == [True, True]
    assert [each.ok for each in list_checks(slow)] == [False, False]


def test_kinds_of_others_are_held_to_time_and_memory() -> None:
    small, large = (
        Loaded(90, 40, elasticsearch=seconds, elasticsearch_bytes=1, megabytes=memory)
        for seconds, memory in ((4.0, 140.0), (6.0, 160.0))
    )

    assert [each.ok for each in loaded_checks(small)] == [True, True]
    assert [each.ok for each in loaded_checks(large)] == [False, False]
