"""Selectors as clients write them."""

from __future__ import annotations

import pytest

from fairlead.sim.errors import StatusError
from fairlead.sim.registry import CONFIG_MAPS, CORE_EVENTS, EVENTS, PODS, Registry
from fairlead.sim.selectors import matcher, parse_labels
from fairlead.sim.store import Author, Store, Version

LABELS = {"app": "web", "tier": "front", "rank": "7", "example.org/team": "blue", "empty": ""}


def a_version(labels: dict[str, str] | None = None, **more: object) -> Version:
    tree = {
        "kind": "Thing",
        "apiVersion": "v1",
        "metadata": {"name": "web-0", "namespace": "default", "labels": labels or {}},
        **more,
    }
    return Store().table(PODS).write(tree, None, Author("me", "create"))


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app=api", False),
        ("absent=web", False),
        ("app!=api", True),
        ("app!=web", False),
        ("absent!=web", True),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        ("app in (web,api)", True),
        ("app in (web)", True),
        ("app in (api, db)", False),
        ("absent in (web)", False),
        ("app notin (api,db)", True),
        ("app notin (web)", False),
        ("absent notin (web)", True),
        ("app", True),
        ("absent", False),
        ("!absent", True),
        ("!app", False),
        (" app = web , ! absent , tier in ( front , back ) ", True),
        ("example.org/team=blue", True),
        ("empty=", True),
        ("app=", False),
        ("empty in (,x)", True),
        ("rank>6", True),
        ("rank>7", False),
        ("rank<8", True),
        ("absent>1", False),
    ],
)
def test_label_selectors(selector: str, matches: bool) -> None:
    assert all(requirement.holds(LABELS) for requirement in parse_labels(selector)) is matches


@pytest.mark.parametrize(
    "selector", ["app in web", "app in (web", "=web", "app=web tier=x", "a b", "app>x", "app=(", ","]
)
def test_label_selectors_that_make_no_sense_are_refused(selector: str) -> None:
    with pytest.raises(StatusError) as caught:
        parse_labels(selector)

    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("metadata.name=web-0", True),
        ("metadata.name==web-0", True),
        ("metadata.name!=web-0", False),
        ("metadata.namespace=default,metadata.name=web-1", False),
        ("spec.nodeName=node-1", True),
        ("spec.nodeName=", False),
        ("spec.nodeName!=node-2,status.phase=Running", True),
        ("status.phase!=Running", False),
    ],
)
def test_field_selectors_of_pods(selector: str, matches: bool) -> None:
    pod = a_version(spec={"nodeName": "node-1"}, status={"phase": "Running"})
    match = matcher(Registry().kind(PODS), "", "", selector)

    assert match is not None
    assert match(pod) is matches


@pytest.mark.parametrize(
    ("resource", "selector"),
    [
        (CORE_EVENTS, "involvedObject.name=web,involvedObject.kind=Pod"),
        (EVENTS, "regarding.name=web,regarding.kind=Pod"),
    ],
)
def test_events_are_selected_by_what_they_are_about_under_either_name(resource: object, selector: str) -> None:
    kind = Registry().kind(CORE_EVENTS if resource == CORE_EVENTS else EVENTS)
    match = matcher(kind, "", "", selector)

    assert match is not None
    assert match(a_version(involvedObject={"kind": "Pod", "name": "web"}))
    assert not match(a_version(involvedObject={"kind": "Pod", "name": "api"}))


@pytest.mark.parametrize(
    ("resource", "selector"),
    [(CONFIG_MAPS, "spec.nodeName=x"), (PODS, "spec.containers=x"), (EVENTS, "involvedObject.name=x")],
)
def test_a_field_that_cannot_be_selected_by_is_refused(resource: object, selector: str) -> None:
    kind = next(
        kind for kind in (Registry().kind(each) for each in (CONFIG_MAPS, PODS, EVENTS)) if kind.resource == resource
    )

    with pytest.raises(StatusError, match="field label not supported: ") as caught:
        matcher(kind, "", "", selector)

    assert caught.value.code == 400


def test_no_selector_means_no_test() -> None:
    assert matcher(Registry().kind(PODS), "", "", "") is None


def test_the_namespace_is_part_of_the_test() -> None:
    match = matcher(Registry().kind(PODS), "other", "", "")

    assert match is not None
    assert not match(a_version())
