"""Plans with every broken number, percentage, duration, address, range and reference: one clear sentence each.

A value of the wrong kind and one that will not do are told alike: the path of the field, what it is, what it must be.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from fairlead.contracts.plans.decide.admission.validation import refusals
from fairlead.contracts.plans.kinds import Json
from tests.contracts.plans.decide.admission.test_validation import D1, D2, HOOK, METRIC, PLAN, a_trait

WHOLE = "must be a whole number of 32 bits"
PERCENT = "must be a number, or a percentage such as 20%"
ADDRESS = "must be an absolute address with http or https, such as https://hooks.example/start"
NUMBER = "must be a number, with or without a percent sign"
NAME = "must be a name: up to 253 of a to z, 0 to 9, - and . inside"
ROUTED: Json = {"provider": "istio", "ingressRef": {"name": "shop"}}
OWN: Json = {"name": "own", "metricsRange": {"max": 1}}


def plan(path: str, value: Any) -> Json:
    """One that holds the value there, and else only what must be."""
    head, _, field = path.rpartition(".")
    match head:
        case "":
            return {field: value}
        case "rolloutBatches[0]":
            return {"rolloutBatches": [{field: value}]}
        case "rolloutWebhooks[0]":
            return {"rolloutWebhooks": [{**HOOK, field: value}]}
        case "canaryMetric[0]":
            return {"canaryMetric": [{**METRIC, field: value}]}
        case "canaryMetric[0].metricsRange":
            return {"canaryMetric": [{**METRIC, "metricsRange": {field: value}}]}
        case "canaryMetric[0].templateRef":
            return {"canaryMetric": [{**OWN, "templateRef": {"name": "t", field: value}}]}
        case "trafficRouting":
            return {"trafficRouting": {**ROUTED, field: value}}
        case "trafficRouting.ingressRef":
            return {"trafficRouting": {**ROUTED, "ingressRef": {"name": "shop", field: value}}}
        case "rolloutBatches[0].trafficMatch[0]":
            match = {"header": "X-Canary", "exact": "yes", field: value}
            return {"rolloutBatches": [{"trafficMatch": [match]}], "trafficRouting": ROUTED}
        case "alerts[0]":
            return {"alerts": [{"providerRef": {"name": "chat"}, field: value}]}
        case "alerts[0].providerRef":
            return {"alerts": [{"providerRef": {field: value}}]}
    raise AssertionError(head)


def rows(paths: Iterable[str], values: Iterable[Any], words: str) -> list[tuple[str, Any, str]]:
    return [(path, value, words) for path in paths for value in values]


NUMBERS = ("targetSize", "numBatches", "lastBatchToRollout", "batchPartition", "progressDeadlineSeconds")
BATCH_NUMBERS = tuple(f"rolloutBatches[0].{each}" for each in ("instanceInterval", "soakSeconds", "trafficWeight"))
METRIC_NUMBERS = ("canaryMetric[0].failureLimit", "canaryMetric[0].successCount")
PODS = ("rolloutBatches[0].replicas", "rolloutBatches[0].maxUnavailable")
DURATIONS = ("canaryMetric[0].interval", "rolloutWebhooks[0].timeout")
BOUNDS = ("canaryMetric[0].metricsRange.min", "canaryMetric[0].metricsRange.max")
NAMES = (
    "canaryMetric[0].templateRef.name",
    "canaryMetric[0].templateRef.namespace",
    "trafficRouting.ingressRef.name",
    "trafficRouting.ingressRef.namespace",
    "trafficRouting.sourceService",
    "trafficRouting.targetService",
    "alerts[0].providerRef.name",
)
SWITCHES = ("paused", "revertOnDelete", "canaryMetric[0].dryRun", "canaryMetric[0].whileWaiting")
TABLE = [
    *rows((*NUMBERS, *BATCH_NUMBERS, *METRIC_NUMBERS), (1.5, "3", True, 2**31, -(2**31) - 1, {}, []), WHOLE),
    *rows(("targetSize", "lastBatchToRollout", "batchPartition"), (-1,), "must be greater than or equal to 0"),
    *rows(("numBatches", "progressDeadlineSeconds"), (0, -1), "must be greater than or equal to 1"),
    *rows(("numBatches",), (10_001, 2**31 - 1), "must be 10000 or less"),
    *rows(BATCH_NUMBERS[:2], (-1,), "must be greater than or equal to 0"),
    *rows(BATCH_NUMBERS[2:], (-1, 101), "must be from 0 to 100"),
    *rows(PODS, ("-5%", "5 %", "5%%", "%", "0x5%", "１０%", "1.5%", "20", "0.2", "", "1e2%", "9" * 12 + "%"), PERCENT),  # noqa: RUF001
    *rows(PODS, (-1,), "must be greater than or equal to 0"),
    *rows(DURATIONS, ("abc", ".s", "\u0661s"), "is not a duration: write for example 90s, 5m or 1h30m"),
    *rows(DURATIONS, ("1d", "1m 30s"), "use h, m, s, ms, us or ns"),
    *rows(DURATIONS, ("10",), "unit"),
    *rows(DURATIONS, ("0s", "-1s"), "must be longer than 0"),
    *rows(DURATIONS, (5, True, {}), "must be a text"),
    *rows(
        ("rolloutWebhooks[0].url",),
        (
            "ftp://x", "http://", "//x", "x", "http://x:99999", "http://x:0/", "http://[::1", "http://a b",
            "http://x\n", "mailto:x", "javascript:alert(1)",
        ),
        ADDRESS,
    ),
    *rows(BOUNDS, ("abc", "NaN", "inf", "1e3", "%", "１", " 1", "", "9" * 400), NUMBER),  # noqa: RUF001
    *rows(("canaryMetric[0].metricsRange",), ({}, {"step": 1}), "give min, max or both"),
    *rows(("canaryMetric[0].metricsRange",), ({"min": 2, "max": 1}, {"min": "-1%", "max": -2}), "greater than max"),
    *rows(("canaryMetric[0].failureLimit",), (-1,), "must be greater than or equal to 0"),
    *rows(("canaryMetric[0].successCount",), (0,), "must be greater than or equal to 1"),
    *rows(("canaryMetric[0].templateRef.kind",), ("Secret",), "must be MetricTemplate"),
    *rows(NAMES, ("A B", "../x", "a/b", "-x", "x" * 254), NAME),
    *rows(SWITCHES, ("yes", 1, {}), "must be true or false"),
    *rows(("rolloutStrategy",), ("Sideways", "increasefirst"), "must be one of IncreaseFirst, DecreaseFirst"),
    *rows(("onFailure",), ("cry",), "must be one of stop, revert"),
    *rows(("rolloutWebhooks[0].type",), ("pre-batch-rollout", "start"), "must be one of initialize-rollout"),
    *rows(("rolloutWebhooks[0].method",), ("DELETE", "post"), "must be one of GET, PUT, POST"),
    *rows(("rolloutWebhooks[0].expectedStatus",), ([0], [99], [600]), "must be a status of HTTP, from 100 to 599"),
    *rows(("rolloutWebhooks[0].metadata",), ({"a": 1}, {"a": None}, "x", ["a"]), "must be an object of texts"),
    *rows(("trafficRouting.provider",), ("nginx", ""), "must be one of istio, gatewayapi, smi, none"),
    *rows(("trafficRouting.port",), (0, -1, 65536), "must be from 1 to 65535"),
    *rows(("alerts[0].severity",), ("loud",), "must be one of info, warn, error"),
    *rows(("rolloutBatches[0].trafficMatch[0].header",), ("X Y", "é", "a:b"), "must be the name of a header"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "words"), TABLE)
def test_a_2_a_broken_value_is_one_sentence_with_its_path(path: str, value: Any, words: str) -> None:
    said = [*refusals(a_trait(plan(path, value)), "ns")]

    assert len(said) == 1, said
    assert said[0].startswith(f"{PLAN}.{path}"), said
    assert words in said[0]
    assert "\n" not in said[0]


@pytest.mark.parametrize(
    ("pods", "sentence"),
    [
        (["a", "a"], f'{PLAN}.rolloutBatches[0].podList[1]: Invalid value: "a": must not be named twice'),
        ([""], f"{PLAN}.rolloutBatches[0].podList[0]: Required value"),
        (["A B"], f'{PLAN}.rolloutBatches[0].podList[0]: Invalid value: "A B": {NAME}'),
        ([1], f"{PLAN}.rolloutBatches[0].podList[0]: Invalid value: 1: must be a text"),
        ("a", f'{PLAN}.rolloutBatches[0].podList: Invalid value: "a": must be a list'),
    ],
)
def test_a_2_pods_are_named_one_by_one(pods: Any, sentence: str) -> None:
    assert [*refusals(a_trait({"rolloutBatches": [{"podList": pods}]}), "ns")] == [sentence]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"apiVersion": ""}, "apiVersion: Required value"),
        ({"kind": None}, "kind: Required value"),
        ({"name": ""}, "name: Required value"),
        ({"name": "A/B"}, f'name: Invalid value: "A/B": {NAME}'),
        ({"name": ".."}, f'name: Invalid value: "..": {NAME}'),
        ({"name": 7}, "name: Invalid value: 7: must be a text"),
        ({"namespace": "other"}, 'namespace: Invalid value: "other": must be empty or ns'),
    ],
)
def test_a_3_a_broken_reference_is_told(changes: Json, sentence: str) -> None:
    target = [*refusals(a_trait(target={**D2, **changes}, sources=()), "ns")]

    assert f"spec.targetRef.{sentence}" in target
    assert not any("sourceRef" in each for each in target)


def test_a_3_sources_are_named_once_and_are_not_the_target() -> None:
    said = [*refusals(a_trait(sources=(D1, D1, D2)), "ns")]

    assert said == [
        'spec.sourceRef[1].name: Invalid value: "d1": must not be named twice',
        'spec.sourceRef[2].name: Invalid value: "d2": must not be the target',
    ]


def test_a_2_more_batches_than_can_be_kept_are_not_looked_at_one_by_one() -> None:
    said = [*refusals(a_trait({"rolloutBatches": [{"replicas": -1}] * 10_001}), "ns")]

    assert said == [f"{PLAN}.rolloutBatches: Too many: 10001: must have at most 10000 items"]


def test_a_2_everything_that_is_wrong_is_told_at_once() -> None:
    broken = {
        "targetSize": -1,
        "rolloutStrategy": "Sideways",
        "rolloutBatches": [{"replicas": "x"}, {"soakSeconds": -1}],
    }

    said = [*refusals(a_trait(broken, target={}), "ns")]

    fields = ("apiVersion", "kind", "name", "targetSize", "rolloutStrategy", "replicas", "soakSeconds")
    assert all(any(f".{field}: " in each for each in said) for field in fields)
