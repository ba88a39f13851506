from fairlead.engine.contract import Contract, Room
from tests.widgets.decide import PART
from tests.widgets.kinds import GROUP, OWN_LABELS

CONTRACT = Contract(
    name=PART,
    about="widgets of two API versions",
    labels=OWN_LABELS,
    groups=frozenset({GROUP}),
    part=Room("tests.widgets.part", "part"),
    lease="widget-operator",
    kinds=Room("tests.widgets.kinds", "definitions"),
)
