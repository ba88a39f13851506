"""The names of controllers, and which of them a list lets act, as in kube-controller-manager's `--controllers`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ALL = ("*",)
KUBELET = "kubelet"
"""Acts beside them, and is chosen like them."""
NAMES = (
    "clusterrole-aggregation-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "persistentvolume-binder-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "validatingadmissionpolicy-status-controller",
    KUBELET,
)


def acts(name: str, wanted: Sequence[str]) -> bool:
    """Whether the list lets one act: by its name, or by `*` where it is not taken out by `-` and its name."""
    return f"-{name}" not in wanted and (name in wanted or "*" in wanted)


def check(wanted: Iterable[str]) -> None:
    """Raises ValueError, with a sentence, for what names no controller."""
    for each in wanted:
        if each != "*" and each.removeprefix("-") not in NAMES:
            raise ValueError(f'no controller is named "{each}": choose of {", ".join(NAMES)}, or * for all')
