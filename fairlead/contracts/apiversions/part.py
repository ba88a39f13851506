"""What an operator runs for versions of APIs."""

from __future__ import annotations

from fairlead.contracts.apiversions.kinds import PART
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.engine.part import Part, PartContext


def part(_: PartContext, __: ApiVersionsSettings) -> Part:
    return Part(name=PART, controllers=())
