"""The history of a set: its revisions, what one of them stores, and what differs between two (section 6.4)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from fairlead.contracts.leaderworker.decide.groups import key_on
from fairlead.contracts.leaderworker.decide.normal_form import NETWORK, TEMPLATE, UnreadableData, maps_in
from fairlead.contracts.leaderworker.decide.revision_writes import CHANGE_CAUSE
from fairlead.contracts.leaderworker.decide.revisions import key_of, stored
from fairlead.contracts.leaderworker.decide.verbs.targets import (
    Items,
    Target,
    current_keys,
    leaders_question,
    numbered,
    revisions_of,
    revisions_question,
    target_named,
)
from fairlead.contracts.leaderworker.decide.verbs.undo import NO_HISTORY, UNKNOWN, changed, without_nulls
from fairlead.contracts.leaderworker.kinds import NAME, WORKER_INDEX, Pod, Revision
from fairlead.contracts.leaderworker.verb_options import DIFF, REVISION
from fairlead.core.ask import Answers, Ask, Good, Listing, Need
from fairlead.core.times import format_rfc3339
from fairlead.core.verb import Refused, Tree, VerbAnswer, VerbDocument, VerbRequest, VerbTable
from kubeloop.objects.core import PODS


def history(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, Target):
        return target
    leaders = Ask(Listing(PODS, target.set.metadata.namespace, f"{NAME}={target.name},{WORKER_INDEX}=0"))
    if todo := answers.lacking((revisions_question(target), leaders_question(target), leaders)):
        return Need(todo)
    revisions = revisions_of(target, answers)
    if not revisions:
        return Refused(f"{NO_HISTORY}: no revision of {target.name} is recorded yet")
    wanted, other = request.option(REVISION.flag), request.option(DIFF.flag)
    if other and not wanted:
        return Refused(f"{DIFF.flag} needs {REVISION.flag}: name both revisions")
    if wanted:
        return _one(target, revisions, wanted, other)
    answer = answers[leaders]
    pods = msgspec.json.decode(answer.value, type=Items[Pod]).items if isinstance(answer, Good) else ()
    carried = [key_on(pod.metadata) for pod in pods]
    current = current_keys(target, revisions, answers)
    items = tuple(_item(each, carried, current) for each in revisions)
    return VerbTable(target.name, "RolloutHistory", tuple(map(_row, items)), items)


def _item(revision: Revision, carried: list[str], current: frozenset[str]) -> Tree:
    key, made = key_of(revision), revision.metadata.creation_timestamp
    return {
        "revision": revision.revision,
        "key": key,
        "name": revision.metadata.name,
        "created": None if made is None else format_rfc3339(made),
        "groups": carried.count(key),
        "current": key in current,
        "changeCause": revision.metadata.annotations.get(CHANGE_CAUSE, ""),
    }


def _row(item: Tree) -> dict[str, str]:
    return {
        "REVISION": str(item["revision"]),
        "KEY": item["key"],
        "CREATED": item["created"] or "-",
        "GROUPS": str(item["groups"]),
        "CURRENT": "*" if item["current"] else "",
        "CHANGE-CAUSE": item["changeCause"] or "<none>",
    }


def _one(target: Target, revisions: list[Revision], wanted: str, other: str) -> VerbDocument | Refused:
    found = [numbered(revisions, each) for each in (wanted, other) if each]
    if None in found:
        missing = next(each for each, revision in zip((wanted, other), found, strict=False) if revision is None)
        there = ", ".join(str(each.revision) for each in revisions)
        return Refused(f"{UNKNOWN}: {target.name} has no revision {missing}; there are {there}")
    chosen = [each for each in found if each is not None]
    try:
        return _difference(target, *chosen) if other else _stored(target, chosen[0])
    except UnreadableData as error:
        return Refused(f"a revision of {target.name} cannot be shown, because {error}")


def _stored(target: Target, revision: Revision) -> VerbDocument:
    template, network = maps_in(stored(revision))
    spec = without_nulls({TEMPLATE: template, NETWORK: network})
    item = {"revision": revision.revision, "key": key_of(revision), "name": revision.metadata.name, "spec": spec}
    return VerbDocument(target.name, "RolloutRevision", {"spec": spec}, item)


def _difference(target: Target, revision: Revision, other: Revision) -> VerbDocument:
    """From the other to this one."""
    found = changed(stored(other), stored(revision), (TEMPLATE, NETWORK))
    lines = [str(each) for each in found]
    shown = "\n".join(lines) or f"revisions {other.revision} and {revision.revision} do not differ"
    changes = [{"path": each.path, "before": each.before, "after": each.after, "text": str(each)} for each in found]
    item = {"from": other.revision, "to": revision.revision, "changes": changes}
    return VerbDocument(target.name, "RolloutDifference", shown, item)
