"""What follows from the version of a payload: annotations, a condition, an Event, a spec in the hub (section 3.4)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.field_evidence import payload_of
from fairlead.contracts.apiversions.decide.payload import Payload, PayloadVerdict, annotations_of, payload_hash
from fairlead.contracts.apiversions.decide.trees import Tree, copied
from fairlead.contracts.apiversions.kinds import PAYLOAD_HASH, PAYLOAD_VERSION
from fairlead.core.act import EventNote
from fairlead.core.merge_patch import merge_patch
from fairlead.core.times import format_rfc3339
from kubeloop.objects.meta import Ref
from kubeloop.schemas.structural import Node, prune

CONDITION = "PayloadVersionMatched"
EVENT = "PayloadVersionMismatch"
REASONS = {
    PayloadVerdict.HUB: "HubPayload",
    PayloadVerdict.OTHER: "OlderPayload",
    PayloadVerdict.MIXED: "MixedPayload",
    PayloadVerdict.AMBIGUOUS: "AmbiguousPayload",
}


def text_of(payload: Payload, hub: str) -> str:
    """One sentence for whoever wrote the object; it holds no value."""
    versions, places = " and ".join(payload.versions), ", ".join(payload.places)
    match payload.verdict:
        case PayloadVerdict.HUB:
            return f"the fields are those of {hub}"
        case PayloadVerdict.OTHER:
            return (
                f"the fields are those of {versions}: write the object in {hub}, or as {versions} while that is served"
            )
        case PayloadVerdict.MIXED:
            return f"the fields are of {versions} ({places}): write all of them as {hub} has them"
        case PayloadVerdict.AMBIGUOUS if payload.places:
            return (
                f"fields of {versions} ({places}) contradict one another, and nobody can tell which is newer: "
                f"remove those that are not of {hub}; the workload stays as it is"
            )
        case _:
            return (
                "nobody can tell of which version the fields are: "
                f"write the spec as {hub} has it; the workload stays as it is"
            )


def condition(payload: Payload, hub: str, before: Iterable[Tree], generation: int, now: datetime) -> Tree | None:
    """The condition of the status; None where all is well and nothing else was said before."""
    found = next((each for each in before if each.get("type") == CONDITION), None)
    matched = payload.verdict is PayloadVerdict.HUB
    if matched and found is None:
        return None
    status = "True" if matched else "False"
    since = found.get("lastTransitionTime") if found is not None and found.get("status") == status else None
    return {
        "type": CONDITION,
        "status": status,
        "reason": REASONS[payload.verdict],
        "message": text_of(payload, hub),
        "observedGeneration": generation,
        "lastTransitionTime": since or format_rfc3339(now.replace(microsecond=0)),
    }


def note(payload: Payload, about: Ref, hub: str, generation: int) -> EventNote | None:
    """Told once for each generation of the object."""
    if payload.verdict is PayloadVerdict.HUB:
        return None
    return EventNote(about, True, EVENT, text_of(payload, hub), occurrence=f"{generation}")


def noted_payload(tree: Tree, payload: Payload) -> dict[str, str]:
    """What differs from what the object says of its payload already; nothing where that is not one version.

    It is written after a round that went well, so that the next one knows the payload without guessing.
    """
    if not payload.version or payload.verdict is PayloadVerdict.AMBIGUOUS:
        return {}
    wanted = {PAYLOAD_VERSION: payload.version, PAYLOAD_HASH: payload_hash(tree)}
    noted = annotations_of(tree)
    return {key: value for key, value in wanted.items() if noted.get(key) != value}


def lost(tree: Tree, registered: Node) -> list[str]:
    """What the API server would prune of a body that is written under this schema."""
    return prune(copied(tree), registered)


def normalizing(tree: Tree, payload: Payload, kind: KindConversion, registered: Node) -> Tree | None:
    """A merge patch that makes the payload one of the hub, to be bound to the version that was seen; None as of
    `normalized`."""
    made = normalized(tree, payload, kind, registered)
    if made is None:
        return None
    before, after = payload_of(tree), payload_of(made)
    noted, wanted = annotations_of(tree), annotations_of(made)
    changed = {key: value for key, value in wanted.items() if noted.get(key) != value}
    gone = {key: None for key in noted if key not in wanted}
    body = merge_patch(before, after)
    return {"metadata": {"annotations": {**changed, **gone}}, **(body if isinstance(body, dict) else {})}


def normalized(tree: Tree, payload: Payload, kind: KindConversion, registered: Node) -> Tree | None:
    """The object to write in the place of one whose payload is of another version, carried leaves in annotations.

    It is bound to the version that was seen. None where it is of the hub, where nobody can tell, or where the schema
    that is registered would lose something of it.
    """
    if payload.verdict in (PayloadVerdict.HUB, PayloadVerdict.AMBIGUOUS) or payload.tree is None:
        return None
    made = {name: value for name, value in payload.tree.items() if name != "status"}
    metadata = dict(made["metadata"])
    noted = {PAYLOAD_VERSION: kind.hub.name, PAYLOAD_HASH: payload_hash(made)}
    metadata["annotations"] = {**metadata.get("annotations", {}), **noted}
    made = {**made, "apiVersion": f"{kind.group}/{kind.hub.name}", "metadata": metadata}
    return None if lost(made, registered) else made
