"""The webhook phased-deployment (U-6): a changed template of a phased Deployment is admitted paused.

It judges by the review alone. Whether the gate may be passed is decided in rounds, which then write the mark `passed`;
until then every update that would unpause the Deployment or drop the mark is put right. It may be called several times
for one request: what it has put into the object before, it takes for its own.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from fairlead.contracts.zones.decide.admission.review_reading import (
    ReviewSnapshot,
    decoded,
    ignored,
    name_of,
    unjudged,
)
from fairlead.contracts.zones.decide.phased.gates import (
    BLOCKED,
    HELD,
    PASSED,
    Gate,
    GateMark,
    digest_of,
    gate_of,
    is_phased,
    mark_of,
)
from fairlead.contracts.zones.kinds import GATE
from fairlead.core.decision import Admit
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.review import NOTHING
from kubeloop.unreadable import UNREADABLE


class _Meta(Struct, frozen=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Spec(Struct, frozen=True):
    paused: bool | None = None
    template: Raw = NOTHING


class _Shown(Struct, frozen=True):
    """A Deployment as far as a review of it matters."""

    metadata: _Meta
    spec: _Spec

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.annotations or {}

    @property
    def is_phased(self) -> bool:
        return is_phased(self.metadata.labels or {})

    @property
    def is_paused(self) -> bool:
        return bool(self.spec.paused)


class _Update(Struct, frozen=True):
    """Old and new object, with the digests of their templates."""

    old: _Shown
    new: _Shown
    before: str
    after: str


def judge(seen: ReviewSnapshot, now: datetime) -> Admit:
    """Always allowed; with a patch where the gate needs one."""
    review = seen.review
    if (review.operation, review.sub_resource, review.resource.resource) != ("UPDATE", "", DEPLOYMENTS.plural):
        return ignored("not-an-update")
    update = _update_of(review.old_object, review.object)
    if update is None:
        return unjudged("undecodable", f"{name_of(review)} was not checked for phases: it is no Deployment to be read")
    mark = _held_by(update.old)
    if not update.new.is_phased:
        return _left(name_of(review)) if mark and update.new.is_paused else ignored("not-labelled")
    gate = gate_of(update.new.annotations)
    if update.before != update.after:
        return _changed(update, gate, name_of(review))
    if mark is None:
        return ignored("same-template")
    return _kept(update, mark, gate, name_of(review))


def _update_of(old: Raw, new: Raw) -> _Update | None:
    before, after = decoded(old, _Shown), decoded(new, _Shown)
    if before is None or after is None:
        return None
    try:
        digests = [digest_of(msgspec.json.decode(each.spec.template)) for each in (before, after)]
    except (*UNREADABLE, msgspec.MsgspecError, OverflowError):
        return None
    return _Update(before, after, *digests)


def _held_by(shown: _Shown) -> GateMark | None:
    """The mark of a gate that holds a phased Deployment."""
    mark = mark_of(shown.annotations)
    return mark if mark is not None and mark.holds and shown.is_phased else None


def _left(name: str) -> Admit:
    warning = f"{name} is not phased any more and stays paused: set spec.paused to false to roll out its template"
    return Admit(allowed=True, word="left-the-phases", warnings=(warning,))


def _changed(update: _Update, gate: Gate, name: str) -> Admit:
    old, new = update.old, update.new
    earlier = _held_by(new) or _held_by(old)
    paused = new.is_paused and (earlier is None or earlier.paused)
    over = earlier.over if earlier is not None else update.before
    if not gate.depends_on and earlier is None:
        return ignored("depends-on-nothing")
    if update.after == over:
        return _put(new, GateMark(PASSED, update.after, "", paused), paused=paused, word="change-given-up")
    if gate.is_resumed(update.after) or not gate.depends_on:
        return _put(new, GateMark(PASSED, update.after, "", paused), paused=paused, word="passed")
    told = (_promise(name, gate), *gate.problems)
    return _put(new, GateMark(HELD, update.after, over, paused), paused=True, word="held", warnings=told)


def _kept(update: _Update, mark: GateMark, gate: Gate, name: str) -> Admit:
    """Nothing but the mark of a passed gate, and only for the same template, ends the pause."""
    new, given = update.new, mark_of(update.new.annotations)
    own = given if given is not None and given.template == mark.template else mark
    if not own.holds:
        return ignored("released")
    state = BLOCKED if BLOCKED in (own.state, mark.state) else HELD
    wanted = GateMark(state, mark.template, mark.over, new.is_paused and own.paused)
    told = () if new.is_paused else (_promise(name, gate),)
    return _put(new, wanted, paused=True, word="kept-held", warnings=told)


def _promise(name: str, gate: Gate) -> str:
    revision = f" revision {gate.revision}" * bool(gate.revision)
    return f"{name} stays paused until deployment {gate.depends_on} has rolled out{revision} and soaked"


def _put(new: _Shown, mark: GateMark, *, paused: bool, word: str, warnings: tuple[str, ...] = ()) -> Admit:
    """The patch that leaves the object with this mark, paused or not; none where it is so already."""
    patch: list[dict[str, object]] = []
    if new.annotations.get(GATE) != str(mark):
        if new.annotations:
            patch.append({"op": "add", "path": f"/metadata/annotations/{GATE.replace('/', '~1')}", "value": str(mark)})
        else:
            patch.append({"op": "add", "path": "/metadata/annotations", "value": {GATE: str(mark)}})
    if new.is_paused != paused:
        patch.append({"op": "add", "path": "/spec/paused", "value": paused})
    body = msgspec.json.encode(patch) if patch else b""
    return Admit(allowed=True, word=word, patch=body, warnings=warnings, level="info" if patch else "debug")
