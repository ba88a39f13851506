"""Whether a LeaderWorkerSet may be as it is (section 2.5): all refusals of one object at once, in upstream's words.

The schema has been checked before; an object that came past it is read with care all the same. Values that are absent
count as the schema's defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.trees import part, text, texts
from fairlead.contracts.leaderworker.disaggregated.kinds import DISAGGREGATED_SETS
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_SCOPE,
    EXCLUSIVE_TOPOLOGY,
    LARGEST_REPLICAS,
    LEADER_EXCLUDED,
    SUBGROUP_EXCLUSIVE_TOPOLOGY,
    WITHIN_SET,
    Json,
)
from fairlead.core.field_errors import Encoded, invalid, required
from fairlead.core.integers import parse_integer
from fairlead.core.rounding import Rounding, scaled

_TEMPLATE = "spec.leaderWorkerTemplate"
_UPDATE = "spec.rolloutStrategy.rollingUpdateConfiguration"
_SUBGROUP_SIZE = f"{_TEMPLATE}.SubGroupPolicy.subGroupSize"
_LARGEST_INT32 = 2**31 - 1
_LONGEST_LABEL = 63
_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_PERCENT = "[0-9]+%"
_NO_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    f"and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_LABEL}')"
)
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    f"validation is '{_PERCENT}')"
)
_NO_BUDGET = "must be an integer or percentage (e.g '5%%')"
_NEGATIVE = "must be greater than or equal to 0"
WORKER_SET_ROOM = 51
"""What a label leaves to the name of a set and the index of a group: of 63 characters two dashes and a hash of ten."""


class SetNumbers(Struct, frozen=True):
    """The numbers of a LeaderWorkerSet, with the schema's defaults for what is no number."""

    replicas: int
    size: int
    unavailable: object
    surge: object
    partition: int


def refusals(new: Json, old: Json | None = None) -> Iterator[str]:
    """Why the object is refused; `old` is what an update replaces."""
    wanted = _wanted(new)
    yield from _name(part(new, "metadata"))
    yield from _numbers(new)
    yield from _amounts(wanted)
    yield from _budgets(wanted, is_role=_is_role(new))
    if _has_subgroups(new):
        yield from _subgroups(new, wanted.size)
    elif SUBGROUP_EXCLUSIVE_TOPOLOGY in part(new, "metadata", "annotations"):
        yield invalid(
            f"metadata.annotations.{SUBGROUP_EXCLUSIVE_TOPOLOGY}",
            part(new, "metadata", "annotations")[SUBGROUP_EXCLUSIVE_TOPOLOGY],
            "cannot have subgroup-exclusive-topology without subGroupSize set",
        )
    if old is not None:
        yield from _changes(new, old)


def warnings(new: Json, old: Json | None = None) -> Iterator[str]:
    """What a user should know although the object is taken (sections 2.5 and 5.15)."""
    name, wanted = text(part(new, "metadata"), "name"), _wanted(new)
    most = wanted.replicas + min(amount_of(wanted.surge, wanted.replicas, Rounding.UP) or 0, wanted.replicas)
    digits = len(str(max(0, most - 1)))
    if len(name) + digits > WORKER_SET_ROOM:
        yield (
            f"metadata.name: workers of group {max(0, most - 1)} cannot be created: their label "
            "controller-revision-hash holds the name, the index of the group and a hash, and would be longer than "
            f"{_LONGEST_LABEL} characters; use a name of at most {WORKER_SET_ROOM - digits} characters"
        )
    if old is not None and (changed := sorted(_placement(new).items() ^ _placement(old).items())):
        told = ", ".join(dict.fromkeys(key for key, _ in changed))
        yield (
            f"metadata.annotations: a change of {told} replaces leaders without a rollout: one after another, each as "
            "soon as the one before is ready, whether or not its workers are"
        )


def _wanted(tree: Json) -> SetNumbers:
    template, update = part(tree, "spec", "leaderWorkerTemplate"), _update(tree)
    return SetNumbers(
        replicas=_number(part(tree, "spec").get("replicas"), 1),
        size=_number(template.get("size"), 1),
        unavailable=1 if update.get("maxUnavailable") is None else update["maxUnavailable"],
        surge=0 if update.get("maxSurge") is None else update["maxSurge"],
        partition=_number(update.get("partition"), 0),
    )


