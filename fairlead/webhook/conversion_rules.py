"""The rules of the conversion webhook, under names by which another process finds them."""

from __future__ import annotations

from fairlead.api.environments import MATERIALIZES
from fairlead.decide.environments.convert import VERSIONS, Unconvertible, convert
from fairlead.webhook.conversion_review import Rule, Rules

ENVIRONMENTS: Rules = (Rule(MATERIALIZES.kind, VERSIONS, convert, Unconvertible),)
ENVIRONMENTS_NAME = f"{__name__}:ENVIRONMENTS"
