"""What is done with a box, and the document of it."""

from datetime import datetime

import msgspec

from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.decision import Decision, Hold, Move, Verdict
from fairlead.core.explain import Block, Explain, Stands
from fairlead.core.outcome import outcome_of
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref
from tests.toy.kinds import BOXES, Box


def refuse(seen: Box, _: datetime) -> Verdict | None:
    return None if seen.spec.colour else Hold(Reason.SPEC_INVALID)


def pause(seen: Box, _: datetime) -> Verdict | None:
    return Hold(Reason.PAUSED) if seen.spec.paused else None


def paint(seen: Box, _: datetime) -> Verdict | None:
    metadata, wanted, painted = seen.metadata, seen.spec.colour, seen.status.colour
    if painted == wanted:
        return None
    write = Patch(
        ref=Ref(BOXES, metadata.namespace, metadata.name, metadata.uid),
        does=Does.REPORT_STATUS,
        scope=metadata.uid,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"metadata": {"uid": metadata.uid}, "status": {"colour": wanted}}),
        subresource="status",
        change_from=painted,
        change_to=wanted,
    )
    return Move(Reason.ROLLING, (write,))


PART, NOUN = "toy", "box"
RULES = (refuse, pause, paint)


def decide(seen: Box, now: datetime) -> Decision:
    answers = ((rule.__name__, rule(seen, now)) for rule in RULES)
    return next((Decision(name, made) for name, made in answers if made), Decision("complete", Hold(Reason.COMPLETE)))


def explain(seen: Box, decision: Decision, _: datetime) -> Explain:
    reason, metadata = decision.verdict.reason, seen.metadata
    held = Block(decision.rule, reason.word, f"box/{metadata.name}", f"box {metadata.name} waits", reason.clears)
    return Explain(
        part=PART,
        noun=NOUN,
        namespace=metadata.namespace,
        rollout=metadata.name,
        outcome=outcome_of(reason),
        stands=Stands(reason.word, int(reason is Reason.COMPLETE), 1, "boxes"),
        blocked_by=(held,) if reason.clears else (),
    )


def observed(seen: Box) -> dict[str, int]:
    return {f"box/{seen.metadata.name}": seen.metadata.generation}
