"""Hypothesis strategies: Materialize objects whole and in part, sensible or not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as some

from tests.contracts.environments.decide.trees import V1, V1ALPHA1, V1ALPHA2, Tree, a_condition

texts = some.text(max_size=6)
uuids = some.one_of(
    some.sampled_from(
        (
            "00000000-0000-0000-0000-000000000000",
            "00000000000000000000000000000000",
            "11111111-1111-4111-8111-111111111111",
            "ABCDEF00-1111-4111-8111-111111111111",
        )
    ),
    some.uuids().map(str),
)
maps = some.dictionaries(some.sampled_from(("a", "team", "eks.amazonaws.com/role-arn")), texts, max_size=3)
amounts = some.one_of(some.integers(0, 64), some.sampled_from(("1", "500m", "1Gi", "1024Mi")))
resources = some.fixed_dictionaries(
    {},
    optional={
        "limits": some.dictionaries(some.sampled_from(("cpu", "memory")), amounts),
        "requests": some.one_of(some.none(), some.dictionaries(some.sampled_from(("cpu", "memory")), amounts)),
    },
)
variables = some.fixed_dictionaries(
    {"name": texts},
    optional={
        "value": texts,
        "valueFrom": some.fixed_dictionaries({"secretKeyRef": some.fixed_dictionaries({"name": texts, "key": texts})}),
    },
)
certificates = some.fixed_dictionaries(
    {},
    optional={
        "dnsNames": some.lists(texts, max_size=2),
        "duration": some.one_of(some.none(), texts),
        "renewBefore": texts,
        "issuerRef": some.fixed_dictionaries({"name": texts}, optional={"kind": some.one_of(some.none(), texts)}),
        "secretTemplate": some.fixed_dictionaries({}, optional={"labels": maps, "annotations": some.none()}),
        "privateKeyAlgorithm": some.sampled_from(("RSA", "ECDSA", None)),
        "privateKeySize": some.sampled_from((256, 4096, None)),
    },
)
REQUIRED = {"environmentdImageRef": texts, "backendSecretName": texts}
EXCLUDED: dict[str, some.SearchStrategy[Any]] = {
    "balancerdExternalCertificateSpec": certificates,
    "balancerdReplicas": some.integers(0, 5),
    "balancerdResourceRequirements": resources,
    "consoleExternalCertificateSpec": certificates,
    "consoleReplicas": some.integers(0, 5),
    "consoleResourceRequirements": resources,
    "forcePromote": some.one_of(texts, uuids),
}
HASHED: dict[str, some.SearchStrategy[Any]] = {
    "environmentdExtraArgs": some.lists(texts, max_size=3),
    "environmentdExtraEnv": some.lists(variables, max_size=3),
    "environmentdConnectionRoleArn": texts,
    "environmentdResourceRequirements": resources,
    "environmentdScratchVolumeStorageRequirement": some.sampled_from(("1Gi", "1024Mi")),
    "serviceAccountName": texts,
    "serviceAccountAnnotations": maps,
    "serviceAccountLabels": maps,
    "podAnnotations": maps,
    "podLabels": maps,
    "forceRollout": uuids,
    "rolloutStrategy": some.sampled_from(("WaitUntilReady", "ManuallyPromote", "ImmediatelyPromoteCausingDowntime")),
    "rolloutRequestTimeout": some.sampled_from(("24h", "1 day", "90m", "1h 30m", "soon", "")),
    "authenticatorKind": some.sampled_from(("Frontegg", "Password", "Sasl", "Oidc", "None")),
    "enableRbac": some.booleans(),
    "environmentId": uuids,
    "systemParameterConfigmapName": texts,
    "internalCertificateSpec": certificates,
}
ONLY_OLD: dict[str, some.SearchStrategy[Any]] = {
    "environmentdIamRoleArn": texts,
    "requestRollout": uuids,
    "inPlaceRollout": some.booleans(),
}


def _or_null(fields: dict[str, some.SearchStrategy[Any]]) -> dict[str, some.SearchStrategy[Any]]:
    return {name: some.one_of(values, values, values, some.none()) for name, values in fields.items()}


specs = some.fixed_dictionaries(REQUIRED, optional=_or_null(HASHED | EXCLUDED))
old_specs = some.fixed_dictionaries(REQUIRED, optional=_or_null(HASHED | EXCLUDED | ONLY_OLD))

reasons = some.sampled_from(
    ("Applying", "ReadyToPromote", "Promoting", "Applied", "FailedDeploy", "WaitingForApproval")
)
hashes = some.one_of(some.none(), some.sampled_from(("a" * 64, "b" * 64)), texts)
_STATUS: dict[str, some.SearchStrategy[Any]] = {
    "resourceId": some.just("abcdefghij"),
    "activeGeneration": some.integers(0, 9),
    "conditions": some.one_of(some.just([]), reasons.map(lambda reason: [a_condition(reason)])),
}
_STATUS_OPTIONAL = {
    "lastCompletedRolloutEnvironmentdImageRef": some.one_of(some.none(), texts),
    "lastCompletedRolloutHash": hashes,
    "requestedRolloutHash": hashes,
}
statuses = some.fixed_dictionaries(_STATUS, optional=_STATUS_OPTIONAL)
old_statuses = some.fixed_dictionaries(
    _STATUS | {"lastCompletedRolloutRequest": uuids, "resourcesHash": texts}, optional=_STATUS_OPTIONAL
)
notes = some.dictionaries(some.sampled_from(("materialize.cloud/force-rollout", "other")), texts, max_size=2)
_METADATA: dict[str, some.SearchStrategy[Any]] = {
    "annotations": notes,
    "labels": maps,
    "finalizers": some.just(["x"]),
}
metadata = some.fixed_dictionaries({"name": some.just("m")}, optional=_METADATA)


def _objects(version: str, spec: some.SearchStrategy[Tree], status: some.SearchStrategy[Tree]) -> Any:
    return some.fixed_dictionaries(
        {"apiVersion": some.just(version), "kind": some.just("Materialize"), "metadata": metadata, "spec": spec},
        optional={"status": status},
    )


objects = some.one_of(_objects(V1ALPHA2, specs, statuses), _objects(V1, specs, statuses))
"""Complete, in one of the two versions that have the same fields."""
old_objects = _objects(V1ALPHA1, old_specs, old_statuses)
versions = some.sampled_from((V1ALPHA1, V1ALPHA2, V1))


@some.composite
def parts(draw: some.DrawFn) -> Tree:
    """What one manager owns of an object in any version: never both of the fields that every spec has."""
    whole = draw(some.one_of(objects, old_objects))
    part: Tree = {"apiVersion": whole["apiVersion"], "kind": "Materialize"}
    for name in ("metadata", "spec", "status"):
        match draw(some.sampled_from(("absent", "null", "some"))):
            case "null":
                part[name] = None
            case "some" if name in whole:
                part[name] = {key: value for key, value in whole[name].items() if draw(some.booleans())}
    if part.get("spec"):
        part["spec"].pop(draw(some.sampled_from(sorted(REQUIRED))), None)
    return part


anything = some.recursive(
    some.one_of(some.none(), some.booleans(), some.integers(-9, 9), some.floats(allow_nan=False), texts),
    lambda inner: some.one_of(some.lists(inner, max_size=3), some.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
"""Any JSON."""
