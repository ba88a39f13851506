"""The review of an eviction (`pods/eviction`): whether it is one, whether it is only tried, and what it would take."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from fairlead.core.pod_readiness import is_terminating
from kubeloop.objects.core import Pod
from kubeloop.objects.review import Review
from kubeloop.unreadable import UNREADABLE

GOING = ("Succeeded", "Failed", "Pending")
"""Phases of a pod that serves nobody: evicting it takes nothing away."""


class _DeleteOptions(Struct, frozen=True, rename="camel"):
    dry_run: tuple[str, ...] | None = None


class _Eviction(Struct, frozen=True, rename="camel"):
    delete_options: _DeleteOptions | None = None


def is_eviction(review: Review) -> bool:
    """Whether it asks for the eviction of a pod that it names."""
    is_named = bool(review.namespace and review.name)
    return review.operation == "CREATE" and review.sub_resource == "eviction" and is_named


def is_dry_run(review: Review) -> bool:
    """Also of one that says so only in its own delete options; both versions of an Eviction have them."""
    try:
        options = msgspec.json.decode(review.object, type=_Eviction).delete_options
    except (*UNREADABLE, msgspec.MsgspecError):
        options = None
    return review.is_dry_run or (options is not None and "All" in (options.dry_run or ()))


def takes_nothing(pod: Pod) -> bool:
    """Whether it is over, not begun, or going already."""
    return pod.status.phase in GOING or is_terminating(pod)
