"""Which nodes a pod may be on beside others: terms that match, and what they mean together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubesim.pods.affinity import (
    BESIDE_UNWANTED,
    NOT_BESIDE_WANTED,
    UNWANTED_THERE,
    Labels,
    PodTerm,
    Sociable,
    surroundings,
)

ZONE, HOST = "zone", "host"
NODES: dict[str, Labels] = {
    "a1": {ZONE: "a", HOST: "a1"},
    "a2": {ZONE: "a", HOST: "a2"},
    "b1": {ZONE: "b", HOST: "b1"},
    "bare": {HOST: "bare"},
}
NAMESPACES: dict[str, Labels] = {"here": {"team": "red"}, "there": {"team": "blue"}, "empty": {}}


def a_term(selector: dict[str, Any] | None, key: str = ZONE, **more: Any) -> PodTerm:
    given = {} if selector is None else {"labelSelector": selector}
    return msgspec.convert({"topologyKey": key, **given, **more}, PodTerm)


def a_pod(labels: str = "", *, together: Sequence[PodTerm] = (), apart: Sequence[PodTerm] = ()) -> Sociable:
    """In the namespace `here`; labels as `app=web tier=front`."""
    return Sociable("here", labels_of(labels), tuple(together), tuple(apart))


def labels_of(text: str) -> Labels:
    return dict(pair.split("=") for pair in text.split())


def app(name: str) -> dict[str, Any]:
    return {"matchLabels": {"app": name}}


def expression(operator: str, *values: str, key: str = "app") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "labels", "selects"),
    [
        (None, "app=web", False),
        ({}, "app=web", True),
        ({}, "", True),
        (app("web"), "app=web tier=front", True),
        (app("web"), "app=db", False),
        ({"matchLabels": {"app": "web", "tier": "front"}}, "app=web", False),
        (expression("In", "web", "db"), "app=db", True),
        (expression("In", "web", "db"), "", False),
        (expression("NotIn", "web"), "app=db", True),
        (expression("NotIn", "web"), "app=web", False),
        (expression("NotIn", "web"), "", True),
        (expression("Exists"), "app=", True),
        (expression("Exists"), "tier=front", False),
        (expression("DoesNotExist"), "tier=front", True),
        (expression("DoesNotExist"), "app=web", False),
        (app("web") | expression("Exists", key="tier"), "app=web", False),
        (app("web") | expression("Exists", key="tier"), "app=web tier=front", True),
    ],
)
def test_a_term_selects_pods_by_labels(selector: dict[str, Any] | None, labels: str, selects: bool) -> None:
    assert a_term(selector).selects(labels_of(labels)) is selects


@pytest.mark.parametrize(
    ("fields", "covered"),
    [
        ({}, ["here"]),
        ({"namespaces": []}, ["here"]),
        ({"namespaces": ["there"]}, ["there"]),
        ({"namespaces": ["there", "here"]}, ["here", "there"]),
        ({"namespaceSelector": {}}, ["empty", "here", "there"]),
        ({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, ["there"]),
        ({"namespaceSelector": {"matchLabels": {"team": "green"}}}, []),
        ({"namespaceSelector": {"matchLabels": {"team": "blue"}}, "namespaces": ["empty"]}, ["empty", "there"]),
        ({"namespaceSelector": expression("DoesNotExist", key="team")}, ["empty"]),
    ],
)
def test_a_term_covers_namespaces_by_name_or_labels_or_else_its_own(fields: dict[str, Any], covered: list[str]) -> None:
    term = a_term({}, **fields)

    assert sorted(name for name in NAMESPACES if term.covers(name, "here", NAMESPACES)) == covered


def against(pod: Sociable, others: dict[str, Sociable]) -> dict[str, str]:
    """What speaks against the nodes that the pod may not be on, with one other pod on some."""
    placed = [(other, NODES[node]) for node, other in others.items()]
    found = surroundings(pod, placed, [each for each in placed if each[0].apart], NAMESPACES)
    return {} if found is None else {name: why for name, labels in NODES.items() if (why := found.against(labels))}


WEB = a_pod("app=web")
TO_WEB, TO_ALL = a_term(app("web")), a_term({})


@pytest.mark.parametrize(
    ("pod", "others", "refused"),
    [
        pytest.param(WEB, {"a1": WEB}, {}, id="pods that say nothing may be anywhere"),
        pytest.param(
            a_pod(together=[TO_WEB]),
            {"a1": WEB},
            {"b1": NOT_BESIDE_WANTED, "bare": NOT_BESIDE_WANTED},
            id="affinity leads to the domain of a match",
        ),
        pytest.param(
            a_pod(together=[TO_WEB]),
            {},
            dict.fromkeys(NODES, NOT_BESIDE_WANTED),
            id="affinity without a match has no place",
        ),
        pytest.param(
            a_pod("app=web", together=[TO_WEB]),
            {},
            {"bare": NOT_BESIDE_WANTED},
            id="the first of a series may be where the label is",
        ),
        pytest.param(
            a_pod("app=web", together=[TO_WEB]),
            {"b1": WEB},
            dict.fromkeys(("a1", "a2", "bare"), NOT_BESIDE_WANTED),
            id="the second of a series goes where the first is",
        ),
        pytest.param(
            a_pod("app=web", together=[TO_WEB]),
            {"bare": WEB},
            {"bare": NOT_BESIDE_WANTED},
            id="a match on a node without the label is no first one",
        ),
        pytest.param(
            a_pod(together=[TO_WEB, a_term(app("web"), HOST)]),
            {"a1": WEB},
            dict.fromkeys(("a2", "b1", "bare"), NOT_BESIDE_WANTED),
            id="terms of two topologies hold together",
        ),
        pytest.param(
            a_pod(together=[TO_WEB, a_term(expression("Exists", key="tier"))]),
            {"a1": WEB, "a2": a_pod("tier=front"), "b1": a_pod("app=web tier=front")},
            dict.fromkeys(("a1", "a2", "bare"), NOT_BESIDE_WANTED),
            id="one pod must match all terms",
        ),
        pytest.param(
            a_pod(apart=[TO_WEB]),
            {"a1": WEB},
            {"a1": BESIDE_UNWANTED, "a2": BESIDE_UNWANTED},
            id="anti-affinity leads out of the domain of a match",
        ),
        pytest.param(
            a_pod(apart=[TO_WEB]), {"bare": WEB}, {}, id="a match on a node without the label keeps nobody away"
        ),
        pytest.param(
            a_pod(apart=[TO_WEB, a_term(expression("In", "db"), HOST)]),
            {"a1": WEB, "b1": a_pod("app=db")},
            dict.fromkeys(("a1", "a2", "b1"), BESIDE_UNWANTED),
            id="each term of an anti-affinity keeps away",
        ),
        pytest.param(
            WEB,
            {"a1": a_pod(apart=[TO_WEB])},
            {"a1": UNWANTED_THERE, "a2": UNWANTED_THERE},
            id="the anti-affinity of a pod that is there keeps others away",
        ),
        pytest.param(a_pod("app=db"), {"a1": a_pod(apart=[TO_WEB])}, {}, id="but only those that it is about"),
        pytest.param(
            a_pod("app=web", apart=[TO_WEB]),
            {"a1": WEB, "b1": a_pod(apart=[TO_WEB])},
            {"a1": BESIDE_UNWANTED, "a2": BESIDE_UNWANTED, "b1": UNWANTED_THERE},
            id="what the pod says goes before what others say",
        ),
        pytest.param(
            a_pod("app=web", together=[TO_WEB], apart=[TO_WEB]),
            {"a1": WEB},
            {
                "a1": BESIDE_UNWANTED,
                "a2": BESIDE_UNWANTED,
                "b1": NOT_BESIDE_WANTED,
                "bare": NOT_BESIDE_WANTED,
            },
            id="affinity goes before anti-affinity",
        ),
        pytest.param(
            a_pod(apart=[a_term({}, namespaces=["there"])]),
            {"a1": WEB, "b1": Sociable("there", {})},
            {"b1": BESIDE_UNWANTED},
            id="pods of other namespaces are meant by name",
        ),
        pytest.param(
            a_pod(),
            {
                "a1": Sociable("there", {}, apart=(TO_ALL,)),
                "b1": Sociable("there", {}, apart=(a_term({}, namespaceSelector={"matchLabels": {"team": "red"}}),)),
            },
            {"b1": UNWANTED_THERE},
            id="pods of other namespaces mean this one by its labels",
        ),
    ],
)
def test_pods_lead_to_nodes_and_keep_from_them(
    pod: Sociable, others: dict[str, Sociable], refused: dict[str, str]
) -> None:
    assert against(pod, others) == refused


def naively_against(pod: Sociable, others: Sequence[tuple[Sociable, str]], node: Labels) -> str:
    """Word for word: each rule looks at every pod anew."""

    def matches(owner: Sociable, term: PodTerm, other: Sociable) -> bool:
        spaces = set(term.namespaces)
        if term.namespace_selector is not None:
            spaces |= {name for name, labels in NAMESPACES.items() if term.namespace_selector.matches(labels)}
        elif not spaces:
            spaces = {owner.namespace}
        return other.namespace in spaces and term.label_selector is not None and term.selects(other.labels)

    def shares(term: PodTerm, name: str) -> bool:
        key = term.topology_key
        return key in node and NODES[name].get(key) == node[key]

    mates = [(other, name) for other, name in others if all(matches(pod, term, other) for term in pod.together)]
    counted = [name for _, name in mates if any(term.topology_key in NODES[name] for term in pod.together)]
    is_first = not counted and all(matches(pod, term, pod) for term in pod.together)
    for term in pod.together:
        if term.topology_key not in node:
            return NOT_BESIDE_WANTED
        if not is_first and not any(shares(term, name) for _, name in mates):
            return NOT_BESIDE_WANTED
    for term in pod.apart:
        if any(matches(pod, term, other) and shares(term, name) for other, name in others):
            return BESIDE_UNWANTED
    for other, name in others:
        if any(matches(other, term, pod) and shares(term, name) for term in other.apart):
            return UNWANTED_THERE
    return ""


_keys, _values = st.sampled_from(["app", "tier"]), st.sampled_from(["x", "y"])
_labels = st.dictionaries(_keys, _values, max_size=2)
_expressions = st.builds(
    lambda key, operator, values: {
        "key": key,
        "operator": operator,
        "values": values if operator in ("In", "NotIn") else [],
    },
    _keys,
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.lists(_values, min_size=1, max_size=2),
)
_selectors = st.fixed_dictionaries({"matchLabels": _labels, "matchExpressions": st.lists(_expressions, max_size=2)})
_by_team = st.sampled_from([{}, {"matchLabels": {"team": "red"}}, expression("DoesNotExist", key="team")])
_terms = st.builds(
    lambda selector, key, namespaces, team: a_term(
        selector, key, namespaces=namespaces, **({} if team is None else {"namespaceSelector": team})
    ),
    st.none() | _selectors,
    st.sampled_from([ZONE, HOST]),
    st.lists(st.sampled_from(sorted(NAMESPACES)), max_size=1),
    st.none() | _by_team,
)
_some_terms = st.lists(_terms, max_size=2).map(tuple)
pods = st.builds(Sociable, st.sampled_from(["here", "there"]), _labels, _some_terms, _some_terms)
placings = st.lists(st.tuples(pods, st.sampled_from(sorted(NODES))), max_size=6)


@given(pods, placings)
@example(a_pod("app=web", together=[TO_WEB]), [(WEB, "bare")])
def test_what_is_worked_out_at_once_is_what_the_rules_say_node_by_node(
    pod: Sociable, others: list[tuple[Sociable, str]]
) -> None:
    placed = [(other, NODES[name]) for other, name in others]

    found = surroundings(pod, placed, [each for each in placed if each[0].apart], NAMESPACES)

    for node in NODES.values():
        assert ("" if found is None else found.against(node)) == naively_against(pod, others, node)


@given(pods, pods)
def test_who_may_be_woken_is_everybody_for_whom_it_makes_a_difference(pod: Sociable, other: Sociable) -> None:
    """A pod that may not care finds the same nodes with the other as without."""
    if pod.may_care_about(other):
        return
    for name in NODES:
        for node in NODES.values():
            assert naively_against(pod, [(other, name)], node) == naively_against(pod, [], node)
