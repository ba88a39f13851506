"""The two webhook configurations of LeaderWorkerSets, with the fixed names of section 2.10."""

from __future__ import annotations

from fairlead.contracts.leaderworker.disaggregated.kinds import DISAGGREGATED_SETS
from fairlead.contracts.leaderworker.kinds import GROUP, LEADER_WORKER_SETS, NAME
from fairlead.contracts.leaderworker.webhooks import (
    DEFAULT_POD,
    DEFAULT_SET,
    VALIDATE_DISAGGREGATED,
    VALIDATE_POD,
    VALIDATE_SET,
)
from fairlead.engine.charts import Object

SERVICE = "lws-webhook-service"
MUTATING, VALIDATING = "lws-mutating-webhook-configuration", "lws-validating-webhook-configuration"
_SETS = ([GROUP], [LEADER_WORKER_SETS.plural])
_PODS = ([""], ["pods"])
_DISAGGREGATED = ([DISAGGREGATED_SETS.group], [DISAGGREGATED_SETS.plural])
_BOTH = ["CREATE", "UPDATE"]


def registrations(namespace: str) -> tuple[Object, Object]:
    """For an operator of this namespace; they come without its authority."""
    return (
        _configuration(
            "MutatingWebhookConfiguration",
            MUTATING,
            _entry("mleaderworkerset.kb.io", DEFAULT_SET, _SETS, _BOTH, namespace),
            _entry("mpod.kb.io", DEFAULT_POD, _PODS, ["CREATE"], namespace),
        ),
        _configuration(
            "ValidatingWebhookConfiguration",
            VALIDATING,
            _entry("vleaderworkerset.kb.io", VALIDATE_SET, _SETS, _BOTH, namespace),
            _entry("vpod.kb.io", VALIDATE_POD, _PODS, _BOTH, namespace),
            _entry("vdisaggregatedset.kb.io", VALIDATE_DISAGGREGATED, _DISAGGREGATED, _BOTH, namespace),
        ),
    )


def _configuration(kind: str, name: str, *entries: Object) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": list(entries),
    }


def _entry(name: str, path: str, about: tuple[list[str], list[str]], operations: list[str], namespace: str) -> Object:
    groups, resources = about
    made: Object = {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": SERVICE, "namespace": namespace, "path": path}},
        "failurePolicy": "Fail",
        "rules": [{"apiGroups": groups, "apiVersions": ["v1"], "operations": operations, "resources": resources}],
        "sideEffects": "None",
    }
    if about is _PODS:
        made["objectSelector"] = {"matchExpressions": [{"key": NAME, "operator": "Exists"}]}
    return made
