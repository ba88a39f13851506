"""The definition of CloneSets, with the fields that the stand-in for their controller knows.

What OpenKruise's webhook fills in is a default of the definition here, but for the pod template, which stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeloop.client import Client
from kubesim.standins.cloneset_plan import CLONESETS, MAX_UNAVAILABLE, RECREATE
from kubesim.standins.definitions import DEFINITIONS, Tree, install_definitions

_WHOLE: Tree = {"type": "integer", "format": "int32"}
_SHARE: Tree = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_TEXT: Tree = {"type": "string"}
_FREE: Tree = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _object(properties: Mapping[str, object], *required: str) -> Tree:
    found: Tree = {"type": "object", "properties": dict(properties)}
    return found | ({"required": list(required)} if required else {})


_SPEC = _object(
    {
        "replicas": _WHOLE | {"default": 1},
        "selector": _FREE,
        "template": _FREE,
        "scaleStrategy": _object({"podsToDelete": {"type": "array", "items": _TEXT}, "maxUnavailable": _SHARE})
        | {"default": {}},
        "updateStrategy": _object(
            {
                "type": _TEXT | {"enum": [RECREATE, "InPlaceIfPossible", "InPlaceOnly"], "default": RECREATE},
                "partition": _SHARE | {"default": 0},
                "maxUnavailable": _SHARE | {"default": MAX_UNAVAILABLE},
                "maxSurge": _SHARE | {"default": 0},
                "paused": {"type": "boolean"},
            }
        )
        | {"default": {}},
        "revisionHistoryLimit": _WHOLE | {"default": 10},
        "minReadySeconds": _WHOLE,
    },
    "selector",
    "template",
)

_COUNTS = (
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "updatedReadyReplicas",
    "updatedAvailableReplicas",
    "expectedUpdatedReplicas",
    "collisionCount",
)
_STATUS = _object(
    dict.fromkeys(_COUNTS, _WHOLE)
    | dict.fromkeys(("updateRevision", "currentRevision", "labelSelector"), _TEXT)
    | {"observedGeneration": {"type": "integer", "format": "int64"}}
)

DEFINITION: Tree = {
    "apiVersion": DEFINITIONS.api_version,
    "kind": DEFINITIONS.kind,
    "metadata": {"name": f"{CLONESETS.plural}.{CLONESETS.group}"},
    "spec": {
        "group": CLONESETS.group,
        "scope": "Namespaced",
        "names": {
            "plural": CLONESETS.plural,
            "singular": "cloneset",
            "kind": CLONESETS.kind,
            "listKind": f"{CLONESETS.kind}List",
            "shortNames": ["clone"],
        },
        "versions": [
            {
                "name": CLONESETS.version,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _object({"spec": _SPEC, "status": _STATUS})},
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.labelSelector",
                    },
                },
                "additionalPrinterColumns": [
                    {"name": "Desired", "type": "integer", "jsonPath": ".spec.replicas"},
                    {"name": "Updated", "type": "integer", "jsonPath": ".status.updatedReplicas"},
                    {"name": "Updated_ready", "type": "integer", "jsonPath": ".status.updatedReadyReplicas"},
                    {"name": "Ready", "type": "integer", "jsonPath": ".status.readyReplicas"},
                    {"name": "Total", "type": "integer", "jsonPath": ".status.replicas"},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
            }
        ],
    },
}


async def install(client: Client) -> None:
    """CloneSets are served afterwards; a definition that is there already is left as it is."""
    await install_definitions(client, DEFINITION)
