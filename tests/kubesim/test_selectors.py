"""Selectors as clients write them."""

from __future__ import annotations

import pytest

from kubeloop.objects.meta import Resource
from kubesim.errors import StatusError
from kubesim.kinds.registry import CONFIG_MAPS, CORE_EVENTS, EVENTS, JOBS, NODES, PODS, REPLICA_SETS, Registry
from kubesim.reads.selectors import matcher, parse_fields, parse_labels
from kubesim.store.store import Store
from kubesim.store.versions import Author, Tree, Version

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


NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NUMBER_RULE = "for 'Gt', 'Lt' operators, the value must be an integer"


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a notin", "unable to parse requirement: found '' expected: '('"),
        (
            "a>b",
            f'unable to parse requirement: values[0]: Invalid value: "b": {NUMBER_RULE}',
        ),
        (
            "a<",
            f'unable to parse requirement: values[0]: Invalid value: "": {NUMBER_RULE}',
        ),
        (
            "a>",
            f'unable to parse requirement: values[0]: Invalid value: "": {NUMBER_RULE}',
        ),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("=b", "found '=', expected: !, identifier, or 'end of string'"),
        ("==", "found '==', expected: !, identifier, or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!=", "found '!=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a=(b)", "unable to parse requirement: found '(', expected: identifier"),
        ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
        (")", "found ')', expected: !, identifier, or 'end of string'"),
        ("-a", f'unable to parse requirement: <nil>: Invalid value: "-a": {NAME_RULE}'),
        ("a-", f'unable to parse requirement: <nil>: Invalid value: "a-": {NAME_RULE}'),
        ("a=-b", f'unable to parse requirement: values[0][a]: Invalid value: "-b": {VALUE_RULE}'),
        ("a=b-", f'unable to parse requirement: values[0][a]: Invalid value: "b-": {VALUE_RULE}'),
        ("/a", 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'),
        ("a/", f'unable to parse requirement: <nil>: Invalid value: "a/": name part must be non-empty; {NAME_RULE}'),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a @ b", "unable to parse requirement: found '@', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=@", f'unable to parse requirement: values[0][a]: Invalid value: "@": {VALUE_RULE}'),
        ("@=a", f'unable to parse requirement: <nil>: Invalid value: "@": {NAME_RULE}'),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a gt 1", "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt"),
        ("a exists", "unable to parse requirement: found 'exists', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b,!", "unable to parse requirement: found '', expected: identifier"),
        ("a in (b),", "found '', expected: identifier after ','"),
        ("é=1", f'unable to parse requirement: <nil>: Invalid value: "é": {NAME_RULE}'),
        ("a=é", f'unable to parse requirement: values[0][a]: Invalid value: "é": {VALUE_RULE}'),
        ('"a"', f'unable to parse requirement: <nil>: Invalid value: "\\"a\\"": {NAME_RULE}'),
        ("a;b", f'unable to parse requirement: <nil>: Invalid value: "a;b": {NAME_RULE}'),
        ("a&b", f'unable to parse requirement: <nil>: Invalid value: "a&b": {NAME_RULE}'),
        (
            "a>1.5",
            f'unable to parse requirement: values[0]: Invalid value: "1.5": {NUMBER_RULE}',
        ),
        ("a>-1", f'unable to parse requirement: values[0][a]: Invalid value: "-1": {VALUE_RULE}'),
        (
            "a>99999999999999999999",
            f'unable to parse requirement: values[0]: Invalid value: "99999999999999999999": {NUMBER_RULE}',
        ),
        ("..=a", f'unable to parse requirement: <nil>: Invalid value: "..": {NAME_RULE}'),
        ("a=b)", "found ')', expected: ',' or 'end of string'"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("a!==b", "unable to parse requirement: found '=', expected: identifier"),
        ("a=!b", "unable to parse requirement: found '!', expected: identifier"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
    ],
)
def test_label_selectors_that_make_no_sense_are_refused_in_the_words_of_the_server(selector: str, why: str) -> None:
    with pytest.raises(StatusError) as caught:
        parse_labels(selector)

    assert (caught.value.code, caught.value.message) == (400, why)


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("=a", '"" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ("x=y", '"x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ("data.k=v", '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ("metadata.name in (a)", "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        (
            "metadata.labels=a",
            '"metadata.labels" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("metadata.uid=x", '"metadata.uid" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ("!metadata.name", "invalid selector: '!metadata.name'; can't understand '!metadata.name'"),
        ("metadata.name>a", "invalid selector: 'metadata.name>a'; can't understand 'metadata.name>a'"),
        ("metadata.name=a!=b", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name!=a,x=y", '"x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        (
            " metadata.name=a",
            '" metadata.name" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (
            "metadata.name =a",
            '"metadata.name " is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (
            "metadata\\.name=a",
            '"metadata\\\\.name" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_field_selectors_that_make_no_sense_are_refused_in_the_words_of_the_server(selector: str, why: str) -> None:
    with pytest.raises(StatusError) as caught:
        parse_fields(selector, Registry().kind(CONFIG_MAPS))

    assert (caught.value.code, caught.value.message) == (400, why)


def test_terms_of_field_selectors_are_looked_at_in_alphabetical_order() -> None:
    kind = Registry().kind(CONFIG_MAPS)

    with pytest.raises(StatusError, match=r'^"spec\.a" is not a known field selector'):
        parse_fields("spec.b=1,spec.a=1", kind)

    assert parse_fields("=,metadata.name=a,!=", kind) == (("metadata.name", True, "a"),)


def test_escaped_signs_are_part_of_the_value() -> None:
    assert parse_fields(r"metadata.name=a\,b\=c\\d", Registry().kind(PODS)) == (("metadata.name", True, "a,b=c\\d"),)


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
    ("resource", "selector", "why"),
    [
        (PODS, "spec.containers=x", "field label not supported: spec.containers"),
        (EVENTS, "involvedObject.name=x", "field label not supported: involvedObject.name"),
        (EVENTS, "source=x", "field label not supported: source"),
        (NODES, "metadata.namespace=x", "field label not supported: metadata.namespace"),
        (JOBS, "spec.foo=x", 'field label "spec.foo" not supported for Job'),
        (
            REPLICA_SETS,
            "status.replicas=1",
            '"status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_a_field_that_cannot_be_selected_by_is_refused(resource: Resource, selector: str, why: str) -> None:
    with pytest.raises(StatusError) as caught:
        matcher(Registry().kind(resource), "", "", selector)

    assert (caught.value.code, caught.value.message) == (400, why)


@pytest.mark.parametrize(
    ("resource", "selector", "parts"),
    [
        (PODS, "status.podIP=10.0.0.1", {"status": {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.0.0.1"}]}}),
        (PODS, "spec.hostNetwork=false", {"spec": {}}),
        (PODS, "spec.hostNetwork=true", {"spec": {"hostNetwork": True}}),
        (PODS, "spec.host=node-1", {"spec": {"nodeName": "node-1"}}),
        (NODES, "spec.unschedulable=false", {"spec": {}}),
        (JOBS, "status.successful=0", {"status": {}}),
        (JOBS, "status.successful=2", {"status": {"succeeded": 2}}),
        (CORE_EVENTS, "source=here", {"reportingComponent": "here"}),
        (CORE_EVENTS, "source=there", {"source": {"component": "there"}, "reportingComponent": "here"}),
    ],
)
def test_fields_that_are_not_what_lies_at_their_path(resource: Resource, selector: str, parts: Tree) -> None:
    match = matcher(Registry().kind(resource), "", "", selector)

    assert match is not None
    assert match(a_version(**parts))


def test_all_addresses_of_a_pod_can_be_asked_for_and_are_never_found() -> None:
    match = matcher(Registry().kind(PODS), "", "", "status.podIPs=10.0.0.1")

    assert match is not None
    assert not match(a_version(status={"podIPs": [{"ip": "10.0.0.1"}]}))


def test_no_selector_means_no_test() -> None:
    assert matcher(Registry().kind(PODS), "", "", "") is None


def test_the_namespace_is_part_of_the_test() -> None:
    match = matcher(Registry().kind(PODS), "other", "", "")

    assert match is not None
    assert not match(a_version())
