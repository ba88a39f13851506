"""How a pod of a CloneSet is changed in place: what it gets, and when it runs that.

Images of containers and the metadata of the template can be changed so; for anything else a pod is replaced. While it
is changed it is not ready, by its readiness gate. What it ran before is noted in an annotation.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec
from msgspec import Struct

from kubesim.standins.cloneset_plan import Pod, Tree

STATE = "apps.kruise.io/inplace-update-state"
_METADATA = ("labels", "annotations")


class InPlaceChange(Struct, frozen=True):
    images: dict[str, str]
    """New ones, by container."""
    labels: dict[str, str | None]
    annotations: dict[str, str | None]


class _Before(Struct, frozen=True, rename={"image_id": "imageID"}):
    image_id: str = ""


class _State(Struct, frozen=True, rename="camel"):
    last_container_statuses: dict[str, _Before] = {}


def change_between(before: Tree, after: Tree) -> InPlaceChange | None:
    """What makes a pod of one template one of the other; None where nothing but another pod does."""
    one, other = _images(before), _images(after)
    if list(one) != list(other) or _rest(before) != _rest(after):
        return None
    images = {name: image for name, image in other.items() if one[name] != image}
    return InPlaceChange(images, *(_difference(given(before, key), given(after, key)) for key in _METADATA))


def _images(template: Tree) -> dict[str, str]:
    return {str(each.get("name")): str(each.get("image", "")) for each in _containers(template)}


def _containers(template: Tree) -> list[dict[str, Any]]:
    spec = template.get("spec")
    return list(spec.get("containers") or ()) if isinstance(spec, dict) else []


def given(template: Tree, key: str) -> dict[str, str]:
    """Labels or annotations of its pods."""
    metadata = template.get("metadata")
    return dict(metadata.get(key) or {}) if isinstance(metadata, dict) else {}


def _difference(one: dict[str, str], other: dict[str, str]) -> dict[str, str | None]:
    changed: dict[str, str | None] = {key: value for key, value in other.items() if one.get(key) != value}
    return changed | dict.fromkeys(key for key in one if key not in other)


def _rest(template: Tree) -> object:
    """What cannot be changed."""
    bare = copy.deepcopy(template)
    for container in _containers(bare):
        container.pop("image", None)
    return bare.get("spec")


def state_of(pod: Pod, change: InPlaceChange, revision: str, now: str) -> str:
    """The annotation of a pod that is about to be changed."""
    before = {each.name: {"imageID": each.image_id} for each in pod.status.container_statuses}
    return msgspec.json.encode(
        {
            "revision": revision,
            "updateTimestamp": now,
            "lastContainerStatuses": {name: before[name] for name in change.images if name in before},
            "updateImages": bool(change.images),
            "containerBatchesRecord": [{"timestamp": now, "containers": sorted(change.images)}],
        }
    ).decode()


def runs_change(pod: Pod) -> bool:
    """Whether the containers that were changed run another image than before, or the one that they should."""
    try:
        state = msgspec.json.decode(pod.metadata.annotations.get(STATE, "{}"), type=_State)
    except msgspec.DecodeError:
        return False
    wanted = {each.name: each.image for each in pod.spec.containers}
    running = {each.name: each for each in pod.status.container_statuses}
    return all(
        name in running and (running[name].image_id != before.image_id or running[name].image == wanted.get(name))
        for name, before in state.last_container_statuses.items()
    )
