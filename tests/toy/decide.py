"""What is done with a box, and the document of it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.explain import Block, Explain, Stands
from fairlead.core.outcome import outcome_of
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref
from tests.toy.kinds import BOXES, Box

PART, NOUN = "toy", "box"


def decide(seen: Box, _: datetime) -> Decision:
    metadata, wanted, painted = seen.metadata, seen.spec, seen.status.colour
    if not wanted.colour:
        return Decision("refuse", Hold(Reason.SPEC_INVALID))
    if wanted.paused:
        return Decision("pause", Hold(Reason.PAUSED))
    if painted == wanted.colour:
        return Decision("complete", Hold(Reason.COMPLETE))
    paint = Patch(
        ref=Ref(BOXES, metadata.namespace, metadata.name, metadata.uid),
        does=Does.REPORT_STATUS,
        scope=metadata.uid,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"metadata": {"uid": metadata.uid}, "status": {"colour": wanted.colour}}),
        subresource="status",
        change_from=painted,
        change_to=wanted.colour,
    )
    return Decision("paint", Move(Reason.ROLLING, (paint,)))


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
