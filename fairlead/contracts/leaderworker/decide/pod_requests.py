"""What a pod asks of its node in all: containers together, or the largest moment of its start if that is more."""

from __future__ import annotations

from typing import TypeAlias

from fairlead.contracts.leaderworker.decide.trees import part
from fairlead.contracts.leaderworker.kinds import Json
from kubeloop.quantities import number, total

Amounts: TypeAlias = dict[str, str]

_OF_PODS = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def pod_requests(template: Json) -> Amounts:
    """Of a pod template. Init containers that keep running count beside the containers and the inits after them."""
    spec = part(template, "spec")
    running: Amounts = {}
    for container in _listed(spec, "containers"):
        running = added(running, _requests(container))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in _listed(spec, "initContainers"):
        asked = _requests(container)
        if container.get("restartPolicy") == "Always":
            running, sidecars = added(running, asked), added(sidecars, asked)
            moment = sidecars
        else:
            moment = added(asked, sidecars)
        starting = larger(starting, moment)
    whole = larger(running, starting)
    of_pod = {
        name: value for name, value in _requests(spec).items() if name in _OF_PODS or name.startswith(_HUGE_PAGES)
    }
    return added({**whole, **of_pod}, _amounts(part(spec, "overhead")))


def added(one: Amounts, other: Amounts, times: int = 1) -> Amounts:
    """One and so many of the other."""
    return {
        name: total(*((each[name], count) for each, count in ((one, 1), (other, times)) if name in each))
        for name in sorted({*one, *other})
    }


def larger(one: Amounts, other: Amounts) -> Amounts:
    both = {name: max(one[name], other[name], key=number) for name in one.keys() & other.keys()}
    return {**one, **other, **both}


def _requests(holder: Json) -> Amounts:
    return _amounts(part(holder, "resources", "requests"))


def _listed(spec: Json, name: str) -> list[Json]:
    found = spec.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _amounts(values: Json) -> Amounts:
    """Those that are quantities; the API server refuses pods with others."""
    found: Amounts = {}
    for name, value in values.items():
        try:
            number(str(value))
        except (ValueError, ArithmeticError):
            continue
        found[name] = str(value)
    return found
