"""Section 3.5: a person's word that the generation on its way shall be promoted: `spec.forcePromote` is set to R.

It is given for one rollout and names it; said of another, or when nothing is on its way, it would lie around until
somebody comes back to exactly that spec.
"""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.decide.standing import (
    FAILED_DEPLOY,
    IMMEDIATELY,
    READY_TO_PROMOTE,
    ROLLOUT_TIMEOUT,
    Standing,
    has_environment_id,
    spec_trouble,
    standing_of,
)
from fairlead.contracts.environments.kinds import Json, Materialize
from fairlead.core.verb import Nothing, Refused


class Force(Struct, frozen=True):
    """The patch that promotes this generation."""

    generation: int
    image: str
    patch: Json
    is_ready: bool
    """Whether it has caught up already; else it skips the rest."""


def force(environment: Materialize) -> Force | Nothing | Refused:
    """What makes the generation take over that the operator is rolling out."""
    stand = standing_for_people(environment)
    if isinstance(stand, Refused):
        return stand
    if stand.is_promoting:
        return Nothing(f"generation {stand.target} is being promoted already")
    if stand.hash == stand.completed:
        return Refused(f"there is nothing to promote: generation {stand.active} is what the spec asks for")
    if stand.requested != stand.hash:
        return Refused(
            "the operator has not taken up the latest change of its spec: try again in a moment, and check that the"
            " operator runs"
        )
    if stand.reason in (FAILED_DEPLOY, ROLLOUT_TIMEOUT):
        return Refused(f"generation {stand.target} cannot be promoted: {_message(stand)}")
    if stand.spec.rollout_strategy == IMMEDIATELY:
        return Nothing(f"generation {stand.target} takes over by itself: rolloutStrategy is {IMMEDIATELY}")
    if stand.is_forced:
        return Nothing(f"generation {stand.target} was approved already, and takes over as soon as it can")
    patch: Json = bound(environment, {"spec": {"forcePromote": stand.requested}})
    ready = stand.reason == READY_TO_PROMOTE
    return Force(stand.target, stand.spec.environmentd_image_ref, patch, ready)


def standing_for_people(environment: Materialize) -> Standing | Refused:
    """Where it stands, once the operator has taken it up."""
    seen = Snapshot(environment=environment)
    if environment.metadata.deletion_timestamp is not None:
        return Refused("it is being deleted")
    if environment.status is None or not has_environment_id(seen):
        return Refused("the operator has not taken it up yet: check that the operator runs")
    if trouble := spec_trouble(seen):
        return Refused(f"its spec cannot be used: {trouble}")
    return standing_of(seen)


def bound(environment: Materialize, patch: Json) -> Json:
    """A merge patch of this version of the object."""
    given = patch.get("metadata")
    metadata = given if isinstance(given, dict) else {}
    version = {"resourceVersion": environment.metadata.resource_version}
    return {**patch, "metadata": {**metadata, **version}}


def _message(stand: Standing) -> str:
    return stand.condition.message if stand.condition is not None else stand.reason
