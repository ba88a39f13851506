"""The gate of a phased Deployment (U-6): what its annotations ask for, and the mark that says which template it holds.

All that is stored is the mark. It names a template by a digest of it, because what is held is that template and
nothing else, and it keeps what cannot be seen once the gate has paused a Deployment: the template whose pods run
meanwhile, and whether its owner had paused it as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from hashlib import blake2b

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.kinds import DEPENDS_ON, GATE, PHASED, RESTART_THRESHOLD, RESUME, REVISION, SOAK_DURATION
from kubeloop.durations import parse_prometheus

DEFAULT_SOAK = 300.0
DEFAULT_THRESHOLD = Fraction(1, 10)
HELD, BLOCKED, PASSED = "held", "blocked", "passed"

_MARK = re.compile(r"(held|blocked|passed) ([0-9a-f]{12})(?: over ([0-9a-f]{12}))?( paused)?", re.ASCII)
_SHARE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)(%?)", re.ASCII)


class GateMark(Struct, frozen=True):
    """As written into the annotation: `held 0123456789ab over ba9876543210 paused`."""

    state: str
    template: str
    """Digest of the template that the gate is about."""
    over: str = ""
    """Digest of the template that was in force before; to return to it is to give up the change."""
    paused: bool = False
    """Whether the owner wants the Deployment paused, whatever the gate says."""

    @property
    def holds(self) -> bool:
        return self.state != PASSED

    def __str__(self) -> str:
        return f"{self.state} {self.template}{f' over {self.over}' * bool(self.over)}{' paused' * self.paused}"


class Gate(Struct, frozen=True):
    """What the annotations of a Deployment ask for."""

    depends_on: str
    revision: str
    resume: str
    soak: float
    """Seconds."""
    threshold: Fraction
    """Share of the pods that may restart during the soak."""
    problems: tuple[str, ...] = ()
    """A sentence for each annotation that cannot be used."""

    def is_resumed(self, template: str) -> bool:
        """Whether a person said to go on: by the revision, where there is none by the digest of the template."""
        return bool(self.resume) and self.resume == self.resume_with(template)

    def resume_with(self, template: str) -> str:
        return self.revision or template


def is_phased(labels: Mapping[str, str]) -> bool:
    return labels.get(PHASED) == "true"


def mark_of(annotations: Mapping[str, str]) -> GateMark | None:
    """None when there is no mark that can be read."""
    found = _MARK.fullmatch(annotations.get(GATE, ""))
    return GateMark(found[1], found[2], found[3] or "", bool(found[4])) if found else None


def digest_of(template: object) -> str:
    """Equal for equal templates, in whichever order they are written; OverflowError for a number that none has."""
    return blake2b(msgspec.json.encode(template, order="sorted"), digest_size=6).hexdigest()


def gate_of(annotations: Mapping[str, str]) -> Gate:
    def said(key: str) -> str:
        return annotations.get(key, "").strip()

    soak, wrong_soak = _soak(said(SOAK_DURATION))
    threshold, wrong_threshold = _threshold(said(RESTART_THRESHOLD))
    problems = tuple(filter(None, (wrong_soak, wrong_threshold)))
    return Gate(said(DEPENDS_ON), said(REVISION), said(RESUME), soak, threshold, problems)


def _soak(text: str) -> tuple[float, str]:
    if not text:
        return DEFAULT_SOAK, ""
    try:
        return parse_prometheus(text), ""
    except ValueError as error:
        return DEFAULT_SOAK, f"annotation {SOAK_DURATION}: {error}"


def _threshold(text: str) -> tuple[Fraction, str]:
    """`10%` and `0.1` are the same; more than all is a mistake."""
    if not text:
        return DEFAULT_THRESHOLD, ""
    found = _SHARE.fullmatch(text)
    share = Fraction(found[1]) / (100 if found[2] else 1) if found else Fraction(2)
    if share > 1:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        return DEFAULT_THRESHOLD, f'annotation {RESTART_THRESHOLD} is "{shown}": write a share such as 10% or 0.1'
    return share, ""
