"""Whether a DisaggregatedSet may be as it is (section 6.7): all refusals of one object at once, in upstream's words.

What the specs of roles say beyond that is judged when their LeaderWorkerSets are made.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.leaderworker.decide.disaggregated.target import LENGTH
from fairlead.contracts.leaderworker.decide.trees import part, text
from fairlead.contracts.leaderworker.decide.validation import WORKER_SET_ROOM, amount_of, budget_problems
from fairlead.contracts.leaderworker.disaggregated.kinds import EXTERNAL, NO_PLACEMENT, SERVICE_SUFFIX
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_TOPOLOGY,
    ROLLING_UPDATE,
    SUBGROUP_EXCLUSIVE_TOPOLOGY,
    Json,
)
from fairlead.core.field_errors import Encoded, forbidden, invalid, required, unsupported
from fairlead.core.rounding import Rounding

_LONGEST_LABEL, _LONGEST_NAME = 63, 253
_NO_PARTITION = (
    "partition is not supported by DisaggregatedSet; "
    "rolling updates are managed across roles by the DisaggregatedSet controller"
)
_NO_SLICES = "spec.slices > 1 is not supported while any role has scaling.mode: External (alpha restriction)"


def refusals(new: Json) -> Iterator[str]:
    """Why the object is refused."""
    roles = roles_of(new)
    for index, role in enumerate(roles):
        path = f"spec.roles[{index}]"
        yield from _strategy(f"{path}.spec.rolloutStrategy", role)
        if _is_external(role):
            yield from _scaler_name(path, _name(new), text(role, "name"))
    if _slices(new) > 1 and any(map(_is_external, roles)):
        yield forbidden("spec.slices", _NO_SLICES)
    for index, role in enumerate(roles):
        yield from _generated_name(f"spec.roles[{index}].name", new, text(role, "name"))
    yield from _placement(new, roles)


def warnings(new: Json) -> Iterator[str]:
    """What a user should know although the object is taken."""
    for role in roles_of(new):
        name, replicas = text(role, "name"), _replicas(role)
        if _is_external(role) and replicas is not None and replicas > 1:
            yield (
                f'role "{name}" sets scaling.mode: External and spec.replicas: {replicas} — spec.replicas is ignored; '
                f'drive replicas via DisaggregatedSetRoleScaler "{_name(new)}-{name}" instead'
            )
        most = len(str(max(0, (replicas or 1) - 1)))
        room = WORKER_SET_ROOM - most - _generated(new)
        if len(_name(new)) + len(name) > room:
            yield (
                f'role "{name}": its workers cannot be created: their label controller-revision-hash would be longer '
                f"than {_LONGEST_LABEL} characters; use names of the set and the role of at most {room} characters "
                "together"
            )


def roles_of(tree: Json) -> list[Json]:
    found = part(tree, "spec").get("roles")
    return [each if isinstance(each, dict) else {} for each in found] if isinstance(found, list) else []


def _name(tree: Json) -> str:
    return text(part(tree, "metadata"), "name")


def _slices(tree: Json) -> int:
    found = part(tree, "spec").get("slices")
    return found if isinstance(found, int) and not isinstance(found, bool) else 1


def _is_external(role: Json) -> bool:
    return part(role, "scaling").get("mode") == EXTERNAL


def _replicas(role: Json) -> int | None:
    found = part(role, "spec").get("replicas")
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _strategy(path: str, role: Json) -> Iterator[str]:
    kind = part(role, "spec", "rolloutStrategy").get("type")
    if kind not in (None, "", ROLLING_UPDATE):
        yield unsupported(f"{path}.type", kind, (ROLLING_UPDATE, ""))
    given = part(role, "spec", "rolloutStrategy").get("rollingUpdateConfiguration")
    if not isinstance(given, dict):
        return
    if given.get("partition") not in (None, 0):
        yield forbidden(f"{path}.rollingUpdateConfiguration.partition", _NO_PARTITION)
    if replicas := _replicas(role):
        yield from _budgets(f"{path}.rollingUpdateConfiguration", given, replicas)


def _budgets(path: str, given: Json, replicas: int) -> Iterator[str]:
    """As those of a LeaderWorkerSet (section 2.5); both at 0 is told where each by itself is right."""
    places = {name: 0 if given.get(name) is None else given[name] for name in ("maxUnavailable", "maxSurge")}
    if wrong := [each for name, value in places.items() for each in budget_problems(f"{path}.{name}", value)]:
        yield from wrong
        return
    unavailable = amount_of(places["maxUnavailable"], replicas, Rounding.DOWN)
    if not unavailable and not amount_of(places["maxSurge"], replicas, Rounding.UP):
        detail = "must not be 0 when `maxSurge` is 0"
        yield invalid(f"{path}.maxUnavailable", Encoded(places["maxUnavailable"]), detail)


def _scaler_name(path: str, name: str, role: str) -> Iterator[str]:
    made = f"{name}-{role}"
    if len(made) > _LONGEST_NAME:
        yield invalid(f"{path}.name", role, f'would produce scaler name "{made}" exceeding {_LONGEST_NAME} characters')


def _generated(tree: Json) -> int:
    """Characters of the name of a child beside those of the set and the role: a slice, a revision and three dashes."""
    return 3 + len(str(_slices(tree) - 1)) + LENGTH


def _generated_name(path: str, tree: Json, role: str) -> Iterator[str]:
    rest = _generated(tree) + len(SERVICE_SUFFIX)
    length = len(_name(tree)) + rest + len(role)
    if length > _LONGEST_LABEL:
        yield invalid(
            path,
            role,
            f"the generated Service name ({length} chars) would exceed the DNS-1035 limit of {_LONGEST_LABEL} "
            "characters; reduce the DisaggregatedSet name and/or role name "
            f"(combined limit: {_LONGEST_LABEL - rest} characters)",
        )


def _placement(tree: Json, roles: list[Json]) -> Iterator[str]:
    policy = part(tree, "spec", "placementPolicy")
    kind = policy.get("type")
    if kind in (None, "", NO_PLACEMENT):
        return
    if not policy.get("topology"):
        yield required("spec.placementPolicy.topology", "topology is required when type is not None")
    for index, role in enumerate(roles):
        if (key := _exclusive(role)) is not None:
            detail = f'the "{key}" annotation must not be combined with a non-None spec.placementPolicy.type ({kind})'
            yield forbidden(f"spec.roles[{index}]", detail)


def _exclusive(role: Json) -> str | None:
    """The first annotation of exclusive placement that the role has, wherever it counts."""
    template = part(role, "spec", "leaderWorkerTemplate")
    places = [part(role, "metadata", "annotations")]
    places += [part(template, name, "metadata", "annotations") for name in ("leaderTemplate", "workerTemplate")]
    keys = (EXCLUSIVE_TOPOLOGY, SUBGROUP_EXCLUSIVE_TOPOLOGY)
    return next((key for key in keys if any(key in place for place in places)), None)
