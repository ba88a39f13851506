"""The rule set `materialize-v1`: the versions v1alpha1 and v1 as the upstream program has them (apiversions B2).

That program works in v1alpha1 and stores it. An object of v1 asks there for a rollout that is named after its hash, so
applying an unchanged one asks for nothing new, and what was completed is told by the same rule. It converts for whoever
runs that program; the operator of this package has a set of its own, of another hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.contracts.environments.decide.convert import newer, older
from fairlead.contracts.environments.decide.upstream_hash import upstream_hash
from fairlead.contracts.environments.kinds import GROUP, MATERIALIZES

NAME = "materialize-v1"


class MaterializeV1:
    """From v1 to the hub and back, on bodies of objects."""

    def to_hub(self, body: dict[str, Any], annotations: Mapping[str, str]) -> dict[str, Any]:
        return {**body, **older(body.get("spec"), body.get("status"), _metadata(annotations), upstream_hash)}

    def from_hub(self, body: dict[str, Any], annotations: Mapping[str, str]) -> dict[str, Any]:
        return {**body, **newer(body.get("spec"), body.get("status"), _metadata(annotations), upstream_hash)}


def _metadata(annotations: Mapping[str, str]) -> dict[str, object]:
    return {"annotations": {**annotations}}


RULES = MaterializeV1()
RULE_SET: dict[str, Any] = {
    "kind": "ConversionRules",
    "crd": f"{MATERIALIZES.plural}.{GROUP}",
    "hub": "v1alpha1",
    "spokes": [{"version": "v1", "carry": "off"}],
    "python": f"{__name__}:RULES",
}
