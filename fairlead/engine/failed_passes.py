"""What people are told of passes that the API server lets fail, where the decision does not tell it.

A refusal that a decision knows of is told in its words. Any other ends the pass, and nothing in the cluster would say
why its rollout stands still: a status that may not be written, a pod that may not be deleted. It is told once passes
have failed for a while, so that what passes by itself is not told.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar

from fairlead.core.act import AnyWrite, EventNote
from fairlead.engine.accounts import PassFailure
from fairlead.engine.controller import Controller, RolloutKey
from fairlead.engine.driver.perform import Round
from kubeloop.objects.meta import Ref

S = TypeVar("S")

FAILING = "PassFailed"
TOLD_AFTER = 5.0
"""Seconds for which passes fail before it is told."""


class FailedPasses(Generic[S]):
    """Of one controller; `tell` makes an Event of a note."""

    def __init__(self, controller: Controller[S], tell: Callable[[EventNote], None]) -> None:
        self._controller = controller
        self._tell = tell
        self._writes: dict[str, AnyWrite] = {}
        """By rollout, what its last round could not write."""

    def write_failed(self, write: AnyWrite, this: Round) -> None:
        """Ended its round."""
        self._writes[this.key] = write

    def failed(self, key: RolloutKey, seen: S, failure: PassFailure, now: datetime) -> None:
        """A pass over what was seen has failed."""
        write = self._writes.pop(str(key), None)
        if not failure.lasts(TOLD_AFTER, now):
            return
        about = self._about(seen, write)
        if about is not None:
            self._tell(EventNote(about, True, FAILING, f"The last pass failed: {failure.text}", repeated=True))

    def _about(self, seen: S, write: AnyWrite | None) -> Ref | None:
        """The object that a Snapshot is about; where it is about several, the one that the write belongs to."""
        if self._controller.guards is not None:
            guarded = self._controller.guards(seen)
            return guarded.ref if guarded is not None and guarded.is_told else None
        scope = "" if write is None else write.scope
        return None if self._controller.rolled is None else self._controller.rolled(seen, scope)
