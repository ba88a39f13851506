"""ZoneAwarePodDisruptionBudgets: what is valid, what each field comes to, and what the validating webhook says."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec import Raw

from fairlead.contracts.zones.configuration_kinds import ConfigurationMeta
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget, guard_of, judge
from fairlead.contracts.zones.decide.configurations import InvalidConfiguration
from kubeloop.objects.review import Review
from tests.builders import NOW, a_zone

META = ConfigurationMeta(name="budget", uid="u", resource_version="1", namespace="test", generation=3)
SELECTOR = {"matchLabels": {"app": "x"}}
ONE_GROUP, TWO_GROUPS = "zone-[a-z]-([0-9]+)", "(zone)-[a-z]-([0-9]+)"


def guard(**spec: object) -> DisruptionBudget:
    return guard_of(META, {"selector": SELECTOR, **spec})


def problem(spec: object) -> str:
    with pytest.raises(InvalidConfiguration) as caught:
        guard_of(META, spec)
    return str(caught.value)


def with_fields(**spec: object) -> dict[str, object]:
    return {"selector": SELECTOR, **spec}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (None, "spec"),
        ("text", "spec"),
        ([], "spec"),
        ({}, "spec.selector"),
        ({"selector": "app=x"}, "spec.selector"),
        ({"selector": {}}, "spec.selector.matchLabels"),
        ({"selector": {"matchLabels": ["app"]}}, "spec.selector.matchLabels"),
        ({"selector": {"matchLabels": {"app": 1}}}, "spec.selector.matchLabels.app"),
        ({"selector": {**SELECTOR, "matchExpressions": [{"key": "a"}]}}, "spec.selector.matchExpressions"),
        (with_fields(maxUnavailable=-1), "spec.maxUnavailable"),
        (with_fields(maxUnavailable="1"), "spec.maxUnavailable"),
        (with_fields(maxUnavailable=1.0), "spec.maxUnavailable"),
        (with_fields(maxUnavailable=True), "spec.maxUnavailable"),
        (with_fields(maxUnavailablePercentage=101), "spec.maxUnavailablePercentage"),
        (with_fields(maxUnavailablePercentage=-1), "spec.maxUnavailablePercentage"),
        (with_fields(maxUnavailablePercentage="5%"), "spec.maxUnavailablePercentage"),
        (with_fields(maxUnavailable=1, maxUnavailablePercentage=5), "spec.maxUnavailable"),
        (with_fields(maxUnavailable=0, maxUnavailablePercentage=0), "spec.maxUnavailable"),
        (with_fields(maxUnavailablePercentage=5, podNamePartitionRegex=ONE_GROUP), "spec.maxUnavailablePercentage"),
        (with_fields(podNamePartitionRegex=7), "spec.podNamePartitionRegex"),
        (with_fields(podNamePartitionRegex="zone-[0-9]+"), "spec.podNamePartitionRegex"),
        (with_fields(podNamePartitionRegex="(zone"), "spec.podNamePartitionRegex"),
        (with_fields(podNamePartitionRegex=TWO_GROUPS), "spec.podNameRegexGroup"),
        (with_fields(podNamePartitionRegex=TWO_GROUPS, podNameRegexGroup=3), "spec.podNameRegexGroup"),
        (with_fields(podNamePartitionRegex=ONE_GROUP, podNameRegexGroup=0), "spec.podNameRegexGroup"),
        (with_fields(podNamePartitionRegex=ONE_GROUP, podNameRegexGroup="1"), "spec.podNameRegexGroup"),
        (with_fields(crossZoneEvictionDelay="5m"), "spec.crossZoneEvictionDelay"),
        (with_fields(crossZoneEvictionDelay=5), "spec.crossZoneEvictionDelay"),
        (with_fields(crossZoneEvictionDelay="1d", podNamePartitionRegex=ONE_GROUP), "spec.crossZoneEvictionDelay"),
        (with_fields(crossZoneEvictionDelay="-5m", podNamePartitionRegex=ONE_GROUP), "spec.crossZoneEvictionDelay"),
    ],
    ids=repr,
)
def test_a_broken_rule_names_its_field(spec: object, field: str) -> None:
    assert problem(spec).startswith(f"{field}: ")


@pytest.mark.parametrize(
    "expression",
    [
        "(a)(?=b)",
        "(a)(?!b)",
        "(?<=b)(a)",
        r"(a)\1",
        "(?P<n>a)(?P=n)",
        "(?>a)(b)",
        "(a)++",
        "(a)(?(1)b|c)",
        "(a)(?#comment)",
        r"(a)\Z",
        r"\C(a)",
        "(a{1001})",
        "((((a{1,90}){1,90}){1,90}){1,90})",
        "(\udc80)",
    ],
)
def test_what_is_outside_of_re2_is_refused(expression: str) -> None:
    assert problem(with_fields(podNamePartitionRegex=expression, podNameRegexGroup=1)).startswith(
        "spec.podNamePartitionRegex: is not an expression in RE2 syntax: "
    )


@pytest.mark.parametrize(
    ("expression", "name", "partition"),
    [
        (".*-zone-[a-z]-([0-9]+)", "x-zone-a-7", "7"),
        (".*-zone-[a-z]-([0-9]+)", "x-zone-a-7-old", ""),
        ("zone-([0-9]+)", "x-zone-7", ""),
        (r"\Az-([0-9]+)\z", "z-7", "7"),
        (r"\Qz.\E-([0-9]+)", "z.-7", "7"),
        (r"\Qz\C\E([0-9]*)", r"z\C7", "7"),
        (r"z-(\pN+)", "z-7", "7"),
        (r"z-(\p{Greek}+)", "z-λ", "λ"),
        ("(?i:Z)-(?P<number>[0-9]+)", "z-7", "7"),
        ("(?<number>[0-9]+)-z", "7-z", "7"),
        ("z-([0-9]+)|y", "y", ""),
        ("z-([0-9]*)", "z-", ""),
        ("(?:z+)+-([0-9]+)", "z" * 240 + "x", ""),
    ],
)
def test_the_partition_is_a_group_of_the_whole_name(expression: str, name: str, partition: str) -> None:
    assert guard(podNamePartitionRegex=expression).partition_of(name) == partition


def test_the_group_can_be_chosen() -> None:
    chosen = guard(podNamePartitionRegex=TWO_GROUPS, podNameRegexGroup=2)

    assert chosen.partition_of("zone-a-7") == "7"


def test_fields_that_do_not_matter_are_let_be() -> None:
    assert guard(podNameRegexGroup=9).regex == ""
    assert guard(crossZoneEvictionDelay="0s").delay == guard(crossZoneEvictionDelay="").delay == 0
    assert guard(maxUnavailablePercentage=0, podNamePartitionRegex=ONE_GROUP).is_partitioned
    assert guard(maxUnavailable=None, unknown="x").max_unavailable == 1
    assert guard(podNamePartitionRegex=ONE_GROUP, crossZoneEvictionDelay="1m30s").delay == 90


@pytest.mark.parametrize(
    ("spec", "replicas", "known", "limit"),
    [
        ({}, 10, 10, 1),
        ({"maxUnavailable": 3}, 2, 2, 3),
        ({"maxUnavailable": 0}, 10, 10, 0),
        ({"maxUnavailablePercentage": 0}, 10, 10, 0),
        ({"maxUnavailablePercentage": 30}, 10, 8, 2),
        ({"maxUnavailablePercentage": 30}, 8, 10, 2),
        ({"maxUnavailablePercentage": 10}, 3, 3, 1),
        ({"maxUnavailablePercentage": 100}, 3, 3, 3),
        ({"maxUnavailablePercentage": 100}, 3, 0, 0),
    ],
)
def test_the_effective_maximum(spec: dict[str, object], replicas: int, known: int, limit: int) -> None:
    assert guard(**spec).limit(a_zone("a", replicas, known=known)) == limit


def test_a_budget_selects_by_all_of_its_labels() -> None:
    both = guard_of(META, {"selector": {"matchLabels": {"app": "x", "tier": ""}}})

    assert both.selects({"app": "x", "tier": "", "more": "y"})
    assert not both.selects({"app": "x"})
    assert both.selector == "app=x,tier="


def reviewed(body: bytes) -> tuple[bool, int, str]:
    verdict = judge(ReviewSnapshot(Review("r", name="budget", namespace="test", object=Raw(body))), NOW)
    return verdict.allowed, verdict.code, verdict.message


def an_object(**changes: object) -> bytes:
    tree = {
        "apiVersion": "rollout-operator.grafana.com/v1",
        "kind": "ZoneAwarePodDisruptionBudget",
        "metadata": {"name": "budget"},
        "spec": {"selector": SELECTOR, "maxUnavailable": 2},
    }
    return msgspec.json.encode({**tree, **changes})


def test_the_webhook_allows_what_is_valid() -> None:
    assert reviewed(an_object()) == (True, 0, "")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (an_object(kind="PodDisruptionBudget"), "kind: "),
        (an_object(apiVersion="policy/v1"), "kind: "),
        (an_object(spec=None), "spec: is required"),
        (an_object(spec={"selector": SELECTOR, "maxUnavailable": -1}), "spec.maxUnavailable: must be 0 or more"),
        (b"null", "the object cannot be read"),
        (b"[1]", "the object cannot be read"),
    ],
)
def test_the_webhook_refuses_with_400_and_says_which_field(body: bytes, says: str) -> None:
    allowed, code, message = reviewed(body)

    assert (allowed, code) == (False, 400)
    assert message.startswith(says)


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = some.sampled_from(
    (
        "selector",
        "maxUnavailable",
        "maxUnavailablePercentage",
        "podNamePartitionRegex",
        "podNameRegexGroup",
        "crossZoneEvictionDelay",
    )
)


@given(some.dictionaries(FIELDS, JSON) | JSON)
def test_any_json_is_either_a_budget_or_invalid(spec: object) -> None:
    try:
        made = guard_of(META, spec)
    except InvalidConfiguration as error:
        said = str(error)
    else:
        said = "spec" if made.max_unavailable >= 0 and made.partition_of("zone-a-0") is not None else "nonsense"

    assert said.startswith("spec")
