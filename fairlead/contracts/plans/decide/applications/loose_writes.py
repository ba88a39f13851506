"""Single fields of objects that others write too: bound to the object, and not to a version of it.

Several of them go to one object in one pass, and none of them depends on what else is written there.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.contracts.plans.decide.applications.trees import Tree
from fairlead.contracts.plans.decide.applications.writes import encoded
from fairlead.core.act import Does, Patch, PatchKind


def annotate(tree: Tree, annotations: Mapping[str, str | None], *, scope: str) -> Patch:
    """None takes one away."""
    said = ", ".join(f"{key} {value or 'removed'}" for key, value in annotations.items())
    return Patch(
        ref=tree.ref,
        kind=PatchKind.MERGE,
        body=encoded({"metadata": {"annotations": dict(annotations)}}),
        does=Does.HAND_OVER,
        scope=scope,
        change_to=said,
        contested=True,
    )


def rolling_status(configuration: Tree, status: str, *, scope: str) -> Patch:
    return Patch(
        ref=configuration.ref,
        kind=PatchKind.MERGE,
        body=encoded({"status": {"rollingStatus": status}}),
        subresource="status",
        does=Does.REPORT_STATUS,
        scope=scope,
        change_to=status,
        contested=True,
    )
