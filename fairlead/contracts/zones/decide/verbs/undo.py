"""Going back: the templates of all zones become those of an earlier revision of the group."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from fairlead.contracts.zones.decide.verbs.revisions import (
    GroupRevision,
    Revision,
    present,
    revisions_of,
    revisions_question,
    together,
)
from fairlead.contracts.zones.decide.verbs.targets import Target, TargetGroup, group_named
from fairlead.contracts.zones.verb_options import TO_REVISION
from fairlead.core.ask import Answers, Need
from fairlead.core.differences import differences
from fairlead.core.field_managers import manifest_managers
from fairlead.core.merge_patch import merge_patch
from fairlead.core.verb import (
    Nothing,
    Refused,
    VerbAnswer,
    VerbPlan,
    VerbRequest,
    VerbWrite,
    follow,
)

TEMPLATE = ("spec", "template")


def undo(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    group = group_named(request, answers)
    if not isinstance(group, TargetGroup):
        return group
    if todo := answers.lacking((revisions_question(group),)):
        return Need(todo)
    revisions = revisions_of(group, answers)
    wanted = request.option(TO_REVISION.flag)
    if unfit := next(_unfit(revisions, wanted), ""):
        return Refused(unfit)
    target = _target(group, revisions, wanted)
    return target if isinstance(target, Refused) else _plan(group, target)


def _unfit(revisions: dict[str, tuple[Revision, ...]], wanted: str) -> Iterator[str]:
    """About those that may be meant."""
    for zone, each in revisions.items():
        for revision in each:
            if revision.template is None and wanted in ("", str(revision.number), revision.name):
                yield (
                    f"revision {revision.number} of {zone} ({revision.name}) holds no pod template, so it is not known"
                    " what to go back to: apply the earlier manifest again"
                )


def _target(group: TargetGroup, revisions: dict[str, tuple[Revision, ...]], wanted: str) -> GroupRevision | Refused:
    shared = together(revisions)
    if wanted:
        return _called(group, shared, wanted)
    now = {zone.name: present(zone, revisions[zone.name]) for zone in group.zones}
    if unknown := [name for name, revision in now.items() if revision is None]:
        return Refused(
            f"the StatefulSet controller has not recorded the newest template of {', '.join(unknown)} yet:"
            " try again in a moment"
        )
    standing = [each for each in shared if any(each.zones.get(name) == revision for name, revision in now.items())]
    if len(standing) > 1:
        at = "; ".join(f"{_names_at(each, now)} at revision {each.number}" for each in standing)
        return Refused(
            f"the zones of {group.shown} do not have the same template ({at}): choose one with {TO_REVISION.flag};"
            f" `fairlead history {group.place}` lists them"
        )
    return _before(group, shared, standing[0])


def _names_at(revision: GroupRevision, now: dict[str, Revision | None]) -> str:
    return ", ".join(name for name, each in revision.zones.items() if now[name] == each)


def _called(group: TargetGroup, shared: tuple[GroupRevision, ...], wanted: str) -> GroupRevision | Refused:
    found = [each for each in shared if each.is_called(wanted)]
    if not found:
        there = ", ".join(each.label for each in shared) or "none"
        return Refused(f"{group.shown} has no revision {wanted}: there are {there}")
    if len(found) > 1:
        names = " or ".join(next(iter(each.zones.values())).name for each in found)
        return Refused(f"the zones of {group.shown} have different templates as revision {wanted}: choose {names}")
    return found[0] if _is_common(group, found[0]) else _lacking(group, found[0])


def _before(group: TargetGroup, shared: tuple[GroupRevision, ...], standing: GroupRevision) -> GroupRevision | Refused:
    """The newest of those that are older in every zone."""
    older = [each for each in shared if _is_older(each, standing)]
    if not older:
        return Refused(f"{group.shown} has no earlier revision: `fairlead history {group.place}` shows what there is")
    return older[0] if _is_common(group, older[0]) else _lacking(group, older[0])


def _is_older(revision: GroupRevision, than: GroupRevision) -> bool:
    return all(each.number < than.zones[zone].number for zone, each in revision.zones.items() if zone in than.zones)


def _is_common(group: TargetGroup, revision: GroupRevision) -> bool:
    return all(zone.name in revision.zones for zone in group.zones)


def _lacking(group: TargetGroup, revision: GroupRevision) -> Refused:
    without = ", ".join(zone.name for zone in group.zones if zone.name not in revision.zones)
    return Refused(
        f"the zones of {group.shown} have no common revision {revision.label}: {without} never had its template;"
        f" choose another one with {TO_REVISION.flag}, or apply the earlier manifest"
    )


def _plan(group: TargetGroup, target: GroupRevision) -> VerbPlan | Nothing:
    writes = tuple(write for zone in group.zones if (write := _write(zone, target.zones[zone.name])) is not None)
    if not writes:
        return Nothing(f"{group.shown} has the templates of revision {target.label} already")
    changes, warnings = _changes(writes), tuple(_put_back(group))
    said = [] if warnings else ["take the change out of your manifest as well, or it comes back with the next apply"]
    if any(zone.is_paused for zone in group.zones):
        said.append(f"paused zones do not move before `fairlead resume {group.place}`")
    place = group.namespace, group.shown
    return VerbPlan(
        rollout=group.name,
        writes=writes,
        said=f"{group.shown} goes back to revision {target.label}:\n{changes}\n{_sentence([*said, follow(*place)])}",
        did=f"took the templates of the group {group.shown} back to revision {target.number}",
        event="RolloutUndone",
        before=f"The pod templates of {group.shown} go back to revision {target.label}:\n{changes}",
        pinned={TO_REVISION.flag: (_name(target),)},
        unfinished=f"finish it with `fairlead undo {group.place} {TO_REVISION.flag} {_name(target)}`",
        warnings=warnings,
    )


def _name(target: GroupRevision) -> str:
    """One that means the same after zones have gone back, which gives their revisions new numbers."""
    return next(iter(target.zones.values())).name


def _write(zone: Target, target: Revision) -> VerbWrite | None:
    """None where the zone has this template already."""
    changes = differences(zone.template, target.template)
    if not changes or target.template is None:
        return None
    template = merge_patch(zone.template, target.template)
    patch = {"metadata": zone.bound, "spec": {"template": template}}
    return VerbWrite(zone.ref, patch, tuple(str(change) for change in changes))


def _changes(writes: tuple[VerbWrite, ...]) -> str:
    """What changes, with the zones in which it does; once where it is the same in several."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for write in writes:
        alike.setdefault(write.shown, []).append(write.ref.name)
    return "\n".join(f"  {', '.join(names)}\n{_lines(shown)}" for shown, names in alike.items())


def _lines(shown: tuple[str, ...]) -> str:
    return "\n".join(f"    {line}" for line in shown)


def _sentence(said: list[str]) -> str:
    text = "; ".join(said)
    return text[0].upper() + text[1:]


def _put_back(group: TargetGroup) -> Iterator[str]:
    """That somebody writes the template again and again, and will not know of this."""
    found = dict.fromkeys(who for zone in group.zones for who in manifest_managers(zone.managed, zone.marks, TEMPLATE))
    if found:
        yield (
            f"the pod templates are managed by {', '.join(found)}, which puts its own back with the next sync or apply:"
            " take the change out at its source as well"
        )
