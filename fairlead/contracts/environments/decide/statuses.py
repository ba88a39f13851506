"""Sections 2.4 and 2.5: the status as it is written, whole and bound to the version it was made from.

A status that says the same as the stored one is not written, whatever the time.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, structs

from fairlead.contracts.environments.decide.objects.wanted import encoded
from fairlead.contracts.environments.decide.standing import (
    APPLIED,
    APPLYING,
    FAILED_DEPLOY,
    PROMOTING,
    READY_TO_PROMOTE,
    ROLLOUT_TIMEOUT,
    Standing,
    condition_of,
)
from fairlead.contracts.environments.kinds import (
    CONDITION,
    MATERIALIZES,
    Condition,
    Json,
    Materialize,
    MaterializeStatus,
)
from fairlead.core.act import Does, EventNote, Replace
from kubeloop.objects.meta import Meta, Ref, Resource

LONGEST_TEXT = 1024
"""Bytes that an Event's text may have."""
LONGEST_MESSAGE = 32768
"""Characters that the schema of conditions lets a message have."""

VALUES = {
    APPLYING: "Unknown",
    READY_TO_PROMOTE: "Unknown",
    PROMOTING: "Unknown",
    APPLIED: "True",
    FAILED_DEPLOY: "False",
    ROLLOUT_TIMEOUT: "False",
}
"""The status that goes with each reason."""


class Says(Struct, frozen=True):
    """What the condition is to say."""

    reason: str
    message: str
    observed: int | None = None
    """The generation of the object that was acted on; None for the one that is seen."""
    anew: bool = False
    """Whether the time of the rollout counts from here, as it does for another R."""


def applying(stand: Standing, *, anew: bool = False) -> Says:
    return Says(APPLYING, f"Applying changes for generation {stand.target}", anew=anew)


def ready_to_promote(stand: Standing) -> Says:
    return Says(READY_TO_PROMOTE, f"Ready to promote generation {stand.target}")


def promoting(stand: Standing) -> Says:
    return Says(PROMOTING, f"Attempting to promote generation {stand.target}")


def promoted(stand: Standing) -> Says:
    """It is about the object as it was when the promotion was begun, whatever was changed since."""
    observed = stand.condition.observed_generation if stand.condition is not None else None
    message = f"Successfully applied changes for generation {stand.target}"
    return Says(APPLIED, message, observed if isinstance(observed, int) else None)


def unchanged(stand: Standing) -> Says:
    return Says(APPLIED, f"No changes found from generation {stand.active}")


def failed(stand: Standing, error: str) -> Says:
    return Says(FAILED_DEPLOY, f"Failed to apply changes for generation {stand.target}: {error}"[:LONGEST_MESSAGE])


def refused(sentence: str) -> Says:
    return Says(FAILED_DEPLOY, sentence[:LONGEST_MESSAGE])


def cancelled(stand: Standing) -> Says:
    what = f"Cancelled rollout to generation {stand.target}"
    return Says(ROLLOUT_TIMEOUT, f"{what} after it exceeded the rollout timeout of {stand.timeout_text}")


def record(stand: Standing, says: Says, now: datetime, **changes: object) -> Replace | None:
    """The write that makes the status say this, with other fields changed as given; None where it does already."""
    status = structs.replace(stand.status, **changes)
    restarted = VALUES[says.reason] != "True" and status.requested_rollout_hash != stand.requested
    stored = condition_of(stand.status)
    value = VALUES[says.reason]
    keeps = stored is not None and stored.status == value and not (restarted or says.anew)
    if stored is not None and stored.last_transition_time > now:
        keeps = False  # a clock was ahead that is set right since: its time limit would end that much later
    generation = stand.seen.environment.metadata.generation
    condition = Condition(
        type=CONDITION,
        status=value,
        reason=says.reason,
        message=says.message,
        last_transition_time=stored.last_transition_time if stored and keeps else whole_seconds(now),
        observed_generation=generation if says.observed is None else says.observed,
    )
    status = structs.replace(status, conditions=(condition,))
    return None if status == stand.status else written(stand.seen.environment, status, says)


def written(environment: Materialize, status: MaterializeStatus, says: Says | None = None) -> Replace:
    """The status of this version of the object; a reason that it did not have before is told."""
    ref = Ref(MATERIALIZES, environment.metadata.namespace, environment.metadata.name, environment.metadata.uid)
    stored = condition_of(environment.status) if environment.status is not None else None
    before = "" if stored is None else stored.reason
    tell = None
    if says is not None and says.reason != before:
        tell = EventNote(ref, False, says.reason, shortened(says.message))
    return Replace(
        repeatable=True,
        ref=ref,
        body=status_body(MATERIALIZES, environment.metadata, environment.spec, status),
        resource_version=environment.metadata.resource_version,
        subresource="status",
        does=Does.REPORT_STATUS,
        scope=ref.uid,
        change_from=before,
        change_to="" if says is None else says.reason,
        tell=tell,
    )


def status_body(resource: Resource, metadata: Meta, spec: object, status: Struct) -> bytes:
    """What is sent to the status subresource, which keeps all but the status as it is stored."""
    tree: Json = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        },
        "spec": spec,
        "status": status,
    }
    return encoded(tree)


def whole_seconds(moment: datetime) -> datetime:
    """As conditions carry times."""
    return moment.replace(microsecond=0)


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """No more bytes than an Event may have, cut between characters."""
    data = text.encode()
    if len(data) <= most:
        return text
    return data[: most - 3].decode(errors="ignore") + "..."
