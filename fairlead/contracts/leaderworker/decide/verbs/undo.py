"""Going back: a set takes on the template of an earlier revision, which then rolls like any edit (section 6.4)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from fairlead.contracts.leaderworker.decide.normal_form import (
    NETWORK,
    TEMPLATE,
    UnreadableData,
    maps_in,
    normal_form,
)
from fairlead.contracts.leaderworker.decide.revisions import data_of, key_of, stored
from fairlead.contracts.leaderworker.decide.verbs.targets import (
    Target,
    current_keys,
    leaders_question,
    numbered,
    revisions_of,
    revisions_question,
    target_named,
)
from fairlead.contracts.leaderworker.kinds import Revision
from fairlead.contracts.leaderworker.verb_options import TO_REVISION, WITH_NETWORK
from fairlead.core.ask import Answers, Need
from fairlead.core.differences import Difference, differences
from fairlead.core.field_managers import manifest_managers
from fairlead.core.merge_patch import merge_patch
from fairlead.core.verb import Nothing, Refused, Tree, VerbAnswer, VerbPlan, VerbRequest, VerbWrite, follow

SKIPPED = "skipped rollback"
NO_HISTORY = "no rollout history found"
UNKNOWN = "unable to find specified revision"
SPEC = ("spec", TEMPLATE)


def undo(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, Target):
        return target
    if todo := answers.lacking((revisions_question(target), leaders_question(target))):
        return Need(todo)
    revisions = revisions_of(target, answers)
    chosen = _chosen(target, revisions, current_keys(target, revisions, answers), request.option(TO_REVISION.flag))
    if isinstance(chosen, Refused):
        return chosen
    try:
        return _plan(target, chosen, with_network=bool(request.option(WITH_NETWORK.flag)))
    except UnreadableData as error:
        return Refused(
            f"revision {chosen.revision} of {target.name} ({chosen.metadata.name}) cannot be used, because {error}:"
            " apply the earlier manifest again"
        )


def _chosen(target: Target, revisions: list[Revision], current: frozenset[str], wanted: str) -> Revision | Refused:
    if wanted:
        found = numbered(revisions, wanted)
        there = ", ".join(str(each.revision) for each in revisions) or "none"
        return found or Refused(f"{UNKNOWN}: {target.name} has no revision {wanted}; there are {there}")
    others = [each for each in revisions if key_of(each) not in current]
    if not others:
        return Refused(
            f"{NO_HISTORY}: no other revision of {target.name} is kept; how many are is set with the annotation"
            " fairlead.dev/revision-history-limit"
        )
    return others[-1]


def _plan(target: Target, chosen: Revision, *, with_network: bool) -> VerbPlan | Nothing:
    """Raises UnreadableData."""
    template, network = maps_in(stored(chosen))
    fields = {TEMPLATE: template, **({NETWORK: network or {}} if with_network else {})}
    changes = changed(data_of(target.set), stored(chosen), tuple(fields))
    label = f"revision {chosen.revision} ({key_of(chosen)})"
    if not changes:
        return Nothing(f"{SKIPPED}: {target.name} has the template of {label} already")
    shown = tuple(map(str, changes))
    lines = "\n".join(f"  {each}" for each in shown)
    spec = {name: merge_patch(target.spec.get(name), without_nulls(tree)) for name, tree in fields.items()}
    warnings = tuple(_put_back(target))
    said = [] if warnings else ["take the change out of your manifest as well, or it comes back with the next apply"]
    if target.is_paused:
        said.append(f"no group moves before `fairlead resume {target.place}`")
    said.append(follow(target.set.metadata.namespace, target.name))
    text = "; ".join(said)
    return VerbPlan(
        rollout=target.name,
        writes=(VerbWrite(target.ref, {"metadata": target.bound, "spec": spec}, shown),),
        said=f"{target.name} goes back to {label}:\n{lines}\n{text[0].upper()}{text[1:]}",
        did=f"took {target.name} back to {label}",
        event="RolloutUndone",
        before=f"{target.name} goes back to {label}:\n{lines}",
        attempts=2,  # one more look (section 6.4)
        pinned={TO_REVISION.flag: (chosen.metadata.name,)},
        warnings=warnings,
    )


def changed(before: bytes, after: bytes, fields: tuple[str, ...]) -> tuple[Difference, ...]:
    """What means something else in these maps: spellings of the same are not told; raises UnreadableData."""
    old, new = (_normal(each, fields) for each in (before, after))
    return differences(old, new)


def _normal(data: bytes, fields: tuple[str, ...]) -> Tree:
    found = msgspec.json.decode(normal_form(data), type=dict[str, Tree])
    return {name: found.get(name, {}) for name in fields}


def without_nulls(tree: object) -> object:
    """A field that is null is one that is not there."""
    match tree:
        case dict():
            return {key: without_nulls(value) for key, value in tree.items() if value is not None}
        case list():
            return [without_nulls(each) for each in tree]
    return tree


def _put_back(target: Target) -> Iterator[str]:
    """That somebody writes the template again and again, and will not know of this."""
    found = manifest_managers(target.managed, target.marks, SPEC)
    if found:
        yield (
            f"the template is managed by {', '.join(found)}, which puts its own back with the next sync or apply:"
            " take the change out at its source as well"
        )
