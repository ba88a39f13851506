from __future__ import annotations

from fairlead.engine.contract import Contract, Room
from tests.toy.decide import PART
from tests.toy.kinds import GROUP, OWN_LABELS

CONTRACT = Contract(
    name=PART,
    about="boxes that are painted",
    labels=OWN_LABELS,
    groups=frozenset({GROUP}),
    part=Room("tests.toy.part", "part"),
    lease="toy-leader",
    kinds=Room("tests.toy.kinds", "definitions"),
)
