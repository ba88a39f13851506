"""What one stored version of an environment says, worked out here and not asked of the operator."""

from __future__ import annotations

import json
import re
import uuid
from hashlib import sha256

from msgspec import Struct

from kubesim.store.versions import Tree

NIL = str(uuid.UUID(int=0))
FORCE_ROLLOUT = "materialize.cloud/force-rollout"
IMMEDIATELY, MANUALLY = "ImmediatelyPromoteCausingDowntime", "ManuallyPromote"
PROMOTING = "Promoting"
IMAGES = ("v26.0.0", "v26.1.0", "v27.0.0", "v28.0.1")
"""Tags that environments are given here; from the first one may not go to the last at once, and never back."""

_PLAIN = (
    "authenticatorKind",
    "backendSecretName",
    "enableRbac",
    "environmentdConnectionRoleArn",
    "environmentdExtraArgs",
    "environmentdExtraEnv",
    "environmentdImageRef",
    "environmentdResourceRequirements",
    "environmentdScratchVolumeStorageRequirement",
    "internalCertificateSpec",
    "podAnnotations",
    "podLabels",
    "rolloutStrategy",
    "serviceAccountAnnotations",
    "serviceAccountLabels",
    "serviceAccountName",
    "systemParameterConfigmapName",
)
_UUIDS = ("environmentId", "forceRollout")
_NEVER = (
    "balancerdExternalCertificateSpec",
    "balancerdReplicas",
    "balancerdResourceRequirements",
    "consoleExternalCertificateSpec",
    "consoleReplicas",
    "consoleResourceRequirements",
    "forcePromote",
)
_OTHERWISE = {"authenticatorKind": "None", "enableRbac": False, "rolloutStrategy": "WaitUntilReady"}
_GENERATED = re.compile(r"mz(?P<id>[a-z0-9]{10})-(?:environmentd|persist-pubsub|listeners)-(?P<generation>\d+)")
_PUBLIC = re.compile(r"mz(?P<id>[a-z0-9]{10})-environmentd")


def hash_of(tree: Tree) -> str:
    """H of section 3.3; certificates, which need more, are not used here."""
    spec = {key: value for key, value in tree["spec"].items() if value is not None}
    form: Tree = dict.fromkeys(_NEVER)
    form |= {key: spec.get(key, _OTHERWISE.get(key)) for key in _PLAIN}
    form |= {key: str(uuid.UUID(spec.get(key, NIL))) for key in _UUIDS}
    if spec.get("rolloutRequestTimeout", "24h") != "24h":
        form["rolloutRequestTimeout"] = spec["rolloutRequestTimeout"]
    text = json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    forced = (tree["metadata"].get("annotations") or {}).get(FORCE_ROLLOUT, "")
    return sha256((text + forced).encode()).hexdigest()


class Fact(Struct, frozen=True):
    """One version of one environment."""

    uid: str
    namespace: str
    name: str
    version: int
    generation: int
    hash: str
    """H."""
    strategy: str
    force_promote: str
    environment_id: str
    image: str
    api_version: str = ""
    is_leaving: bool = False
    """Deleted, and waiting for its operator to let it go."""
    id: str = ""
    """Of the status; empty while there is none."""
    active: int = 0
    requested: str | None = None
    completed: str | None = None
    running_image: str = ""
    reason: str = ""
    message: str = ""
    spec: Tree = {}

    @property
    def is_promoting(self) -> bool:
        return self.reason == PROMOTING

    @property
    def is_settled(self) -> bool:
        """H = L, and nothing is being promoted: section 3.4 case 3."""
        return self.hash == self.completed and not self.is_promoting

    @property
    def is_forced(self) -> bool:
        """Whether this version asks for R to be promoted at once."""
        if self.strategy == IMMEDIATELY:
            return True
        names = () if self.requested is None else (self.requested, str(uuid.uuid5(uuid.NAMESPACE_OID, self.requested)))
        return self.force_promote in names

    @property
    def is_refused(self) -> bool:
        """Whether the image may not follow the running one."""
        if not self.running_image:
            return False
        old, new = (_numbers(image) for image in (self.running_image, self.image))
        return new < old or new[0] > old[0] + 1


def fact_of(tree: Tree, version: int) -> Fact:
    metadata, spec, status = tree["metadata"], tree["spec"], tree.get("status") or {}
    conditions = status.get("conditions") or [{}]
    return Fact(
        uid=metadata["uid"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        version=version,
        generation=metadata["generation"],
        hash=hash_of(tree),
        strategy=spec.get("rolloutStrategy", "WaitUntilReady"),
        force_promote=spec.get("forcePromote") or "",
        environment_id=str(uuid.UUID(spec.get("environmentId", NIL))),
        image=spec["environmentdImageRef"],
        api_version=tree["apiVersion"],
        is_leaving="deletionTimestamp" in metadata,
        id=status.get("resourceId", ""),
        active=status.get("activeGeneration", 0),
        requested=status.get("requestedRolloutHash"),
        completed=status.get("lastCompletedRolloutHash"),
        running_image=status.get("lastCompletedRolloutEnvironmentdImageRef") or "",
        reason=conditions[0].get("reason", ""),
        message=conditions[0].get("message", ""),
        spec=spec,
    )


def generated(name: str) -> tuple[str, int] | None:
    """The environment's id and the generation, of the name of an object that belongs to one."""
    found = _GENERATED.fullmatch(name)
    return None if found is None else (found["id"], int(found["generation"]))


def public(name: str) -> str | None:
    """The environment's id, of the name of its public Service."""
    found = _PUBLIC.fullmatch(name)
    return None if found is None else found["id"]


def _numbers(image: str) -> tuple[int, ...]:
    return tuple(int(part) for part in image.rpartition(":v")[2].split("."))
