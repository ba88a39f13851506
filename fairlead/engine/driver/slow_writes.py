"""How long writes may take under a lease: little at first, and more where admission by others is seen to be slow.

A write whose answer is lost costs the time that it may take, so that is short. A write that webhooks of others hold up
for longer would never succeed with it: one that was given up may take twice as long the next time, and once writes of a
resource are seen to be answered slowly, all of them may. A lease that is lost cancels whatever is under way, so that no
write outlives it however long it may take.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kubeloop import clock
from kubeloop.objects.meta import Ref, Resource

REMEMBERED_SECONDS = 600.0
"""After the last slow answer, or the last write that was given up."""
MARGIN = 2.0
"""Times what a write took that the next one may take."""


class _Allowed(Struct, frozen=True):
    seconds: float
    until: float
    """Loop time."""


class SlowWrites:
    """Of one process; `usual` and `most` are seconds."""

    def __init__(self, usual: float, most: float) -> None:
        self._usual, self._most = usual, max(usual, most)
        self._allowed: dict[Ref | Resource, _Allowed] = {}

    def seconds(self, ref: Ref) -> float:
        """How long a write to the object may take now."""
        now = clock.monotonic()
        known = (self._allowed.get(each) for each in (ref.resource, _place(ref)))
        return max((each.seconds for each in known if each is not None and each.until > now), default=self._usual)

    def given_up(self, ref: Ref, after: float) -> None:
        """A write to the object had no answer within so many seconds."""
        self._allow(_place(ref), 2 * after)

    def answered(self, ref: Ref, after: float, *, is_done: bool = True) -> None:
        """A write that was refused may not have come to what holds others up, so it ends nothing."""
        if after > self._usual / MARGIN:
            self._allow(ref.resource, MARGIN * after)
        if is_done:
            self._allowed.pop(_place(ref), None)

    def _allow(self, what: Ref | Resource, seconds: float) -> None:
        now = clock.monotonic()
        self._allowed = {each: allowed for each, allowed in self._allowed.items() if allowed.until > now}
        known = self._allowed.get(what)
        longest = max(seconds, 0.0 if known is None else known.seconds)
        self._allowed[what] = _Allowed(min(longest, self._most), now + REMEMBERED_SECONDS)


def _place(ref: Ref) -> Ref:
    return replace(ref, uid="")
