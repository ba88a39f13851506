"""Which budgets are in force after any sequence of observations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from fairlead.contracts.zones.configuration_kinds import ConfigurationMeta, ConfigurationObject
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget, guard_of
from fairlead.contracts.zones.decide.configurations import Configurations, Observed, forget
from fairlead.contracts.zones.decide.configurations import observe as observe_any
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import HealthCheck, read

NONE: Configurations[DisruptionBudget] = Configurations()


def observe(
    state: Configurations[DisruptionBudget], item: ConfigurationObject
) -> tuple[Configurations[DisruptionBudget], Observed]:
    return observe_any(state, item, guard_of)


def budget(number: int, *, uid: str = "u", generation: int = 1, name: str = "budget") -> ConfigurationObject:
    """Valid unless the number is negative."""
    meta = ConfigurationMeta(name=name, uid=uid, resource_version="1", namespace="test", generation=generation)
    return ConfigurationObject(meta, {"selector": {"matchLabels": {"app": "x"}}, "maxUnavailable": number})


def after(*items: ConfigurationObject) -> Configurations[DisruptionBudget]:
    state = NONE
    for item in items:
        state, _ = observe(state, item)
    return state


def in_force(state: Configurations[DisruptionBudget]) -> list[int]:
    return [guard.max_unavailable for guard in state.of("test")]


def test_a_valid_budget_is_put_in_force() -> None:
    state, observed = observe(NONE, budget(2))

    assert (in_force(state), observed.result) == ([2], "updated")
    assert state.of("other") == ()


def test_only_a_newer_generation_replaces() -> None:
    state = after(budget(2, generation=5))

    assert observe(state, budget(3, generation=5))[1].result == "ignored"
    assert observe(state, budget(3, generation=4))[1].result == "ignored"
    newer, observed = observe(state, budget(3, generation=6))
    assert (in_force(newer), observed.result) == ([3], "updated")


def test_another_object_of_the_same_name_always_replaces() -> None:
    state, observed = observe(after(budget(2, generation=5)), budget(3, uid="other", generation=1))

    assert (in_force(state), observed.result) == ([3], "updated")


def test_an_invalid_version_leaves_the_valid_one_in_force() -> None:
    state, observed = observe(after(budget(2)), budget(-1, generation=2))

    assert (in_force(state), observed.result) == ([2], "invalid")
    assert observed.why.startswith("spec.maxUnavailable: ")
    assert in_force(observe(state, budget(4, generation=3))[0]) == [4]


def test_a_deleted_budget_is_no_longer_in_force() -> None:
    state, observed = forget(after(budget(2, generation=2)), budget(2, generation=2))

    assert (in_force(state), observed.result) == ([], "deleted")


def test_a_late_deletion_changes_nothing() -> None:
    state = after(budget(2, generation=2))

    assert forget(state, budget(1, generation=1))[1].result == "delete-ignored"
    assert forget(state, budget(2, uid="other", generation=9))[1].result == "delete-ignored"
    assert forget(NONE, budget(2))[1].result == "delete-ignored"


EVENTS = some.lists(
    some.tuples(
        some.booleans(),
        some.builds(
            budget,
            some.integers(-1, 3),
            uid=some.sampled_from("uv"),
            generation=some.integers(1, 4),
            name=some.sampled_from("xy"),
        ),
    ),
    max_size=12,
)


@given(EVENTS)
def test_results_say_what_happened(events: list[tuple[bool, ConfigurationObject]]) -> None:
    """The state changes exactly when the result says so, and what is in force was observed as valid."""
    state = NONE
    for there, item in events:
        before = state
        state, observed = (observe if there else forget)(state, item)

        assert (state is not before) == (observed.result in ("updated", "deleted"))
        key = ("test", item.metadata.name)
        assert (key in state.in_force) >= (observed.result == "updated")
        assert {name: guard for name, guard in state.in_force.items() if name != key} == {
            name: guard for name, guard in before.in_force.items() if name != key
        }
        assert all(number >= 0 for number in in_force(state))


def a_check(query: str, generation: int) -> ConfigurationObject:
    """A health check; without a query it is invalid."""
    meta = ConfigurationMeta(name="check", uid="u", resource_version="1", namespace="test", generation=generation)
    check = {"name": "errors", "query": query, "successQuery": "${current} == bool 0"}
    spec = {"selector": {"matchLabels": {}}, "prometheusURL": "http://prometheus", "checks": [check]}
    return ConfigurationObject(meta, spec)


def test_health_checks_are_put_in_force_by_the_same_rules() -> None:
    query = "up{${targetMatchers}}"
    nothing: Configurations[HealthCheck] = Configurations()
    state, _ = observe_any(nothing, a_check(query, 2), read)

    assert observe_any(state, a_check(query, 1), read)[1].result == "ignored"
    kept, observed = observe_any(state, a_check("", 3), read)
    assert (kept, observed.result) == (state, "invalid")
    assert forget(state, a_check(query, 2))[0].of("test") == ()
