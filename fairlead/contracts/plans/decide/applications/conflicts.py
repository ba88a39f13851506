"""Traits that cannot be on one component together, and workloads that a trait is not for (D-11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import TRAIT_DEFINITION
from fairlead.contracts.plans.decide.applications.definitions import TraitDefinition
from fairlead.contracts.plans.decide.applications.trees import mapping, texts
from fairlead.contracts.plans.kinds import Json

ANY = "*"
_SELECTOR = "labelSelector:"


class Present(Struct, frozen=True):
    """A trait of a component: the definition that it is of, and where its kind lives."""

    definition: TraitDefinition
    group: str
    kind: str = ""

    @property
    def resource(self) -> str:
        """As a CustomResourceDefinition is named."""
        return self.definition.spec.definition_ref.name


def present(tree: Json, definitions: Sequence[TraitDefinition]) -> Present | None:
    """The trait of an ApplicationConfiguration; None where no definition is about it.

    The label says which definition; without one the definition of its kind does.
    """
    group, kind = str(tree.get("apiVersion", "")).rpartition("/")[0], str(tree.get("kind", ""))
    label = texts(mapping(tree.get("metadata")).get("labels")).get(TRAIT_DEFINITION)
    names = {f"{plural}.{group}".rstrip(".") for plural in plurals(kind)}
    labelled = [each for each in definitions if each.name == label]
    of_kind = (each for each in labelled or definitions if each.spec.definition_ref.name in names)
    found = next(of_kind, labelled[0] if labelled else None)
    return None if found is None else Present(found, group, kind)


def plurals(kind: str) -> tuple[str, ...]:
    """As kinds are usually called in paths."""
    lower = kind.lower()
    return (f"{lower}s", f"{lower}es", f"{lower.removesuffix('y')}ies")


def conflict(rule: str, other: Present) -> bool:
    """Whether an entry of `conflictsWith` is about this other trait."""
    if rule.startswith(_SELECTOR):
        return selects(rule.removeprefix(_SELECTOR), other.definition.labels)
    return _names(rule, other.definition.name, other.resource, other.group)


def _names(rule: str, name: str, resource: str, group: str) -> bool:
    if rule == ANY:
        return True
    if rule.startswith("*."):
        return rule.removeprefix("*.") == (resource.partition(".")[2] or group)
    return rule in (name, resource)


def selects(selector: str, labels: dict[str, str]) -> bool:
    """A label selector as `kubectl -l` takes it: `a=b`, `a==b`, `a!=b`, `a`, `!a`, joined by commas."""
    for each in filter(None, (part.strip() for part in selector.split(","))):
        if "!=" in each:
            key, _, value = each.partition("!=")
            holds = labels.get(key.strip()) != value.strip()
        elif "=" in each:
            key, _, value = each.partition("=")
            holds = labels.get(key.strip()) == value.lstrip("=").strip()
        elif each.startswith("!"):
            holds = each[1:].strip() not in labels
        else:
            holds = each in labels
        if not holds:
            return False
    return bool(selector.strip())


def first_conflict(traits: Sequence[Present]) -> tuple[Present, Present, str] | None:
    """Who cannot stand whom on one component, and by which rule."""
    others = _two_of_each(traits, lambda each: (each.definition.name, each.group))
    for place in _two_of_each(traits, lambda each: each.definition.name):
        one = traits[place]
        for rule in one.definition.spec.conflicts_with:
            for at in others:
                if at != place and conflict(rule, traits[at]):
                    return one, traits[at], rule
    return None


def _two_of_each(traits: Sequence[Present], sort: Callable[[Present], Hashable]) -> tuple[int, ...]:
    """Places of the first two of each sort: whatever holds between two traits holds between two of these, and somebody
    may write one trait thousands of times."""
    seen: Counter[Hashable] = Counter()
    found = []
    for place, each in enumerate(traits):
        seen[sort(each)] += 1
        if seen[sort(each)] <= 2:
            found.append(place)
    return tuple(found)


def conflicting_with(definition: TraitDefinition, traits: Iterable[Present]) -> tuple[Present, ...]:
    """Those that this definition cannot stand beside it (D-3)."""
    rules = definition.spec.conflicts_with
    return tuple(each for each in traits if any(conflict(rule, each) for rule in rules))


def applies(definition: TraitDefinition, workload: Json, workload_definition: str = "") -> bool:
    """Whether the trait is for such a workload; an empty `appliesToWorkloads` is for all."""
    rules = definition.spec.applies_to_workloads
    if not rules:
        return True
    group, kind = str(workload.get("apiVersion", "")).rpartition("/")[0], str(workload.get("kind", ""))
    names = {f"{plural}.{group}".rstrip(".") for plural in plurals(kind)}
    return any(rule in (ANY, workload_definition) or rule in names or rule == f"*.{group}" for rule in rules if rule)


def refusal(component: str, traits: Sequence[Present], workload: Json | None) -> str:
    """What an ApplicationConfiguration is refused for; empty where nothing speaks against it."""
    found = first_conflict(traits)
    if found is not None:
        one, other, rule = found
        return (
            f"the traits {one.definition.name} and {other.definition.name} of the component {component} conflict: "
            f"{one.definition.name} is not to be combined with {rule}"
        )
    if workload is None:
        return ""
    for each in traits:
        if not applies(each.definition, workload):
            kinds = ", ".join(each.definition.spec.applies_to_workloads)
            kind = workload.get("kind", "")
            return f"the trait {each.definition.name} of the component {component} is for {kinds}, and not for a {kind}"
    return ""
