"""Groups as lanes, and their pods as cells."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from fairlead.contracts.leaderworker.decide.groups import GroupState, is_running_and_ready, key_on
from fairlead.contracts.leaderworker.decide.planner import Stage
from fairlead.contracts.leaderworker.decide.set_view import SetView
from fairlead.contracts.leaderworker.decide.trees import part, text
from fairlead.contracts.leaderworker.group_waits import missing_names, turn_of, waits_of, worker_names, worst_first
from fairlead.contracts.leaderworker.kinds import Json, Pod
from fairlead.contracts.leaderworker.shown import Shown
from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import Cell, Lane
from fairlead.core.pod_readiness import is_terminating
from fairlead.core.pod_trouble import restarts_of, trouble_of
from fairlead.core.reason import Reason

MOST_MISSING = 100
"""Groups that are not there yet and are shown all the same."""


def lanes_of(shown: Shown) -> tuple[Lane, ...]:
    """The groups that there are and those that are to be made, by index."""
    missing = islice((index for index in range(shown.replicas) if index not in shown.groups), MOST_MISSING)
    return tuple(_lane(shown, index) for index in sorted((*shown.groups, *missing)))


def _lane(shown: Shown, index: int) -> Lane:
    group = shown.groups.get(index)
    cells = tuple(_cells(shown, index))
    from_images, to_images = _images(shown, group)
    return Lane(
        name=shown.leader_name(index),
        phase=phase_of(shown, index, group),
        done=sum(each.revision == "new" and each.state == "ready" for each in cells),
        total=_size(shown, group),
        from_revision=shown.key if group is None else group.key,
        to_revision=shown.key,
        cells=cells,
        waits=worst_first((*waits_of(shown, index), *turn_of(shown, index))),
        from_images=from_images,
        to_images=to_images,
    )


def _size(shown: Shown, group: GroupState | None) -> int:
    if group is not None:
        return group.size
    return 1 if shown.rolled is None else shown.rolled.view.size


def _cells(shown: Shown, index: int) -> Iterator[Cell]:
    """The leader, then the workers; one for each pod that is there or should be."""
    name, group = shown.leader_name(index), shown.groups.get(index)
    wanted = [name, *worker_names(name, _size(shown, group))]
    pods = {pod.metadata.name: pod for pod in shown.members.get(name, ())}
    unmade = set(missing_names(shown, index))
    for ordinal, each in enumerate(wanted):
        pod = pods.pop(each, None)
        if pod is not None or each in unmade or ordinal:
            yield _cell(shown, each, ordinal, pod)
    for extra, pod in enumerate(pods.values(), start=len(wanted)):
        yield _cell(shown, pod.metadata.name, extra, pod)


def _cell(shown: Shown, name: str, ordinal: int, pod: Pod | None) -> Cell:
    if pod is None:
        return Cell(name, ordinal, "missing", "none")
    revision = "new" if key_on(pod.metadata) == shown.key else "old"
    return Cell(name, ordinal, _state(shown, pod), revision, restarts_of(pod))


def _state(shown: Shown, pod: Pod) -> str:
    if is_terminating(pod):
        return "terminating"
    if is_running_and_ready(pod):
        return "ready"
    trouble = trouble_of(pod, shown.at, shown.deadline)
    return "stuck" if trouble is not None and trouble.is_past else "notReady"


def phase_of(shown: Shown, index: int, group: GroupState | None) -> str:
    """The group's state by the table of section 3.9, in the words of the other parts."""
    if group is None:
        return "Missing"
    if index >= shown.replicas:
        return "Removing"
    is_outdated = group.key != shown.key
    if group.is_leaving:
        return "Updating" if is_outdated and index >= shown.partition else "Recreating"
    if (decided := _decided(shown, index)) is not None:
        return decided
    if not is_outdated:
        return "Current" if group.is_ready and group.is_updated else "Settling"
    return phase_of_outdated(shown, index, group)


DECIDED = {
    Reason.RESTARTS_EXCEEDED: "Held",
    Reason.RECREATION_SPACING: "BackingOff",
    Reason.NAME_TAKEN: "Blocked",
    Reason.GROUP_NESTED: "Blocked",
    Reason.LABEL_CHANGED: "Blocked",
}


def _decided(shown: Shown, index: int) -> str | None:
    decision: Decision | None = shown.rounds.get(shown.leader_name(index))
    held = decision is not None and isinstance(decision.verdict, Hold)
    return DECIDED.get(decision.verdict.reason) if decision is not None and held else None


def phase_of_outdated(shown: Shown, index: int, group: GroupState) -> str:
    if not group.is_ready:
        return "NotReady"
    if index < shown.kept_below:
        return "Held"
    if shown.rolled is not None and shown.rolled.plan.stage is Stage.PAUSED:
        return "Paused"
    return "Updating" if index >= shown.partition else "Pending"


def _images(shown: Shown, group: GroupState | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of the group's revision and of the one it goes to, as far as they differ."""
    if group is None or shown.rolled is None or group.key == shown.key:
        return (), ()
    before = shown.rolled.views.get(group.key)
    if before is None:
        return (), ()
    old, new = _images_in(before), _images_in(shown.rolled.view)
    return (
        tuple(dict.fromkeys(image for name, image in old.items() if new.get(name) != image)),
        tuple(dict.fromkeys(image for name, image in new.items() if old.get(name) != image)),
    )


def _images_in(view: SetView) -> dict[tuple[str, str], str]:
    """By template and container."""
    return {
        (which, text(each, "name")): text(each, "image")
        for which, template in (("leader", view.leader_template), ("worker", view.worker_template))
        for each in _containers(template)
    }


def _containers(template: Json) -> Iterator[Json]:
    spec = part(template, "spec")
    for field in ("initContainers", "containers"):
        found: Any = spec.get(field)
        yield from (each for each in found if isinstance(each, dict)) if isinstance(found, list) else ()
