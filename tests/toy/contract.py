from fairlead.engine.contract import Contract, Room, Root
from tests.toy.decide import NOUN, PART
from tests.toy.kinds import BOXES, GROUP, OWN_LABELS

CONTRACT = Contract(
    name=PART,
    about="boxes that are painted",
    labels=OWN_LABELS,
    groups=frozenset({GROUP}),
    part=Room("tests.toy.part", "part"),
    lease="toy-leader",
    chart="toy-operator",
    installed_for=f"{GROUP}/namespace",
    kinds=Room("tests.toy.kinds", "definitions"),
    install=Room("tests.toy.install", "INSTALL"),
    section=Room("tests.toy.commands", "SECTION"),
    roots=(Root(BOXES, NOUN, optional=True),),
    look=Room("tests.toy.commands", "LOOK"),
    nothing=BOXES.kind,
)
