"""Section 3.9: Materialize objects from one version to another, field by field over whatever an object has (B2).

The API server also converts parts of objects, for instance the fields that one manager owns, so a field is never
demanded, and what is derived from other fields is added to complete objects only: a part that gained a field would make
its manager the owner of it. Nothing is checked or defaulted here; the schemas do that.

The status of v1alpha1 carries the hashes of v1alpha2, and `rolloutRequestTimeout` is a field of all three versions,
because what a version cannot hold is lost with every write through it, and what the stored version cannot hold is lost
with every write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.kinds import GROUP, MATERIALIZES, NIL
from fairlead.core.uuids import parse, uuid5

Tree: TypeAlias = dict[str, object]
Hash: TypeAlias = Callable[[Mapping[str, object], Mapping[str, str]], str]
"""Of a spec in the newer shape and the annotations of its object."""

OLD = f"{GROUP}/v1alpha1"
VERSIONS = (OLD, f"{GROUP}/v1alpha2", f"{GROUP}/v1")
"""The last two have the same fields."""
ROLE_ARN = "eks.amazonaws.com/role-arn"
PROMOTING = "Promoting"
TOO_DEEP = "it is nested too deeply: correct it where it was written"

_NEEDED_SPEC = ("environmentdImageRef", "backendSecretName")
_NEEDED_STATUS = ("resourceId", "activeGeneration", "conditions")
_NEEDED_OLD_STATUS = (*_NEEDED_STATUS, "lastCompletedRolloutRequest", "resourcesHash")
_RETIRED = ("inPlaceRollout", "environmentdIamRoleArn")
_ONLY_OLD_SPEC = ("requestRollout", *_RETIRED)
_ONLY_OLD_STATUS = ("lastCompletedRolloutRequest", "resourcesHash")


class Unconvertible(Exception):
    """An object has no counterpart in the version that is asked for; the text is a sentence without field values."""


def convert(tree: object, desired: str) -> Tree:
    """The object in that version; itself where it has that version already.

    What is not changed is shared with the object that was given, which stays as it was. Metadata is always there, as
    the API server takes no object back without it.
    """
    if desired not in VERSIONS:
        raise Unconvertible(f'Materialize is not known in version "{desired}": ask for {_known()}')
    if not isinstance(tree, dict):
        raise Unconvertible("what was sent is not an object: send a Materialize")
    source = tree.get("apiVersion")
    if source not in VERSIONS:
        raise Unconvertible(f"its apiVersion is missing or unknown: send {_known()}")
    if tree.get("kind") != MATERIALIZES.kind:
        raise Unconvertible(f"its kind is not {MATERIALIZES.kind}, the only one that is converted")
    if source == desired:
        return tree
    metadata, spec, status = (_object(tree, part) for part in ("metadata", "spec", "status"))
    made = {**tree, "apiVersion": desired, "metadata": metadata or {}}
    try:
        if source == OLD:
            return made | newer(spec, status, metadata or {}, rollout_hash)
        if desired == OLD:
            return made | older(spec, status, metadata or {}, rollout_hash)
    except RecursionError as error:
        raise Unconvertible(TOO_DEEP) from error
    return made


def newer(spec: Tree | None, status: Tree | None, metadata: Tree, hashed: Hash) -> Tree:
    """Spec and status, where there are any, from v1alpha1 on."""
    made: Tree = {}
    to_spec = {} if spec is None else _newer_spec(spec)
    if spec is not None:
        made["spec"] = to_spec
    if status is None:
        return made
    to = {key: value for key, value in status.items() if key not in _ONLY_OLD_STATUS}
    made["status"] = to
    if not _is_complete(spec, status, _NEEDED_OLD_STATUS):
        return made
    completed = _has_completed(spec, status) and _is_observed(status, metadata)
    lacks_last = status.get("lastCompletedRolloutHash") is None and completed
    # A promotion under way is of a spec that may have been edited since: its hash cannot be known.
    lacks_requested = status.get("requestedRolloutHash") is None and not _is_promoting(status)
    if lacks_last or lacks_requested:
        rolled = hashed(to_spec, _annotations(metadata))
        to |= {"lastCompletedRolloutHash": rolled} if lacks_last else {}
        to |= {"requestedRolloutHash": rolled} if lacks_requested else {}
    return made


def _newer_spec(spec: Tree) -> Tree:
    made = {key: value for key, value in spec.items() if key not in _ONLY_OLD_SPEC}
    forced = made.get("forcePromote")
    if forced == "" or parse(forced) == NIL:
        del made["forcePromote"]
    role = spec.get("environmentdIamRoleArn")
    kept = made.get("serviceAccountAnnotations")
    if role is not None and (kept is None or isinstance(kept, dict)):
        made["serviceAccountAnnotations"] = {ROLE_ARN: role, **(kept or {})}
    return made


def older(spec: Tree | None, status: Tree | None, metadata: Tree, hashed: Hash) -> Tree:
    """Spec and status, where there are any, back to v1alpha1.

    The derived requests let clients of that version see whether all is done, by comparing the two, and let the last
    hash be found again if a client drops the field it does not know.
    """
    made: Tree = {}
    is_complete = _is_complete(spec, status, _NEEDED_STATUS)
    if spec is not None:
        to_spec = {key: value for key, value in spec.items() if key not in _RETIRED}
        asked = {"requestRollout": uuid5(hashed(spec, _annotations(metadata)))} if is_complete else {}
        made["spec"] = to_spec | asked
    if status is not None:
        made["status"] = status
    if status is not None and is_complete:
        last = status.get("lastCompletedRolloutHash")
        request = uuid5(last) if isinstance(last, str) else NIL
        made["status"] = {**status, "lastCompletedRolloutRequest": request, "resourcesHash": ""}
    return made


def _is_complete(spec: Tree | None, status: Tree | None, needed: tuple[str, ...]) -> bool:
    """Whether the object is whole, as far as its schema's required fields tell."""
    return (
        spec is not None
        and all(spec.get(key) is not None for key in _NEEDED_SPEC)
        and (status is None or all(status.get(key) is not None for key in needed))
    )


def _has_completed(spec: Tree | None, status: Tree) -> bool:
    """Whether the rollout that was asked for last is the one that was completed; nil is none."""
    completed = parse(status["lastCompletedRolloutRequest"])
    return completed not in (None, NIL) and spec is not None and parse(spec.get("requestRollout")) == completed


def _is_observed(status: Tree, metadata: Tree) -> bool:
    """Whether the operator that wrote the conditions had seen this spec, as far as both sides count generations.

    A spec that was edited since is not the one that was completed, although its request may be the same: it would be
    taken for deployed, and never be.
    """
    generation = metadata.get("generation")
    observed = [each.get("observedGeneration") for each in _conditions(status)]
    return not isinstance(generation, int) or all(each >= generation for each in observed if isinstance(each, int))


def _is_promoting(status: Tree) -> bool:
    return any(each.get("reason") == PROMOTING for each in _conditions(status))


def _conditions(status: Tree) -> list[Tree]:
    conditions = status["conditions"]
    return [each for each in conditions if isinstance(each, dict)] if isinstance(conditions, list) else []


def _object(tree: Tree, part: str) -> Tree | None:
    value = tree.get(part)
    if value is not None and not isinstance(value, dict):
        raise Unconvertible(f"its {part} is not an object: correct it where it was written")
    return value


def _annotations(metadata: Tree) -> Mapping[str, str]:
    annotations = metadata.get("annotations")
    return annotations if isinstance(annotations, dict) else {}


def _known() -> str:
    return f"one of {', '.join(VERSIONS)}"
