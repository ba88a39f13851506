"""What decides the rounds of each controller of API versions, and from what, for whoever decides them again."""

from __future__ import annotations

from fairlead.core.replay import Decider
from fairlead.engine.decide.given_certificate import GivenSnapshot, keep_published
from fairlead.engine.decide.rotation import rotate
from fairlead.engine.decide.rotation_snapshot import RotationSnapshot

DECIDERS = {
    "certificates": Decider(RotationSnapshot, rotate),
    "given-certificates": Decider(GivenSnapshot, keep_published),
}
