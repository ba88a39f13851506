"""What is read of a copied object beyond its metadata: of a pod its life so far, of all when they were last written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from kubesim.kubelet.pods import Pod, shape_of
from kubesim.pods.histories import CopiedPod
from kubesim.store.versions import Tree

_ENDED = ("Succeeded", "Failed")


def copied_pod(tree: Tree) -> CopiedPod:
    """The pod's life as its metadata and conditions tell it."""
    metadata, status = tree["metadata"], tree.get("status") or {}
    pod = msgspec.convert(tree, Pod)
    ready: Tree = next((each for each in status.get("conditions") or () if each.get("type") == "Ready"), {})
    is_ready = ready.get("status") == "True"
    owner = next((each["uid"] for each in metadata.get("ownerReferences") or () if each.get("controller")), "")
    created = _time(metadata.get("creationTimestamp"))
    return CopiedPod(
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        labels=metadata.get("labels") or {},
        owner=owner,
        shape=shape_of(pod),
        created=created or datetime.min.replace(tzinfo=UTC),
        ready_since=(_time(ready.get("lastTransitionTime")) or created) if is_ready else None,
        deleted=_time(metadata.get("deletionTimestamp")),
        has_ended=status.get("phase") in _ENDED,
    )


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def latest_time(tree: Tree) -> str:
    """When the object was last written, as far as it says."""
    metadata, status = tree["metadata"], tree.get("status")
    times = [metadata.get("creationTimestamp"), tree.get("lastTimestamp")]
    times += [each.get("time") for each in metadata.get("managedFields") or ()]
    if isinstance(status, dict):
        for each in status.get("conditions") or ():
            if isinstance(each, dict):
                times += each.get("lastTransitionTime"), each.get("lastHeartbeatTime")
    if tree["kind"] == "Lease":
        times.append((tree.get("spec") or {}).get("renewTime"))
    return max((each for each in times if _time(each) is not None), default="")
