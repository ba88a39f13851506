"""Pods that do not become ready, as the API server shows them to whoever reads them."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.core.ask import Good
from tests.builders import NOW

IMAGE_BACK_OFF: dict[str, Any] = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off 5m0s pulling"}}
CREATING: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}


def a_tree(name: str, container: str, image: str, state: dict[str, Any], **status: Any) -> dict[str, Any]:
    """A pod with one container, made now."""
    told = {"name": container, "image": image, "ready": False, "restartCount": 0, "state": state, **status}
    metadata = {"name": name, "namespace": "e", "uid": "u", "resourceVersion": "1"}
    metadata["creationTimestamp"] = NOW.isoformat()
    spec = {"containers": [{"name": container, "image": image}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending", "containerStatuses": [told]}}


def a_loop(restarts: int) -> dict[str, Any]:
    """What a status shows of a container in a crash loop, between two runs."""
    ended = {"exitCode": 3, "reason": "Error", "startedAt": NOW.isoformat(), "finishedAt": NOW.isoformat()}
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    return {"state": waiting, "restartCount": restarts, "lastState": {"terminated": ended}}


def listed(*trees: dict[str, Any]) -> Good:
    return Good(msgspec.json.encode({"items": trees}))
