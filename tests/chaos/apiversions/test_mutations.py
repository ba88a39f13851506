"""The referee objects when a safety of API versions is taken away: each story is fine with it, and broken without."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs

from tests.chaos.apiversions import safeties, stories
from tests.chaos.apiversions.handled import HandledSetting, HandledWorld
from tests.chaos.apiversions.offline import OfflineWorld
from tests.chaos.apiversions.safeties import Take
from tests.chaos.apiversions.stories import Story
from tests.chaos.apiversions.world import ApiSetting, ApiWorld
from tests.chaos.judge import Broken
from tests.chaos.world import Scenario, World, play, play_once
from tests.chaos.zone_plans import Setting

SEEDS = 20
ONE = ApiSetting((), leased=True, latency=0.02, lag=0.1)
TWO = structs.replace(ONE, operators=2)
OFFLINE = structs.replace(ONE, operators=0, storage="v1", versions=("v1",))
HANDLED = HandledSetting((), leased=True, latency=0.02, lag=0.1, operators=2)

CASES: dict[str, tuple[Take, Story, Setting, str]] = {
    "what a version cannot hold is carried": (
        safeties.nothing_is_carried, stories.read_in_one_version_and_put_back, ONE, "I4",
    ),
    "what is carried comes back": (
        safeties.nothing_carried_comes_back, stories.read_in_one_version_and_put_back, ONE, "I4",
    ),
    "an edit wins over what is carried": (
        safeties.carried_leaves_win_always, stories.edited_in_every_version, ONE, "I4",
    ),
    "rules that lose something are not used": (safeties.rules_are_not_tried, stories.other_rules, ONE, "I4"),
    "rewrites are bound to a version": (safeties.rewrites_bound_to_no_version, stories.a_migration, ONE, "3.10"),
    "storedVersions is pruned after a proof": (
        safeties.nothing_is_proven, stories.a_storage_version_that_comes_back, ONE, "I6",
    ),
    "nothing is pruned after a failure": (
        safeties.failures_are_forgotten, stories.a_migration_that_is_refused, ONE, "I6",
    ),
    "migrations exclude each other": (safeties.no_lease_of_migrations, stories.a_migration, ONE, "3.5"),
    "a trial writes nothing": (safeties.dry_runs_write, stories.a_trial, ONE, "I8"),
    "a certificate is trusted before it is shown": (
        safeties.shown_before_it_is_trusted, stories.a_rotation, TWO, "I9",
    ),
    "a version that is in use stays": (safeties.versions_go_unguarded, stories.a_version_removed, ONE, "3.6"),
    "a definition that needs a converter stays attached": (
        safeties.detached_unguarded, stories.detached, ONE, "3.13",
    ),
    "it stays attached without its rules": (safeties.detached_unguarded, stories.rules_deleted, ONE, "3.13"),
    "somebody else's conversion stays": (
        safeties.foreign_conversion_is_taken, stories.somebody_elses_conversion, ONE, "I14",
    ),
    "every replica can convert before it is asked": (
        safeties.attached_before_replicas_are_able, stories.a_replica_that_hears_nothing, TWO, "I17",
    ),
    "restores are bound to a version": (
        safeties.restores_bound_to_no_version, stories.restored_after_edits, ONE, "3.10",
    ),
    "fixing references changes nothing else": (safeties.references_and_more, stories.references_fixed, ONE, "3.6"),
    "nobody writes in the middle of an upgrade": (
        safeties.nothing_is_frozen, stories.written_while_it_is_upgraded, OFFLINE, "3.7",
    ),
    "only the leader writes": (safeties.the_gate_is_open, stories.a_leader_that_goes_on_late, HANDLED, "I10"),
    "an older version does not come back": (
        safeties.any_version_leads, stories.an_older_version_comes_back, HANDLED, "I10",
    ),
    "an upgrade rolls nothing": (safeties.every_upgrade_rolls, stories.an_upgrade, HANDLED, "I11"),
    "a start with nothing to do writes nothing": (safeties.every_start_writes, stories.left_at_rest, ONE, "I12"),
    "contradictory fields touch no workload": (
        safeties.every_payload_is_the_hubs, stories.fields_that_contradict, HANDLED, "I13",
    ),
    "objects of other versions are left alone": (
        safeties.no_guard_before_rounds, stories.handled_by_others, HANDLED, "3.9",
    ),
}  # fmt: skip
WORLDS: dict[Setting, type[World]] = {OFFLINE: OfflineWorld, HANDLED: HandledWorld}


@pytest.mark.parametrize("case", CASES)
def test_without_the_safety_an_invariant_breaks(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of some orders of what is simultaneous; most break in the first."""
    take, story, setting, invariant = CASES[case]
    of = WORLDS.get(setting, ApiWorld)
    play_once(story, setting, started(story), of=of)

    with pytest.raises(Broken, match=f"^{invariant} broken"):
        play_in_many_orders(setting, started(story, lambda: take(monkeypatch)), of)


def play_in_many_orders(setting: Setting, scenario: Scenario, of: type[World]) -> None:
    for seed in range(setting.seed, setting.seed + SEEDS):
        play(structs.replace(setting, seed=seed), scenario, of=of)


def started(story: Story, before: Callable[[], None] = lambda: None) -> Scenario:
    """The story of what is in order."""

    async def scenario(world: World) -> None:
        await world.begin()  # type: ignore[attr-defined]
        before()
        await story(world)
        world.check()

    return scenario
