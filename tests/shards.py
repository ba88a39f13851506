"""Which tests run together in one process.

Tests of one file are neighbours, as are those of one folder. Those on the real control plane have shards of their own,
and so have those among them that want its controllers: one plane per shard is enough.
Files that take long are spread over several shards. Each test is in exactly one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple


class Case(NamedTuple):
    name: str
    """With its file, as pytest takes it on its command line."""
    real: bool
    """Whether it needs the real control plane."""
    compares: bool = False
    """Whether it is one side of a comparison of the embedded cluster with a real one, and nothing else."""
    controllers: bool = False
    """Whether the real control plane that it needs is one with controllers."""

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]

    @property
    def place(self) -> tuple[bool, bool, str]:
        """Tests of the same place are neighbours."""
        return self.real, self.controllers, self.file


class Shard(NamedTuple):
    tests: tuple[Case, ...]
    seconds: float
    part: str = ""
    """Which part of its file, where it has not all of it."""

    @property
    def real(self) -> bool:
        return self.tests[0].real

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(test.file for test in self.tests))

    @property
    def name(self) -> str:
        first, last = self.files[0], self.files[-1]
        span = first if first == last else f"{first} to {last}"
        plane = ", real controllers" if self.tests[0].controllers else ", real API server" if self.real else ""
        return span + self.part + plane


LENGTH = {False: 100.0, True: 230.0}
"""Seconds of a shard; those on a real control plane start one first, so they are longer."""
USUAL = {False: 0.005, True: 2.0}
"""Seconds of a test."""
SECONDS: dict[tuple[str, bool], float] = {
    ("tests/chaos/apiversions/test_machine.py", False): 4.0,
    ("tests/chaos/apiversions/test_mutations.py", False): 6.0,
    ("tests/chaos/environments/test_conversion_in_trouble.py", False): 4.0,
    ("tests/chaos/environments/test_crash_at_every_effect.py", False): 38.0,
    ("tests/chaos/environments/test_edits_while_migrating.py", False): 6.0,
    ("tests/chaos/environments/test_examples.py", False): 16.0,
    ("tests/chaos/environments/test_failing_calls.py", False): 12.0,
    ("tests/chaos/environments/test_machine.py", False): 6.0,
    ("tests/chaos/environments/test_migration.py", False): 18.0,
    ("tests/chaos/environments/test_mutations.py", False): 12.0,
    ("tests/chaos/leaderworker/test_machine.py", False): 3.0,
    ("tests/chaos/leaderworker/test_mutations.py", False): 52.0,
    ("tests/chaos/plans/test_machine.py", False): 5.0,
    ("tests/chaos/plans/test_mutations.py", False): 11.0,
    ("tests/chaos/test_crash_at_every_effect.py", False): 14.0,
    ("tests/chaos/test_crash_at_every_write.py", False): 8.0,
    ("tests/chaos/test_idle.py", False): 6.0,
    ("tests/chaos/test_leadership.py", False): 8.0,
    ("tests/chaos/test_loner_mutations.py", False): 1.0,
    ("tests/chaos/test_machine.py", False): 5.0,
    ("tests/chaos/test_mishaps.py", False): 11.0,
    ("tests/chaos/test_mutations.py", False): 2.0,
    ("tests/chaos/test_replay.py", False): 9.0,
    ("tests/chaos/test_scaled_examples.py", False): 2.0,
    ("tests/chaos/test_scaled_machine.py", False): 3.0,
    ("tests/chaos/test_scaled_mutations.py", False): 5.0,
    ("tests/chaos/test_stale_cache.py", True): 28.0,
    ("tests/cli/test_imports.py", False): 3.0,
    ("tests/cli/test_reports.py", False): 2.0,
    ("tests/cli/test_up.py", False): 50.0,
    ("tests/cli/test_up_copies.py", False): 2.0,
    ("tests/cli/test_up_groups.py", False): 11.0,
    ("tests/cli/test_up_kubectl.py", False): 16.0,
    ("tests/cli/test_up_limits.py", False): 3.0,
    ("tests/cli/test_up_plans.py", False): 4.0,
    ("tests/cli/test_up_real.py", True): 17.0,
    ("tests/cli/test_up_versions.py", False): 3.0,
    ("tests/cli/test_up_versions.py", True): 20.0,
    ("tests/cli/test_watch.py", False): 4.0,
    ("tests/clients/test_kr8s.py", False): 1.0,
    ("tests/clients/test_kubernetes.py", False): 2.0,
    ("tests/contracts/apiversions/commands/test_rules_commands.py", False): 1.0,
    ("tests/contracts/apiversions/decide/test_round_trips.py", False): 2.0,
    ("tests/contracts/apiversions/install/test_chart.py", False): 2.0,
    ("tests/contracts/apiversions/test_invariants.py", False): 2.0,
    ("tests/contracts/apiversions/test_real_definitions.py", False): 2.0,
    ("tests/contracts/apiversions/test_rule_tests.py", False): 1.0,
    ("tests/contracts/environments/decide/test_undo.py", False): 4.0,
    ("tests/contracts/environments/decide/test_walk.py", False): 4.0,
    ("tests/contracts/environments/install/test_chart.py", False): 3.0,
    ("tests/contracts/environments/install/test_chart_values.py", False): 4.0,
    ("tests/contracts/environments/test_environment_warnings.py", False): 2.0,
    ("tests/contracts/environments/test_environments.py", False): 3.0,
    ("tests/contracts/leaderworker/decide/disaggregated/test_rollouts.py", False): 3.0,
    ("tests/contracts/leaderworker/decide/test_normal_form.py", False): 3.0,
    ("tests/contracts/leaderworker/decide/test_planner_properties.py", False): 6.0,
    ("tests/contracts/leaderworker/install/test_chart.py", False): 5.0,
    ("tests/contracts/leaderworker/test_manager_options.py", False): 1.0,
    ("tests/contracts/leaderworker/test_manager_process.py", False): 5.0,
    ("tests/contracts/leaderworker/test_manager_rights.py", False): 4.0,
    ("tests/contracts/leaderworker/test_metrics.py", False): 2.0,
    ("tests/contracts/leaderworker/test_recorded_objects.py", False): 5.0,
    ("tests/contracts/plans/decide/admission/test_app_rollouts.py", False): 1.0,
    ("tests/contracts/plans/decide/admission/test_bad_input.py", False): 1.0,
    ("tests/contracts/plans/decide/applications/test_app_rollouts.py", False): 2.0,
    ("tests/contracts/plans/decide/applications/test_deployments.py", False): 8.0,
    ("tests/contracts/plans/decide/applications/test_rollouts_as_traits.py", False): 1.0,
    ("tests/contracts/plans/decide/applications/test_trait_flow.py", False): 1.0,
    ("tests/contracts/plans/decide/test_batches.py", False): 3.0,
    ("tests/contracts/plans/decide/test_states.py", False): 1.0,
    ("tests/contracts/plans/decide/test_trait_crashes.py", False): 1.0,
    ("tests/contracts/plans/decide/workloads/test_pair_exhaustive.py", False): 5.0,
    ("tests/contracts/plans/install/test_chart.py", False): 5.0,
    ("tests/contracts/plans/test_demo.py", False): 1.0,
    ("tests/contracts/plans/test_process.py", False): 1.0,
    ("tests/contracts/plans/test_webhooks.py", False): 1.0,
    ("tests/contracts/zones/decide/test_evictions_together.py", False): 2.0,
    ("tests/contracts/zones/decide/test_exhaustive.py", False): 12.0,
    ("tests/contracts/zones/decide/test_properties.py", False): 3.0,
    ("tests/contracts/zones/install/test_chart.py", False): 3.0,
    ("tests/contracts/zones/install/test_permissions.py", False): 1.0,
    ("tests/contracts/zones/test_disruption_budgets.py", False): 2.0,
    ("tests/contracts/zones/test_ignored_annotations.py", False): 4.0,
    ("tests/contracts/zones/test_phased.py", False): 7.0,
    ("tests/contracts/zones/test_refused_scales.py", False): 3.0,
    ("tests/contracts/zones/test_scaling.py", False): 2.0,
    ("tests/core/test_fields.py", False): 2.0,
    ("tests/core/test_written.py", False): 8.0,
    ("tests/e2e/test_access.py", True): 3.0,
    ("tests/e2e/test_admission.py", True): 4.0,
    ("tests/e2e/test_alerts.py", False): 25.0,
    ("tests/e2e/test_apiversions_attaching.py", False): 3.0,
    ("tests/e2e/test_apiversions_attaching.py", True): 22.0,
    ("tests/e2e/test_apiversions_built_in.py", True): 8.0,
    ("tests/e2e/test_apiversions_certificates.py", False): 12.0,
    ("tests/e2e/test_apiversions_certificates.py", True): 25.0,
    ("tests/e2e/test_apiversions_conversion.py", True): 25.0,
    ("tests/e2e/test_apiversions_crashes.py", False): 2.0,
    ("tests/e2e/test_apiversions_install.py", True): 18.0,
    ("tests/e2e/test_apiversions_leadership.py", True): 25.0,
    ("tests/e2e/test_apiversions_meddled_migrations.py", False): 1.0,
    ("tests/e2e/test_apiversions_migrate.py", False): 3.0,
    ("tests/e2e/test_apiversions_migrate.py", True): 16.0,
    ("tests/e2e/test_apiversions_objects.py", False): 1.0,
    ("tests/e2e/test_apiversions_offline.py", False): 3.0,
    ("tests/e2e/test_apiversions_offline.py", True): 25.0,
    ("tests/e2e/test_apiversions_offline_crashes.py", False): 9.0,
    ("tests/e2e/test_apiversions_own_migrations.py", True): 11.0,
    ("tests/e2e/test_apiversions_real_definitions.py", False): 3.0,
    ("tests/e2e/test_apiversions_registering.py", True): 10.0,
    ("tests/e2e/test_apiversions_rights.py", False): 4.0,
    ("tests/e2e/test_apiversions_rights.py", True): 53.0,
    ("tests/e2e/test_apiversions_rolling.py", True): 31.0,
    ("tests/e2e/test_apiversions_rules.py", True): 5.0,
    ("tests/e2e/test_apiversions_uninstalling.py", True): 49.0,
    ("tests/e2e/test_apiversions_unreadable.py", True): 36.0,
    ("tests/e2e/test_bad_input.py", False): 8.0,
    ("tests/e2e/test_bad_requests.py", False): 2.0,
    ("tests/e2e/test_bound_writes.py", True): 1.0,
    ("tests/e2e/test_clonesets.py", True): 22.0,
    ("tests/e2e/test_commands.py", False): 2.0,
    ("tests/e2e/test_environment_commands.py", False): 8.0,
    ("tests/e2e/test_environment_commands.py", True): 6.0,
    ("tests/e2e/test_environment_managers.py", False): 2.0,
    ("tests/e2e/test_environment_managers.py", True): 8.0,
    ("tests/e2e/test_environment_objects.py", True): 2.0,
    ("tests/e2e/test_environments_a11_to_a20.py", False): 4.0,
    ("tests/e2e/test_environments_a11_to_a20.py", True): 8.0,
    ("tests/e2e/test_environments_a21_to_a28.py", False): 4.0,
    ("tests/e2e/test_environments_a21_to_a28.py", True): 41.0,
    ("tests/e2e/test_environments_blocked.py", False): 3.0,
    ("tests/e2e/test_environments_crashes.py", False): 22.0,
    ("tests/e2e/test_environments_edges.py", False): 8.0,
    ("tests/e2e/test_environments_edits.py", False): 2.0,
    ("tests/e2e/test_environments_edits.py", True): 6.0,
    ("tests/e2e/test_environments_t01_to_t10.py", False): 11.0,
    ("tests/e2e/test_environments_t01_to_t10.py", True): 30.0,
    ("tests/e2e/test_environments_uninstalling.py", False): 2.0,
    ("tests/e2e/test_environments_uninstalling.py", True): 47.0,
    ("tests/e2e/test_kinds.py", True): 1.0,
    ("tests/e2e/test_kubectl_creating.py", False): 14.0,
    ("tests/e2e/test_kubectl_creating.py", True): 80.0,
    ("tests/e2e/test_kubectl_reading.py", False): 9.0,
    ("tests/e2e/test_kubectl_reading.py", True): 42.0,
    ("tests/e2e/test_kubectl_workloads.py", False): 10.0,
    ("tests/e2e/test_kubectl_workloads.py", True): 40.0,
    ("tests/e2e/test_leaderworker_01_to_06.py", False): 3.0,
    ("tests/e2e/test_leaderworker_01_to_06.py", True): 19.0,
    ("tests/e2e/test_leaderworker_07_to_13.py", False): 5.0,
    ("tests/e2e/test_leaderworker_07_to_13.py", True): 14.0,
    ("tests/e2e/test_leaderworker_14_to_18.py", False): 6.0,
    ("tests/e2e/test_leaderworker_14_to_18.py", True): 23.0,
    ("tests/e2e/test_leaderworker_20_to_28.py", False): 9.0,
    ("tests/e2e/test_leaderworker_20_to_28.py", True): 14.0,
    ("tests/e2e/test_leaderworker_27.py", False): 6.0,
    ("tests/e2e/test_leaderworker_30.py", True): 32.0,
    ("tests/e2e/test_leaderworker_31.py", False): 5.0,
    ("tests/e2e/test_leaderworker_31.py", True): 9.0,
    ("tests/e2e/test_leaderworker_32.py", False): 1.0,
    ("tests/e2e/test_leaderworker_32.py", True): 38.0,
    ("tests/e2e/test_leaderworker_admission.py", False): 3.0,
    ("tests/e2e/test_leaderworker_admission.py", True): 5.0,
    ("tests/e2e/test_leaderworker_bad_input.py", False): 7.0,
    ("tests/e2e/test_leaderworker_bad_input.py", True): 12.0,
    ("tests/e2e/test_leaderworker_blocked.py", False): 6.0,
    ("tests/e2e/test_leaderworker_blocked.py", True): 36.0,
    ("tests/e2e/test_leaderworker_commands.py", False): 6.0,
    ("tests/e2e/test_leaderworker_commands.py", True): 11.0,
    ("tests/e2e/test_leaderworker_crashes.py", False): 17.0,
    ("tests/e2e/test_leaderworker_definitions.py", False): 3.0,
    ("tests/e2e/test_leaderworker_definitions.py", True): 23.0,
    ("tests/e2e/test_leaderworker_disaggregated.py", False): 6.0,
    ("tests/e2e/test_leaderworker_disaggregated.py", True): 21.0,
    ("tests/e2e/test_leaderworker_edges.py", False): 5.0,
    ("tests/e2e/test_leaderworker_edges.py", True): 30.0,
    ("tests/e2e/test_leaderworker_edited_rollouts.py", False): 7.0,
    ("tests/e2e/test_leaderworker_evictions.py", True): 21.0,
    ("tests/e2e/test_leaderworker_exclusive.py", False): 3.0,
    ("tests/e2e/test_leaderworker_helm.py", True): 32.0,
    ("tests/e2e/test_leaderworker_migration.py", True): 46.0,
    ("tests/e2e/test_leaderworker_rights.py", False): 11.0,
    ("tests/e2e/test_leaderworker_slow.py", False): 1.0,
    ("tests/e2e/test_leaderworker_uninstall.py", True): 13.0,
    ("tests/e2e/test_migrating.py", True): 22.0,
    ("tests/e2e/test_operators_word.py", False): 1.0,
    ("tests/e2e/test_phased.py", True): 5.0,
    ("tests/e2e/test_plans_01_to_05.py", False): 1.0,
    ("tests/e2e/test_plans_10_to_12.py", False): 2.0,
    ("tests/e2e/test_plans_10_to_12.py", True): 17.0,
    ("tests/e2e/test_plans_16_to_18.py", False): 1.0,
    ("tests/e2e/test_plans_20_29_32_traffic.py", False): 2.0,
    ("tests/e2e/test_plans_20_29_32_traffic.py", True): 23.0,
    ("tests/e2e/test_plans_21_to_23.py", False): 6.0,
    ("tests/e2e/test_plans_21_to_23.py", True): 11.0,
    ("tests/e2e/test_plans_24_30_33.py", False): 1.0,
    ("tests/e2e/test_plans_36.py", False): 2.0,
    ("tests/e2e/test_plans_app_rollouts.py", False): 6.0,
    ("tests/e2e/test_plans_applications_in_place.py", False): 3.0,
    ("tests/e2e/test_plans_commands.py", False): 3.0,
    ("tests/e2e/test_plans_crashes.py", False): 5.0,
    ("tests/e2e/test_plans_dead_hooks.py", False): 3.0,
    ("tests/e2e/test_plans_install.py", True): 17.0,
    ("tests/e2e/test_plans_rollouts.py", False): 3.0,
    ("tests/e2e/test_plans_rollouts_as_traits.py", False): 3.0,
    ("tests/e2e/test_plans_traffic_kept.py", False): 8.0,
    ("tests/e2e/test_plans_traffic_services.py", False): 1.0,
    ("tests/e2e/test_pod_endpoints.py", False): 4.0,
    ("tests/e2e/test_reading_alike.py", True): 34.0,
    ("tests/e2e/test_replicas.py", False): 2.0,
    ("tests/e2e/test_replicas.py", True): 41.0,
    ("tests/e2e/test_shared_listener.py", True): 29.0,
    ("tests/e2e/test_takeover.py", False): 3.0,
    ("tests/e2e/test_takeover.py", True): 22.0,
    ("tests/e2e/test_uninstall.py", False): 1.0,
    ("tests/e2e/test_webhooks_served.py", False): 6.0,
    ("tests/e2e/test_webhooks_served.py", True): 13.0,
    ("tests/e2e/test_zones_01_to_13.py", False): 1.0,
    ("tests/e2e/test_zones_01_to_13.py", True): 12.0,
    ("tests/e2e/test_zones_14_to_21.py", True): 30.0,
    ("tests/e2e/test_zones_22_to_29.py", True): 18.0,
    ("tests/e2e/test_zones_30_to_32.py", False): 20.0,
    ("tests/e2e/test_zones_30_to_32.py", True): 33.0,
    ("tests/e2e/test_zones_33_to_42.py", False): 3.0,
    ("tests/e2e/test_zones_33_to_42.py", True): 9.0,
    ("tests/e2e/test_zones_36_to_39.py", False): 1.0,
    ("tests/e2e/test_zones_admission_edges.py", False): 2.0,
    ("tests/e2e/test_zones_admission_edges.py", True): 34.0,
    ("tests/e2e/test_zones_admission_own.py", True): 49.0,
    ("tests/e2e/test_zones_blocked.py", False): 3.0,
    ("tests/e2e/test_zones_blocked.py", True): 11.0,
    ("tests/e2e/test_zones_edges.py", True): 17.0,
    ("tests/e2e/test_zones_replicas.py", True): 25.0,
    ("tests/e2e/test_zones_rest.py", False): 7.0,
    ("tests/e2e/test_zones_scaling_edges.py", True): 17.0,
    ("tests/e2e/test_zones_scaling_features.py", False): 4.0,
    ("tests/e2e/test_zones_scaling_features.py", True): 21.0,
    ("tests/e2e/test_zones_undoing.py", False): 3.0,
    ("tests/e2e/test_zones_undoing.py", True): 34.0,
    ("tests/e2e/test_zones_verbs.py", False): 6.0,
    ("tests/e2e/test_zones_verbs.py", True): 12.0,
    ("tests/e2e/test_zones_rollout_features.py", True): 22.0,
    ("tests/engine/decide/test_rotation.py", False): 4.0,
    ("tests/engine/test_estate.py", False): 4.0,
    ("tests/engine/test_manager.py", False): 2.0,
    ("tests/engine/test_metrics_server.py", False): 3.0,
    ("tests/engine/test_migration_job.py", False): 3.0,
    ("tests/engine/test_process.py", False): 1.0,
    ("tests/engine/test_records_over.py", False): 1.0,
    ("tests/engine/test_rounds.py", False): 1.0,
    ("tests/engine/webhooks/test_certificates.py", False): 4.0,
    ("tests/engine/webhooks/test_conversion_pool.py", False): 3.0,
    ("tests/engine/webhooks/test_conversion_worker.py", False): 1.0,
    ("tests/engine/webhooks/test_kept_authority.py", False): 5.0,
    ("tests/engine/webhooks/test_pairs.py", False): 2.0,
    ("tests/engine/webhooks/test_stored.py", False): 2.0,
    ("tests/exchanges/test_replay.py", False): 4.0,
    ("tests/fuzz/test_alike.py", True): 47.0,
    ("tests/image/test_contents.py", True): 13.0,
    ("tests/image/test_groups.py", True): 32.0,
    ("tests/image/test_run.py", True): 27.0,
    ("tests/kubeloop/test_election_safety.py", False): 2.0,
    ("tests/kubeloop/test_events.py", False): 5.0,
    ("tests/kubeloop/test_garbage.py", False): 2.0,
    ("tests/kubeloop/test_record_sweep.py", False): 5.0,
    ("tests/kubesim/controllers/test_clone_traces.py", False): 6.0,
    ("tests/kubesim/controllers/test_daemonset.py", False): 1.0,
    ("tests/kubesim/controllers/test_deployment.py", False): 1.0,
    ("tests/kubesim/controllers/test_deployment_traces.py", False): 4.0,
    ("tests/kubesim/controllers/test_namespaces.py", True): 18.0,
    ("tests/kubesim/controllers/test_recorded_traces.py", False): 9.0,
    ("tests/kubesim/controllers/test_reviewed.py", False): 1.0,
    ("tests/kubesim/controllers/test_statefulset.py", False): 4.0,
    ("tests/kubesim/controllers/test_traces.py", False): 2.0,
    ("tests/kubesim/test_admission_index.py", False): 1.0,
    ("tests/kubesim/test_cel_reference.py", False): 1.0,
    ("tests/kubesim/test_copies.py", False): 2.0,
    ("tests/kubesim/test_front_door.py", False): 3.0,
    ("tests/kubesim/test_kubelet.py", False): 2.0,
    ("tests/kubesim/test_mishaps.py", False): 1.0,
    ("tests/kubesim/test_neighbours.py", False): 1.0,
    ("tests/kubesim/test_pytest_plugin.py", False): 9.0,
    ("tests/kubesim/test_rules_recorded.py", False): 1.0,
    ("tests/kubesim/test_served.py", False): 3.0,
    ("tests/kubesim/test_typed.py", False): 1.0,
    ("tests/test_contract_rules.py", False): 4.0,
    ("tests/test_contributing.py", False): 2.0,
    ("tests/test_fidelity.py", False): 5.0,
    ("tests/test_readmes.py", False): 14.0,
    ("tests/test_shards.py", False): 1.0,
    ("tests/test_soak.py", False): 5.0,
    ("tests/test_summary.py", False): 15.0,
    ("tests/tools/test_copies.py", True): 50.0,
    ("tests/tools/test_exchanges.py", True): 11.0,
}
"""Of files that take longer than their number of tests would say, or much shorter; `make test` prints what shards take.