def _update(tree: Json) -> Json:
    return part(tree, "spec", "rolloutStrategy", "rollingUpdateConfiguration")


def _number(value: object, default: int) -> int:
    return value if _is_number(value) and isinstance(value, int) else default


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _name(metadata: Json) -> Iterator[str]:
    """The name is that of a Service too, so it is held to the stricter rules of one."""
    prefix, name = text(metadata, "generateName"), text(metadata, "name")
    for problem in _label_problems(f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix):
        if prefix:
            yield invalid("metadata.generateName", prefix, problem)
    if not name:
        yield required("metadata.name", "name or generateName is required")
        return
    for problem in _label_problems(name):
        yield invalid("metadata.name", name, problem)


def _label_problems(name: str) -> Iterator[str]:
    if len(name.encode(errors="surrogatepass")) > _LONGEST_LABEL:
        yield f"must be no more than {_LONGEST_LABEL} characters"
    if not re.fullmatch(_LABEL, name):
        yield _NO_LABEL


def _numbers(tree: Json) -> Iterator[str]:
    """What is no number at all, or lacks, where the schema was not asked."""
    template = part(tree, "spec", "leaderWorkerTemplate")
    places = {
        "spec.replicas": part(tree, "spec").get("replicas"),
        f"{_TEMPLATE}.size": template.get("size"),
        f"{_UPDATE}.partition": _update(tree).get("partition"),
    }
    for path, value in places.items():
        if value is not None and not _is_number(value):
            yield invalid(path, value, "must be an integer")
    if not isinstance(template.get("workerTemplate"), dict):
        yield required(f"{_TEMPLATE}.workerTemplate", "workers are made from it")


def _amounts(wanted: SetNumbers) -> Iterator[str]:
    replicas = wanted.replicas
    if replicas < 0:
        yield invalid("spec.replicas", replicas, "replicas must be equal or greater than 0")
    if replicas > LARGEST_REPLICAS:
        yield invalid("spec.replicas", replicas, f"replicas must be equal or less than {LARGEST_REPLICAS}")
    if wanted.size < 1:
        yield invalid(f"{_TEMPLATE}.size", wanted.size, "size must be equal or greater than 1")
    if replicas * wanted.size > _LARGEST_INT32:
        detail = f"the product of replicas and worker replicas must not exceed {_LARGEST_INT32}"
        yield invalid("spec.replicas", replicas, detail)


def _is_role(tree: Json) -> bool:
    owners = part(tree, "metadata").get("ownerReferences")
    found = [each for each in owners if isinstance(each, dict)] if isinstance(owners, list) else []
    kind = (DISAGGREGATED_SETS.api_version, DISAGGREGATED_SETS.kind)
    return any(each.get("controller") is True and (each.get("apiVersion"), each.get("kind")) == kind for each in found)


def _budgets(wanted: SetNumbers, *, is_role: bool) -> Iterator[str]:
    """Of a role of a DisaggregatedSet `maxUnavailable` is of all its replicas, and judged there.

    Its LeaderWorkerSets have any number of them in the course of a rollout: 25% of 4 is one group, of 1 it is none.
    """
    given = {f"{_UPDATE}.maxUnavailable": wanted.unavailable, f"{_UPDATE}.maxSurge": wanted.surge}
    for path, value in given.items():
        yield from budget_problems(path, value)
    if wanted.partition < 0:
        yield invalid(f"{_UPDATE}.partition", wanted.partition, _NEGATIVE)
    unavailable = amount_of(wanted.unavailable, wanted.replicas, Rounding.DOWN)
    surge = amount_of(wanted.surge, wanted.replicas, Rounding.UP)
    for (path, value), amount in zip(given.items(), (unavailable, surge), strict=True):
        if amount is None:
            yield invalid(path, Encoded(value), "invalid value")
    if not unavailable and not surge and wanted.replicas != 0 and not is_role:
        detail = "must not be 0 when `maxSurge` is 0"
        yield invalid(f"{_UPDATE}.maxUnavailable", Encoded(wanted.unavailable), detail)


