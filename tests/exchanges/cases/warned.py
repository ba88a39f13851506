"""What is allowed in pods and templates, and warned of."""

from __future__ import annotations

from typing import Any

from tests.exchanges.case import Case, case, patch, post, quiet
from tests.exchanges.cases.samples import DEPLOYMENTS, PODS, SETS, a_deployment, a_pod, a_set

_WARNED: dict[str, dict[str, Any]] = {
    "names of nodes' labels": {
        "nodeSelector": {"beta.kubernetes.io/os": "linux"},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "failure-domain.beta.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
            }
        ],
    },
    "volumes of the past": {
        "volumes": [
            {"name": "a", "gitRepo": {"repository": "x"}},
            {"name": "b", "cephfs": {"monitors": ["a"]}},
            {"name": "d", "storageos": {"volumeName": "v"}},
            {"name": "e", "glusterfs": {"endpoints": "a", "path": "b"}},
        ]
    },
    "what is said twice": {
        "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a"]}, {"ip": "1.2.3.4", "hostnames": ["b"]}],
        "imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}],
    },
    "variables and ports": {
        "containers": [
            {
                "name": "main",
                "image": "image:1",
                "resources": {"limits": {"memory": "100m"}},
                "env": [
                    {"name": "A", "value": "1"},
                    {"name": "A", "value": "2"},
                    {"name": "A", "value": "$(A)3"},
                    {"name": "A", "value": "$(A)"},
                ],
                "ports": [
                    {"containerPort": 80},
                    {"containerPort": 80},
                    {"containerPort": 80, "hostPort": 81},
                    {"containerPort": 82, "hostIP": "1.2.3.4"},
                    {"containerPort": 83, "name": "x"},
                ],
            },
            {"name": "other", "image": "image:1", "ports": [{"containerPort": 84, "name": "x"}]},
        ]
    },
    "selectors of nothing": {
        "terminationGracePeriodSeconds": -1,
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {"topologyKey": "a"}}
                ],
            },
        },
    },
}


def _templated(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "a"}}, "spec": a_pod(spec=spec)["spec"]}


CASES: tuple[Case, ...] = (
    *(
        case(
            f"warned of {what}",
            post(PODS, a_pod(spec=spec), dryRun="All"),
            post(DEPLOYMENTS, a_deployment(template=_templated(spec)), dryRun="All"),
        )
        for what, spec in _WARNED.items()
    ),
    case(
        "warned of changes that count",
        quiet(post(DEPLOYMENTS, a_deployment(template=_templated(_WARNED["what is said twice"])))),
        patch(f"{DEPLOYMENTS}/one", {"metadata": {"labels": {"a": "b"}}}),
        patch(f"{DEPLOYMENTS}/one", {"spec": {"replicas": 2}}),
    ),
    case(
        "names that make bad host names",
        post(PODS, a_pod("a.b")),
        post(DEPLOYMENTS, a_deployment("a.b")),
        post(SETS, a_set("ab", revisionHistoryLimit=-1)),
    ),
)
