"""The part of unfinished preparations: every StatefulSet that wants to be prepared, whether or not it is in a group.

One is woken when its note changes and looked at again when the note is overdue; without notes it costs one watch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import cast

from fairlead.api.apps import STATEFULSETS, StatefulSet
from fairlead.api.meta import Resource
from fairlead.api.zones import PREPARE_DOWNSCALE, PREPARING, Settings
from fairlead.control.part import Key, Part, Saying, Wake
from fairlead.decide.act import Does
from fairlead.decide.ask import Answers
from fairlead.decide.decision import Decision
from fairlead.decide.zones.unfinished import Seen, decide, is_noted
from fairlead.kube.informer import Change, Informer
from fairlead.kube.store import Named

NAME = "unfinished-preparations"
SELECTION = f"{PREPARE_DOWNSCALE}=true"
MAY_WRITE = frozenset({Does.NOTE_PREPARATION})
DONE = {Does.NOTE_PREPARATION: Saying("debug", "preparation concluded")}

Watched = Mapping[str, Informer[StatefulSet]]


def unfinished(watched: Watched, settings: Settings) -> Part[Seen]:
    """The part on these informers of SELECTION, by namespace; that of all namespaces is under an empty name."""
    zones = _Zones(watched, settings)
    return Part(
        name=NAME,
        informers=(),
        subscribe=zones.subscribe,
        watched=zones.informers_of,
        scopes=zones.scopes,
        rollouts=zones.noted,
        gather=zones.gather,
        versions=lambda seen: (f"{seen.zone.metadata.uid}@{seen.zone.metadata.resource_version}",),
        decide=decide,
        say=_nothing,
        writes=MAY_WRITE,
        done=DONE,
    )


class _Zones:
    def __init__(self, watched: Watched, settings: Settings) -> None:
        self._watched = watched
        self._settings = settings

    def subscribe(self, wake: Wake) -> None:
        def changed(change: Change[StatefulSet]) -> None:
            new = change.new
            if new is not None and is_noted(new) and _note(new) != (change.old and _note(change.old)):
                wake(_key(new), change.initial)

        for informer in self._watched.values():
            informer.subscribe(changed)

    def noted(self) -> Iterator[Key]:
        return (_key(zone) for informer in self._watched.values() for zone in informer.store.items() if is_noted(zone))

    def informers_of(self, key: Key) -> Mapping[Resource, Informer[Named]]:
        return {STATEFULSETS: cast("Informer[Named]", self._of(key))}

    def gather(self, key: Key, answers: Answers) -> Seen | None:
        zone = self._of(key).store.get(*key)
        return None if zone is None else Seen(zone, answers, self._settings)

    def scopes(self, key: Key) -> Iterable[str]:
        zone = self._of(key).store.get(*key)
        return () if zone is None else (zone.metadata.uid,)

    def _of(self, key: Key) -> Informer[StatefulSet]:
        return self._watched.get(key.namespace) or self._watched[""]


def _note(zone: StatefulSet) -> str | None:
    return zone.metadata.annotations.get(PREPARING)


def _key(zone: StatefulSet) -> Key:
    return Key((zone.metadata.namespace, zone.metadata.name))


def _nothing(seen: Seen, decision: Decision, now: datetime) -> tuple[Saying, ...]:
    return ()
