"""In whose name environmentd runs, and what it may do: it makes and removes the pods of its clusters."""

from __future__ import annotations

from fairlead.contracts.environments.decide.objects.owner import Owner
from fairlead.contracts.environments.decide.objects.wanted import Environment, Wanted
from fairlead.contracts.environments.kinds import GROUP, ROLE_BINDINGS, ROLES, Json
from fairlead.contracts.environments.settings import Settings
from kubeloop.objects.core import SERVICE_ACCOUNTS

ROLE_ARN = "eks.amazonaws.com/role-arn"
"""Annotation of a ServiceAccount: the AWS role that its pods take on."""

ALL_VERBS = ("create", "update", "patch", "delete", "get", "list", "watch")
RULES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("apps", ("statefulsets",), ALL_VERBS),
    ("", ("persistentvolumeclaims", "pods", "secrets", "services"), ALL_VERBS),
    ("", ("configmaps",), ("get",)),
    (GROUP, ("vpcendpoints",), ALL_VERBS),
    ("metrics.k8s.io", ("pods",), ("get", "list")),
    (
        "custom.metrics.k8s.io",
        (
            "persistentvolumeclaims/kubelet_volume_stats_used_bytes",
            "persistentvolumeclaims/kubelet_volume_stats_capacity_bytes",
        ),
        ("get",),
    ),
)
"""Group, resources and verbs; the operator, which grants them, must hold every one itself."""


def service_account_name(environment: Environment) -> str:
    return environment.spec.service_account_name or environment.name


def accounts(environment: Environment, owner: Owner, settings: Settings) -> tuple[Wanted, ...]:
    """The ServiceAccount, unless the environment brings its own, its Role and what binds the two."""
    own = () if environment.spec.service_account_name else (_account(environment, owner, settings),)
    return (*own, _role(owner), _binding(environment, owner))


def _account(environment: Environment, owner: Owner, settings: Settings) -> Wanted:
    """Its annotations are applied even when there are none, so that one that is taken out of the spec goes away."""
    annotations = dict(environment.spec.service_account_annotations or {})
    if settings.cloud_provider == "aws" and settings.environmentd_iam_role_arn:
        annotations.setdefault(ROLE_ARN, settings.environmentd_iam_role_arn)
    labels = owner.labels | (environment.spec.service_account_labels or {}) | owner.identity
    return owner.wanted(SERVICE_ACCOUNTS, environment.name, {}, labels=labels, annotations=annotations)


def _role(owner: Owner) -> Wanted:
    rules = [{"apiGroups": [group], "resources": resources, "verbs": verbs} for group, resources, verbs in RULES]
    return owner.wanted(ROLES, owner.name, {"rules": rules})


def _binding(environment: Environment, owner: Owner) -> Wanted:
    """Of each account in use: a generation keeps its rights until it is gone, whatever is wanted after it."""
    names = sorted({service_account_name(environment), *environment.running_accounts})
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": environment.namespace} for name in names]
    role: Json = {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": owner.name}
    return owner.wanted(ROLE_BINDINGS, owner.name, {"roleRef": role, "subjects": subjects})
