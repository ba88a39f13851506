"""Which traits go together on one component (D-11)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.plans.applications.kinds import DefinitionReference, TraitDefinitionSpec
from fairlead.contracts.plans.decide.applications.conflicts import (
    Present,
    applies,
    conflict,
    first_conflict,
    present,
    refusal,
    selects,
)
from fairlead.contracts.plans.decide.applications.definitions import TraitDefinition, known_traits


def definition(name: str, resource: str, **spec: Any) -> TraitDefinition:
    labels = spec.pop("labels", {})
    return TraitDefinition(name, TraitDefinitionSpec(DefinitionReference(resource), **spec), labels)


INGRESS = definition("ingress", "ingresses.networking.k8s.io")
KEDA = definition("keda", "scaledobjects.keda.sh", labels={"trait.oam.dev/scaling": "true"})
LONELY = definition("lonely", "lonelies.example.com", conflicts_with=("*",))
GROUPED = definition("grouped", "groups.example.com", conflicts_with=("*.keda.sh",))
BY_CRD = definition("by-crd", "crds.example.com", conflicts_with=("ingresses.networking.k8s.io",))
ALL = known_traits((INGRESS, KEDA, LONELY, GROUPED, BY_CRD))


def trait(name: str) -> Present:
    found = next(each for each in ALL if each.name == name)
    return Present(found, found.spec.definition_ref.name.partition(".")[2])


@pytest.mark.parametrize(
    ("one", "other", "conflicts"),
    [
        ("rollout", "scaler", True),
        ("rollout", "hpa", True),
        ("rollout", "keda", True),
        ("rollout", "expose", False),
        ("rollout", "ingress", False),
        ("lonely", "expose", True),
        ("grouped", "keda", True),
        ("grouped", "ingress", False),
        ("by-crd", "ingress", True),
        ("by-crd", "keda", False),
        ("hpa", "scaler", False),
    ],
)
def test_two_traits_of_a_component(one: str, other: str, conflicts: bool) -> None:
    both_ways = {bool(refusal("web", pair, None)) for pair in ([trait(one), trait(other)], [trait(other), trait(one)])}

    assert both_ways == {conflicts}


def test_a_trait_alone_conflicts_with_nothing_not_even_with_itself() -> None:
    assert refusal("web", [trait("lonely")], None) == ""


def test_the_refusal_names_both_traits_and_the_component() -> None:
    said = refusal("web", [trait("rollout"), trait("scaler")], None)

    assert said == (
        "the traits rollout and scaler of the component web conflict: rollout is not to be combined with scaler"
    )


def test_a_trait_is_known_by_its_label_and_else_by_its_kind() -> None:
    labelled = {"apiVersion": "x.y/v1", "kind": "Z", "metadata": {"labels": {"trait.oam.dev/type": "keda"}}}
    bare = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
    scaler = {"apiVersion": "core.oam.dev/v1alpha2", "kind": "ManualScalerTrait"}
    autoscaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    service = {"apiVersion": "v1", "kind": "Service"}

    found = [present(each, ALL) for each in (labelled, bare, scaler, autoscaler, service, {"kind": "Nobody"})]

    assert [each and each.definition.name for each in found] == ["keda", "ingress", "scaler", "hpa", "expose", None]


@pytest.mark.parametrize(
    ("rules", "fits"),
    [
        ((), True),
        (("*",), True),
        (("deployments.apps",), True),
        (("*.apps",), True),
        (("webservice",), True),
        (("*.batch",), False),
        (("clonesets.apps.kruise.io",), False),
        (("",), False),
    ],
)
def test_traits_are_for_the_workloads_that_they_name(rules: tuple[str, ...], fits: bool) -> None:
    picky = definition("picky", "pickies.example.com", applies_to_workloads=rules)
    workload = {"apiVersion": "apps/v1", "kind": "Deployment"}

    assert applies(picky, workload, "webservice") is fits


def test_a_workload_that_a_trait_is_not_for_is_named() -> None:
    picky = Present(definition("picky", "pickies.example.com", applies_to_workloads=("*.batch",)), "example.com")

    said = refusal("web", [picky], {"apiVersion": "apps/v1", "kind": "Deployment"})

    assert said == "the trait picky of the component web is for *.batch, and not for a Deployment"


@pytest.mark.parametrize(
    ("selector", "matches"),
    [("a=b", True), ("a==b", True), ("a!=b", False), ("a", True), ("!a", False), ("a=b, c", False), ("", False)],
)
def test_selectors_are_those_of_kubectl(selector: str, matches: bool) -> None:
    assert selects(selector, {"a": "b"}) is matches


@given(st.lists(st.tuples(st.sampled_from(ALL), st.sampled_from(["", "keda.sh", "example.com"])), max_size=7))
def test_the_first_conflict_is_that_of_all_pairs_in_their_order(
    listed: list[tuple[TraitDefinition, str]],
) -> None:
    traits = [Present(definition, group) for definition, group in listed]
    pairs = (
        (one, other, rule)
        for place, one in enumerate(traits)
        for rule in one.definition.spec.conflicts_with
        for at, other in enumerate(traits)
        if at != place and conflict(rule, other)
    )

    assert first_conflict(traits) == next(pairs, None)
