"""The rules of the conversion webhook, under a name by which another process finds them."""

from __future__ import annotations

from fairlead.contracts.environments.decide.convert import VERSIONS, Unconvertible, convert
from fairlead.contracts.environments.kinds import MATERIALIZES
from fairlead.engine.conversion.review import ConversionRule, Rules

RULES: Rules = (ConversionRule(MATERIALIZES.kind, VERSIONS, convert, Unconvertible),)
RULES_NAME = f"{__name__}:RULES"
