"""What is written about revisions: one is recorded, becomes the newest again, or is forgotten (section 3.12)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.decide.made_parts import owned_by_set
from fairlead.contracts.leaderworker.decide.notes import creating_revision, revision_ref
from fairlead.contracts.leaderworker.decide.revisions import Drafted, Kept, Reused, is_owned, readable, with_key
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.kinds import NAME, REVISION_KEY, LeaderWorkerSet, Revision
from fairlead.core.act import AnyWrite, Create, Delete, Does, Patch, PatchKind
from fairlead.core.ask import Ask, Good, Need, Read
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.meta import Ref

CHANGE_CAUSE = "kubernetes.io/change-cause"


class _Labelled(Struct, frozen=True):
    labels: dict[str, str] = {}


class _Found(Struct, frozen=True):
    metadata: _Labelled


def freely_named(seen: SetSeen, drafted: Drafted) -> Drafted | Need:
    """Under a name that nobody has, for which the API server is asked.

    A revision from which somebody took the label of the set is not in the cache: its name would be refused for ever.
    One that carries the label may be on its way into the cache, and is waited for.
    """
    given, in_cache = seen.set.metadata, {each.metadata.name for each in seen.revisions}
    while True:
        question = Ask(Read(Ref(CONTROLLER_REVISIONS, given.namespace, drafted.name)), is_expected_to_fail=True)
        if stages := seen.answers.lacking((question,)):
            return Need(stages)
        answer = seen.answers[question]
        if not isinstance(answer, Good) or _carries_name(answer, given.name):
            return drafted
        drafted = drafted.renumbered
        while drafted.name in in_cache:
            drafted = drafted.renumbered


def _carries_name(answer: Good, name: str) -> bool:
    return msgspec.json.decode(answer.value, type=_Found).metadata.labels.get(NAME) == name


def recorded(seen: LeaderWorkerSet, chosen: Kept | Reused | Drafted) -> tuple[AnyWrite, ...]:
    """What must be there before anything carries the key."""
    match chosen:
        case Drafted():
            return (_created(seen, chosen),)
        case Reused(revision, number) if number > revision.revision:
            return (_renewed(seen, revision, number),)
    return ()


def _created(seen: LeaderWorkerSet, drafted: Drafted) -> Create:
    metadata = {
        "name": drafted.name,
        "namespace": seen.metadata.namespace,
        "labels": {NAME: seen.metadata.name, REVISION_KEY: drafted.key},
        "ownerReferences": [owned_by_set(seen)],
    }
    if cause := seen.metadata.annotations.get(CHANGE_CAUSE):
        metadata["annotations"] = {CHANGE_CAUSE: cause}
    body = {
        "apiVersion": CONTROLLER_REVISIONS.api_version,
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": metadata,
        "revision": drafted.number,
        "data": msgspec.Raw(drafted.data),
    }
    return Create(
        resource=CONTROLLER_REVISIONS,
        namespace=seen.metadata.namespace,
        name=drafted.name,
        body=msgspec.json.encode(body),
        does=Does.RECORD_REVISION,
        scope=seen.metadata.uid,
        change_to=drafted.key,
        tell=creating_revision(seen, drafted),
        contested=True,
    )


def _renewed(seen: LeaderWorkerSet, revision: Revision, number: int) -> Patch:
    metadata = revision.metadata
    return Patch(
        ref=revision_ref(seen, metadata.name, metadata.uid),
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"revision": number}),
        resource_version=metadata.resource_version,
        does=Does.RENEW_REVISION,
        scope=seen.metadata.uid,
        change_from=str(revision.revision),
        change_to=str(number),
        contested=True,
    )


def forgotten(
    seen: LeaderWorkerSet, revisions: Sequence[Revision], known: Iterable[Revision], current_key: str
) -> list[AnyWrite]:
    """Bound to what was seen of each: one that somebody labels otherwise in this moment, to keep it, stays.

    When the newest goes, such as one that was refused and taken back, the current one becomes the newest before: its
    number would be given again.
    """
    owned = [each for each in readable(seen, known) if is_owned(each, seen)]
    current, gone = with_key(owned, current_key), {each.metadata.uid for each in revisions}
    highest = max((each.revision for each in owned), default=0)
    stays = any(each.revision == highest for each in owned if each.metadata.uid not in gone)
    kept = () if current is None or stays else (_renewed(seen, current, highest + 1),)
    return [*kept, *_deleted(seen, revisions)]


def _deleted(seen: LeaderWorkerSet, revisions: Iterable[Revision]) -> list[AnyWrite]:
    return [
        Delete(
            ref=revision_ref(seen, each.metadata.name, each.metadata.uid),
            resource_version=each.metadata.resource_version,
            does=Does.FORGET_REVISION,
            scope=seen.metadata.uid,
            change_from=str(each.revision),
            contested=True,
        )
        for each in revisions
    ]