Of CPU, and of those that wait, as all on a real control plane do, in which others run beside them.
"""


def shards(tests: Iterable[Case]) -> list[Shard]:
    """All tests, each in one shard, in the order of their files."""
    ordered = sorted(tests, key=lambda test: test.place)
    of_files = Counter((test.file, test.real) for test in ordered)
    found: list[Shard] = []
    gathered: list[Shard] = []
    for (real, controllers, file), group in groupby(ordered, key=lambda test: test.place):
        here = tuple(group)
        usual = of_files[file, real] * USUAL[real]
        seconds = SECONDS.get((file, real), usual) * len(here) / of_files[file, real]
        is_other = bool(gathered) and gathered[0].tests[0].place[:2] != (real, controllers)
        if gathered and (is_other or _length(gathered) + seconds > LENGTH[real]):
            found.append(_joined(gathered))
            gathered = []
        if seconds > LENGTH[real]:
            found.extend(_parts(here, seconds))
        else:
            gathered.append(Shard(here, seconds))
    return [*found, _joined(gathered)] if gathered else found


def _length(shards: Iterable[Shard]) -> float:
    return sum(shard.seconds for shard in shards)


def _joined(shards: Sequence[Shard]) -> Shard:
    return Shard(tuple(test for shard in shards for test in shard.tests), _length(shards))


def _parts(tests: Sequence[Case], seconds: float) -> list[Shard]:
    """Every so-manieth test in each: neighbours are alike, so parts are about as long."""
    count = min(math.ceil(seconds / LENGTH[tests[0].real]), len(tests))
    return [
        Shard(tuple(tests[number::count]), seconds / count, f" ({number + 1} of {count})" if count > 1 else "")
        for number in range(count)
    ]
