"""Taking back a rollout: the spec that the serving generation was made from, found again.

The contract stores its hash and not the spec itself. Most changes are of few fields, and what the serving generation is
made of tells most of them; a guess is right exactly when its hash is the stored one, so nothing wrong is ever put back.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, product

from msgspec import Struct

from fairlead.contracts.environments.decide.force_promotion import bound, standing_for_people
from fairlead.contracts.environments.decide.hash import HASHED, LATER, rollout_hash
from fairlead.contracts.environments.decide.spec_clues import Traces, traces_of
from fairlead.contracts.environments.kinds import FORCE_ROLLOUT, Json, Materialize
from fairlead.core.merge_patch import merge_patch
from fairlead.core.verb import Refused

MOST_GUESSES = 20_000
"""Some tenths of a second."""
STRATEGIES = ("WaitUntilReady", "ManuallyPromote", "ImmediatelyPromoteCausingDowntime")
KINDS = ("None", "Password", "Sasl", "Oidc", "Frontegg")
EMPTY = ("serviceAccountAnnotations", "serviceAccountLabels")
"""Fields that may have been empty as well as absent."""
FIXED = ("environmentId",)
"""Never changes."""


class SpecChange(Struct, frozen=True):
    field: str
    before: object
    after: object


class Undo(Struct, frozen=True):
    """The patch after which the spec is that of the serving generation."""

    active: int
    patch: Json
    changes: tuple[SpecChange, ...]


class Unknown(Struct, frozen=True):
    """No guess has the hash; these fields leave no trace, or not the whole of it."""

    active: int
    hash: str
    untraced: tuple[str, ...]


def undo(environment: Materialize, statefulset: bytes | None, listeners: bytes | None) -> Undo | Unknown | Refused:
    """What takes the rollout back; the bodies are those of the serving generation, None where there is none."""
    stand = standing_for_people(environment)
    if isinstance(stand, Refused):
        return stand
    if stand.is_promoting:
        return Refused(
            f"generation {stand.target} is being promoted, and there is no way back: change the spec once it serves"
        )
    if stand.hash == stand.completed:
        return Refused(f"there is nothing to take back: generation {stand.active} is what the spec asks for")
    if stand.completed is None or stand.active < 1:
        return Refused("no earlier rollout was completed: change the spec, or delete the environment")
    traces = traces_of(stand.environment.name, statefulset, listeners)
    image = stand.status.last_completed_rollout_environmentd_image_ref
    for spec, annotation in islice(_candidates(environment, traces, image), MOST_GUESSES):
        if _hash(spec, annotation) == stand.completed:
            return _undo(environment, stand.active, spec, annotation)
    return Unknown(stand.active, stand.completed, _untraced(traces))


def _hash(spec: Json, annotation: str | None) -> str:
    return rollout_hash(spec, {} if annotation is None else {FORCE_ROLLOUT: annotation})


def _candidates(environment: Materialize, traces: Traces, image: str | None) -> Iterator[tuple[Json, str | None]]:
    """Specs and annotations, those first in which the fewest fields are not what is most likely."""
    annotation = environment.metadata.annotations.get(FORCE_ROLLOUT)
    forced = traces.force_annotation or _distinct(annotation, None)
    choices = {field: _options(environment.spec, traces, field, image) for field in (*HASHED, *LATER)}
    for chosen in _fewest_first({**choices, FORCE_ROLLOUT: forced}):
        picked = chosen.pop(FORCE_ROLLOUT)
        spec = {key: value for key, value in {**environment.spec, **chosen}.items() if value is not None}
        yield spec, picked if isinstance(picked, str) else None


def _fewest_first(choices: dict[str, tuple[object, ...]]) -> Iterator[dict[str, object]]:
    likeliest = {field: options[0] for field, options in choices.items()}
    open_ = [field for field, options in choices.items() if len(options) > 1]
    for count in range(len(open_) + 1):
        for fields in combinations(open_, count):
            for others in product(*(choices[field][1:] for field in fields)):
                yield likeliest | dict(zip(fields, others, strict=True))


def _options(spec: Json, traces: Traces, field: str, image: str | None) -> tuple[object, ...]:
    """What a field may have been: as it was traced, as it is, and what is usual for it."""
    current = spec.get(field)
    if field in FIXED:
        return (current,)
    if field == "environmentdImageRef" and image is not None:
        return (image,)
    traced = traces.guesses.get(field)
    if traced is not None:
        if current and current in traced:
            return (current,)
        # Nothing that is there may be normalised, and then the spec still has it as it was written.
        return _distinct(*((current,) if current in traced else ()), *traced, current)
    if field == "rolloutStrategy":
        return _distinct(current, *STRATEGIES)
    if field == "authenticatorKind":
        return _distinct(current, *KINDS)
    return _distinct(current, None, {}) if field in EMPTY else _distinct(current, None)


def _distinct(*values: object) -> tuple[object, ...]:
    """Each once; 0, False and nothing are not the same."""
    found: list[object] = []
    for value in values:
        if not any(value == each and type(value) is type(each) for each in found):
            found.append(value)
    return tuple(found)


def _untraced(traces: Traces) -> tuple[str, ...]:
    known = {*traces.guesses, "environmentdImageRef", "rolloutStrategy", *FIXED}
    return tuple(field for field in (*HASHED, *LATER) if field not in known)


def _undo(environment: Materialize, active: int, spec: Json, annotation: str | None) -> Undo:
    """Only what makes a difference to the hash is changed: a default that is written out may stay so."""
    current, wanted = environment.spec, _hash(spec, annotation)
    differ = [field for field in (*HASHED, *LATER) if current.get(field) != spec.get(field)]
    fields = [field for field in differ if _hash({**spec, field: current.get(field)}, annotation) != wanted]
    changes = [SpecChange(f"spec.{field}", current.get(field), spec.get(field)) for field in fields]
    patch: Json = {}
    if fields:
        patch["spec"] = {field: merge_patch(current.get(field), spec.get(field)) for field in fields}
    before = environment.metadata.annotations.get(FORCE_ROLLOUT)
    if before != annotation:
        changes.append(SpecChange(f"metadata.annotations[{FORCE_ROLLOUT}]", before, annotation))
        patch["metadata"] = {"annotations": {FORCE_ROLLOUT: annotation}}
    return Undo(active, bound(environment, patch), tuple(changes))