def budget_problems(path: str, value: object) -> Iterator[str]:
    if isinstance(value, str):
        if not re.fullmatch(_PERCENT, value):
            yield invalid(path, Encoded(value), _NO_PERCENT)
        elif _over(value, 100):
            yield invalid(path, Encoded(value), "must not be greater than 100%")
    elif not _is_number(value):
        yield invalid(path, value, _NO_BUDGET)
    elif _number(value, 0) < 0:
        yield invalid(path, value, _NEGATIVE)


def amount_of(value: object, replicas: int, rounding: Rounding) -> int | None:
    """So many groups; None for what is neither a number nor a percentage, which may have a sign here."""
    if not isinstance(value, str):
        return _number(value, 0) if _is_number(value) else None
    try:
        return scaled(parse_integer(value.removesuffix("%")), replicas, rounding) if value.endswith("%") else None
    except ValueError:
        return None


def _over(percent: str, bound: int) -> bool:
    """Python converts no run of digits of any length, so the length is compared first."""
    digits = percent[:-1].lstrip("0") or "0"
    return len(digits) > len(str(bound)) or int(digits) > bound


def _has_subgroups(tree: Json) -> bool:
    return part(tree, "spec", "leaderWorkerTemplate").get("subGroupPolicy") is not None


def _policy(tree: Json) -> Json:
    return part(tree, "spec", "leaderWorkerTemplate", "subGroupPolicy")


def _subgroups(tree: Json, size: int) -> Iterator[str]:
    given = _policy(tree).get("subGroupSize")
    if given is None:
        yield required(_SUBGROUP_SIZE, "subGroupPolicy says nothing without it")
        return
    if not isinstance(given, int) or not _is_number(given):
        yield invalid(_SUBGROUP_SIZE, given, "must be an integer")
        return
    if given < 1:
        yield invalid(_SUBGROUP_SIZE, given, "subGroupSize must be equal or greater than 1")
    if given == 0:
        return
    if size % given and (size - 1) % given:
        yield invalid(_SUBGROUP_SIZE, given, "size or size - 1 must be divisible by subGroupSize")
    if size < given:
        yield invalid(_SUBGROUP_SIZE, given, "subGroupSize cannot be larger than size")
    if _policy(tree).get("subGroupPolicyType") == LEADER_EXCLUDED and (size - 1) % given:
        detail = "size-1 must be divisible by subGroupSize when using LeaderExcluded"
        yield invalid(_SUBGROUP_SIZE, given, detail)


def _changes(new: Json, old: Json) -> Iterator[str]:
    before, after = _policy(old).get("subGroupSize"), _policy(new).get("subGroupSize")
    match _has_subgroups(old), _has_subgroups(new):
        case True, True if before is not None and after is not None and before != after:
            yield invalid(_SUBGROUP_SIZE, after, "field is immutable")
        case False, True:
            yield invalid(_SUBGROUP_SIZE, after, "cannot enable subGroupSize after the lws is already created")
        case True, False:
            yield invalid(_SUBGROUP_SIZE, before, "cannot remove subGroupSize after enabled")
    network = part(new, "spec").get("networkConfig")
    if isinstance(network, dict) and network.get("subdomainPolicy") is None:
        kept = part(old, "spec", "networkConfig").get("subdomainPolicy")
        yield invalid("spec.networkConfig.subdomainPolicy", kept, "cannot set subdomainPolicy as null")


def _placement(tree: Json) -> dict[str, str]:
    """The annotations about placement that are copied into templates, those that count."""
    given = texts(tree, "metadata", "annotations")
    keys = [EXCLUSIVE_TOPOLOGY, *([SUBGROUP_EXCLUSIVE_TOPOLOGY] if _has_subgroups(tree) else [])]
    found = {key: given[key] for key in keys if given.get(key)}
    if given.get(EXCLUSIVE_SCOPE) == WITHIN_SET and found:
        found[EXCLUSIVE_SCOPE] = WITHIN_SET
    return found
