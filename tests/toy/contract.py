from fairlead.engine.contract import Contract, Room, Root
from tests.toy.decide import NOUN, PART
from tests.toy.kinds import BOXES

CONTRACT = Contract(
    name=PART,
    about="boxes that are painted",
    labels={"app.kubernetes.io/name": "toy-operator"},
    groups=frozenset({BOXES.group}),
    part=Room("tests.toy.part", "part"),
    lease="toy-leader",
    chart="toy-operator",
    installed_for=f"{BOXES.group}/namespace",
    kinds=Room("tests.toy.kinds", "definitions"),
    install=Room("tests.toy.install", "INSTALL"),
    section=Room("tests.toy.commands", "SECTION"),
    roots=(Root(BOXES, NOUN, optional=True),),
    look=Room("tests.toy.commands", "LOOK"),
    nothing=BOXES.kind,
)
