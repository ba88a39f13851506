"""How the types of environments become schemas (section 2.2): what is optional may be null, and a default that is a
value is stored.

A member that is declared without fields of its own is named in `SHAPES`; what a type cannot say is in `REFINED`.
"""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.environments.install.core_schemas import ENV_VAR, RESOURCE_REQUIREMENTS
from fairlead.contracts.environments.install.descriptions import DESCRIPTIONS
from fairlead.contracts.environments.kinds import Json
from fairlead.core.schema_types import SchemaTypes

SHAPES: dict[str, Json] = {
    "balancerdResourceRequirements": RESOURCE_REQUIREMENTS,
    "consoleResourceRequirements": RESOURCE_REQUIREMENTS,
    "environmentdExtraEnv": ENV_VAR,
    "environmentdResourceRequirements": RESOURCE_REQUIREMENTS,
    "resourceRequirements": RESOURCE_REQUIREMENTS,
}

_REPLICAS: Json = {"format": "int32", "minimum": 0}
_COUNTER: Json = {"format": "int64", "minimum": 0}
_SAME = "self.lowerAscii().replace('-', '') == oldSelf.lowerAscii().replace('-', '')"
REFINED: dict[str, Json] = {
    "activeGeneration": _COUNTER,
    "balancerdReplicas": _REPLICAS,
    "consoleReplicas": _REPLICAS,
    "environmentId": {
        # The length bounds what the rule may cost, which the API server works out beforehand.
        "maxLength": 36,
        "x-kubernetes-validations": [
            {
                "rule": f"{_SAME} || oldSelf.matches('^[0-]*$')",
                "message": "environmentId cannot change once it is set, as the environment's data are stored under it: "
                "put the former one back, or create another environment",
            }
        ],
    },
    "observedGeneration": _COUNTER,
    "privateKeySize": {"format": "int32"},
    "replicas": _REPLICAS,
}

_TYPES = SchemaTypes(descriptions=DESCRIPTIONS, shapes=SHAPES, refined=REFINED, takes_null=True, stores_defaults=True)


def schema_of(kind: type[Struct]) -> Json:
    """Of an object with the fields of that type."""
    return _TYPES.schema_of(kind)
