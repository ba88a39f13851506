"""Tests that `make test` leaves to `make again`, as CI runs it: others show the same on the real control plane.

`make test` is for whoever has changed something and waits for it. So what costs most on the real control plane, and
shows there once more what others do, is not in it. What only the real server can show stays in every run, and so does
one way through each contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from tests.shards import Case

TestNames: TypeAlias = dict[str, tuple[str, ...]]
"""Tests with all their rows, or single rows, by file; none are all of the file."""


class Repeated(NamedTuple):
    by: str
    """What shows the same in every run; on the real control plane unless it says otherwise."""
    guards: TestNames
    """The tests that this is; a run without one of them fails."""
    tests: TestNames


REPEATED: tuple[Repeated, ...] = (
    Repeated(
        "taking the place of upstream's and giving it back (30), a Helm release that is swapped, groups by their chart",
        {
            "tests/e2e/test_leaderworker_30.py": ("test_ours_takes_upstreams_place_and_gives_it_back[real]",),
            "tests/e2e/test_leaderworker_migration.py": ("test_a_helm_release_is_swapped_and_taken_back[real]",),
            "tests/e2e/test_leaderworker_helm.py": ("test_release_is_installed_upgraded_and_removed[real]",),
        },
        {
            "tests/e2e/test_leaderworker_migration.py": ("test_release_manifests_are_swapped_and_none_is_left_over",),
            "tests/e2e/test_leaderworker_32.py": ("test_what_upstream_has_made_is_taken_over_as_it_is",),
            "tests/e2e/test_leaderworker_helm.py": (
                "test_a_release_of_upstreams_chart_is_upgraded_and_nothing_is_renamed",
            ),
        },
    ),
    Repeated(
        "the budget of pods that follows its set, and evictions that zones refuse",
        {
            "tests/e2e/test_leaderworker_27.py": (
                "test_the_budget_of_pods_follows_the_set_and_goes_with_its_annotation[real]",
            ),
            "tests/e2e/test_zones_36_to_39.py": ("test_36_zpdb_zone_mode[real]",),
        },
        {
            "tests/e2e/test_leaderworker_evictions.py": ("test_an_installed_manager_keeps_a_drain_to_one_group",),
            "tests/e2e/test_leaderworker_27.py": ("test_without_the_webhook_at_most_as_many_pods_are_out",),
        },
    ),
    Repeated(
        "a set rolled with an older definition, defaults from the schema (3), what is refused on a real cluster",
        {
            "tests/e2e/test_leaderworker_definitions.py": (
                "test_a_set_is_rolled_and_rests_whatever_the_definition_has[older-real]",
            ),
            "tests/e2e/test_leaderworker_admission.py": (
                "test_03_defaults_come_from_the_schema_and_from_the_webhook[real]",
                "test_03_refusals_come_through_the_api_server[real]",
            ),
            "tests/e2e/test_leaderworker_bad_input.py": ("test_so_it_is_on_a_real_cluster[real]",),
        },
        {
            "tests/e2e/test_leaderworker_definitions.py": (
                "test_a_set_is_rolled_and_rests_whatever_the_definition_has[newer-real]",
                "test_a_default_that_appears_in_a_template_rolls_nothing[real]",
            ),
            "tests/e2e/test_leaderworker_bad_input.py": (
                "test_a_template_of_a_megabyte_and_a_half_is_rolled_and_one_that_no_object_can_hold_is_refused[real]",
            ),
            "tests/e2e/test_leaderworker_edges.py": ("test_a_template_that_is_refused_leaves_the_groups_alone[real]",),
            "tests/e2e/test_leaderworker_rewritten.py": ("test_leaders_that_somebody_rewrites_are_applied_once[real]",),
        },
    ),
    Repeated(
        "groups updated one after the other, a partition, workers made by a ready leader, a group that is recreated",
        {
            "tests/e2e/test_leaderworker_01_to_06.py": ("test_groups_are_updated_one_after_the_other[real]",),
            "tests/e2e/test_leaderworker_07_to_13.py": ("test_a_partition_holds_the_lower_groups_back[real]",),
            "tests/e2e/test_leaderworker_14_to_18.py": (
                "test_workers_are_made_when_their_leader_is_ready[real]",
                "test_a_group_is_recreated_when_one_of_its_pods_fails[deleted-real]",
            ),
        },
        {
            "tests/e2e/test_leaderworker_07_to_13.py": ("test_an_old_group_is_rebuilt_from_its_own_revision[2-real]",),
            "tests/e2e/test_leaderworker_14_to_18.py": (
                "test_a_group_is_recreated_when_one_of_its_pods_fails[leader restarted-real]",
                "test_old_workers_that_go_slowly_do_not_take_the_new_leader_along[real]",
                "test_every_group_has_its_own_service_until_they_share_one[real]",
            ),
            "tests/e2e/test_leaderworker_20_to_28.py": ("test_at_rest_rounds_write_nothing[real]",),
            "tests/e2e/test_leaderworker_31.py": ("test_31_nor_to_sets_on_a_real_cluster[real]",),
            "tests/e2e/test_leaderworker_edges.py": (
                "test_leaders_that_somebody_gives_another_key_roll_to_it_within_the_budget[real]",
                "test_a_set_that_was_deleted_without_its_groups_takes_them_over_when_it_is_made_again[real]",
                "test_everything_goes_with_its_set[Background-real]",
            ),
            "tests/e2e/test_leaderworker_blocked.py": (
                "test_a_pod_that_does_not_go_from_a_lost_node_blocks_its_set[real]",
            ),
        },
    ),
    Repeated(
        "a role that is scaled in mid-rollout, two roles within their limits (32), refusals of a set of roles",
        {
            "tests/e2e/test_leaderworker_disaggregated.py": (
                "test_a_scaler_scales_its_role_also_in_the_middle_of_a_rollout[real]",
                "test_what_is_refused_of_a_set_says_why[real]",
            ),
            "tests/e2e/test_leaderworker_32.py": ("test_two_roles_are_rolled_within_their_limits[real]",),
        },
        {
            "tests/e2e/test_leaderworker_disaggregated.py": (
                "test_a_third_revision_comes_and_a_role_goes_in_the_middle_of_a_rollout[real]",
            ),
        },
    ),
    Repeated(
        "groups that are each alone in their rack",
        {
            "tests/e2e/test_leaderworker_exclusive.py": ("test_groups_are_each_alone_in_their_rack[real]",),
        },
        {
            "tests/e2e/test_leaderworker_exclusive.py": (
                "test_a_group_that_waits_takes_the_rack_that_another_set_leaves[real]",
                "test_a_rollout_without_surge_needs_no_rack_beside[real]",
                "test_a_rollout_with_surge_says_that_the_group_of_the_surge_has_no_rack[real]",
                "test_subgroups_are_each_alone_in_their_rack_within_the_row_of_their_group[real]",
                "test_a_subgroup_of_workers_without_a_rack_is_named[real]",
                "test_sets_that_keep_only_their_own_groups_apart_share_racks[real]",
            ),
        },
    ),
    Repeated(
        "undo after a rollout, a refusal of the webhook in its words, programs beside a rollout of zones",
        {
            "tests/e2e/test_leaderworker_commands.py": (
                "test_undo_after_a_rollout_returns_by_a_rollout[real]",
                "test_a_refusal_of_the_webhook_is_reported_in_its_words[real]",
            ),
            "tests/e2e/test_commands.py": ("test_commands_tell_what_a_rollout_waits_for_and_watch_ends_with_it[real]",),
        },
        {
            "tests/e2e/test_leaderworker_commands.py": (
                "test_undo_is_decided_anew_when_somebody_else_was_faster[real]",
                "test_a_restart_replaces_every_group_and_a_pause_holds_it[real]",
            ),
            "tests/e2e/test_zones_verbs.py": (
                "test_a_paused_group_stays_as_it_is_until_it_is_resumed[real]",
                "test_a_restart_replaces_every_pod_zone_after_zone[real]",
            ),
            "tests/e2e/test_operators_word.py": (),
            "tests/e2e/test_plans_commands.py": ("test_promote_opens_gate_after_gate_until_the_end[real]",),
            "tests/e2e/test_bad_input.py": ("test_token_that_the_cluster_does_not_know_is_blamed[real]",),
        },
    ),
    Repeated(
        "the same of zones, and of groups by their chart",
        {
            "tests/e2e/test_uninstall.py": ("test_kinds_go_only_when_asked_for_and_say_what_goes_with_them[real]",),
            "tests/e2e/test_leaderworker_uninstall.py": (
                "test_all_of_an_installation_is_found_and_removed_webhooks_first[real-chart]",
            ),
        },
        {
            "tests/e2e/test_leaderworker_uninstall.py": (
                "test_kinds_go_only_when_asked_for_and_say_what_goes_with_them[real]",
            ),
            "tests/e2e/test_plans_uninstall.py": (
                "test_kinds_go_only_when_asked_for_and_say_what_goes_with_them[real]",
            ),
            "tests/e2e/test_environments_uninstalling.py": (
                "test_kinds_are_let_go_of_alone_once_the_operator_has_ended[real]",
            ),
        },
    ),
    Repeated(
        "legacy environments (T01), a changed manifest (T04), objects stored anew (A24), two tools and versions (A22)",
        {
            "tests/e2e/test_environments_t01_to_t10.py": (
                "test_t01_a_legacy_environment_rolls_out_when_v1alpha1_is_applied[same requestRollout-real]",
                "test_t04_a_changed_manifest_rolls_out_and_the_same_again_changes_nothing[real]",
            ),
            "tests/e2e/test_environments_a21_to_a28.py": (
                "test_a24_legacy_objects_are_stored_anew_and_none_rolls_out[real]",
                "test_a22_two_tools_apply_two_versions_and_each_keeps_what_is_its_own[real]",
            ),
        },
        {
            "tests/e2e/test_environments_t01_to_t10.py": (
                "test_t06_a_legacy_promotion_is_finished_and_rolled_out_once_more[real]",
            ),
            "tests/e2e/test_environments_a21_to_a28.py": (
                "test_a22_what_was_applied_by_the_client_is_taken_over_by_the_server_in_the_other_version[real]",
            ),
            "tests/e2e/test_environments_edits.py": (
                "test_an_edit_before_during_and_after_the_migration_is_rolled_out[during-real]",
            ),
            "tests/e2e/test_environment_managers.py": (
                "test_a_tool_of_v1alpha1_gives_up_everything_by_applying_a_name_alone[real]",
            ),
        },
    ),
    Repeated(
        "a rollout of a trait turned round (16), by an AppRollout and revision by revision, a handover (21)",
        {
            "tests/e2e/test_plans_16_to_18.py": ("test_scenario_16_swap_in_mid_rollout[real]",),
            "tests/e2e/test_plans_app_rollouts.py": (
                "test_a_revision_is_rolled_turned_round_in_the_middle_and_rolled_again[real]",
            ),
            "tests/e2e/test_plans_21_to_23.py": ("test_scenario_21_application_handover[real]",),
        },
        {
            "tests/e2e/test_plans_rollouts_as_traits.py": (
                "test_an_application_is_rolled_by_a_rollout_revision_by_revision[real]",
            ),
            "tests/e2e/test_plans_app_rollouts.py": (
                "test_another_target_without_a_source_takes_the_pods_of_the_last_one[real]",
            ),
            "tests/e2e/test_plans_rollouts.py": (
                "test_a_revision_is_rolled_turned_round_in_the_middle_and_rolled_again[real]",
            ),
        },
    ),
    Repeated(
        "programs of two versions (A23), a rotation that fails no read (A26), a served certificate that is exchanged",
        {
            "tests/e2e/test_apiversions_leadership.py": ("test_a23_programs_of_two_versions[real]",),
            "tests/e2e/test_apiversions_certificates.py": (
                "test_a26_a_rotation_fails_no_read_and_writes_the_definition_twice[real]",
            ),
            "tests/e2e/test_environments_a21_to_a28.py": (
                "test_a26_certificates_and_their_authority_are_exchanged_while_conversion_works[real]",
            ),
        },
        {
            "tests/e2e/test_apiversions_rolling.py": (),
            "tests/e2e/test_webhooks_served.py": ("test_certificate_is_renewed_without_a_request_that_fails[real]",),
        },
    ),
    Repeated(
        "fifty objects that go to the new version (A19), a migration and its journal, a CRD that is attached (A36)",
        {
            "tests/e2e/test_apiversions_offline.py": (
                "test_a19_fifty_objects_go_to_the_new_version_while_nobody_else_may_write[real]",
            ),
            "tests/e2e/test_apiversions_migrate.py": (
                "test_every_object_is_written_once_and_the_old_version_can_be_removed[real]",
            ),
            "tests/e2e/test_apiversions_attaching.py": (
                "test_a36_a_crd_is_attached_when_every_replica_can_and_detached_when_it_can_do_without[real]",
            ),
        },
        {
            "tests/e2e/test_apiversions_offline.py": (
                "test_a20_an_upgrade_that_is_killed_while_it_converts_goes_on[real]",
                "test_a21_an_upgrade_that_has_converted_is_rolled_back[real]",
            ),
            "tests/e2e/test_apiversions_unreadable.py": ("test_on_a_real_server_it_is_one_that_is_spoilt_in_etcd",),
            "tests/e2e/test_apiversions_uninstalling.py": (),
            "tests/e2e/test_apiversions_rights.py": ("test_a_real_server_is_told_of_alike[list WIDGETS-real]",),
            "tests/cli/test_up_versions.py": (
                "test_in_the_demo_a_kind_gets_a_new_version_and_loses_the_old_one[real]",
            ),
        },
    ),
    Repeated(
        "pods that wait for minReadySeconds on the embedded cluster, marked pods on the real one",
        {
            "tests/e2e/test_zones_rollout_features.py": (
                "test_each_pod_is_ready_for_min_ready_seconds_before_the_next_goes[sim]",
                "test_marked_pods_are_replaced_zone_after_zone[real]",
            ),
        },
        {
            "tests/e2e/test_zones_rollout_features.py": (
                "test_each_pod_is_ready_for_min_ready_seconds_before_the_next_goes[real]",
            ),
        },
    ),
    Repeated(
        "the image of all programs, groups by their chart, zones by a chart's container",
        {
            "tests/image/test_contents.py": ("test_every_program_starts_by_its_name",),
            "tests/image/test_groups.py": ("test_an_installation_rolls_groups[real-chart]",),
            "tests/image/test_run.py": ("test_the_chart_s_container_rolls_zones[real-rollout-operator]",),
        },
        {
            "tests/image/test_contents.py": ("test_each_target_starts_its_program",),
            "tests/image/test_groups.py": ("test_an_installation_rolls_groups[real-manifests]",),
            "tests/image/test_run.py": ("test_the_chart_s_container_rolls_zones[real-fairlead]",),
        },
    ),
    Repeated(
        "what was recorded of the real server is made by `make record` alone, and played back in every run",
        {
            "tests/exchanges/test_replay.py": ("test_answers_are_those_of_the_real_server",),
        },
        {
            "tests/tools/test_answers.py": ("test_what_is_committed_of_expressions_is_what_the_real_server_says",),
            "tests/tools/test_copies.py": ("test_what_is_recorded_now_rests",),
            "tests/tools/test_exchanges.py": ("test_what_is_committed_is_what_the_real_server_answers",),
            "tests/tools/test_schemas.py": ("test_the_file_is_what_the_real_server_says",),
        },
    ),
    Repeated(
        "ports that are taken, as far as the guard of programs shows without a control plane",
        {
            "tests/plane/test_launch.py": ("test_ports_are_tried_only_so_often",),
        },
        {
            "tests/plane/test_launch.py": (
                "test_a_taken_port_of_another_program_is_exchanged_also_when_the_own_one_was_chosen",
                "test_busy_port_is_left_for_another",
            ),
        },
    ),
)


def found(tests: Sequence[Case]) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Those that others show as well, and what is said above of these files and is about no test that runs."""
    files = {test.file for test in tests}
    repeated: list[Case] = []
    unknown: list[str] = []
    for entry in (name for each in REPEATED for name in names_of(each.tests)):
        about = [test for test in tests if test.real and _is_about(entry, test.name)]
        repeated += about
        if not about and entry.partition("::")[0] in files:
            unknown.append(entry)
    left_out = frozenset(repeated)
    kept = [test.name for test in tests if test not in left_out]
    guards = (name for each in REPEATED for name in names_of(each.guards) if name.partition("::")[0] in files)
    unknown += (guard for guard in guards if not any(_is_about(guard, name) for name in kept))
    return tuple(repeated), tuple(unknown)


def names_of(given: TestNames) -> Iterator[str]:
    for file, tests in given.items():
        yield from (f"{file}::{test}" for test in tests) if tests else (file,)


def _is_about(entry: str, name: str) -> bool:
    """Entries are names of files, tests or rows."""
    return name == entry or name.startswith((f"{entry}::", f"{entry}["))
