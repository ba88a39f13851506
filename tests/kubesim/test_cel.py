"""Rules in CEL: how their text is read against a schema, what the added functions answer, what a cluster lacks."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.schemas.structural import Node, compile_schema
from kubesim.cel import program as cel
from kubesim.cel import rules as cel_rules
from kubesim.cel import schema as cel_schema
from kubesim.cel.rules import SchemaPlace
from kubesim.cel.types import DYN, Type
from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import DEFINITIONS
from kubesim.time import run
from tests.kubesim.test_crd import a_definition, a_version, an_object, causes_of, refused
from tests.kubesim.trees import Tree

NUMBER, TEXT, MOMENT = {"type": "integer"}, {"type": "string"}, {"type": "string", "format": "date-time"}


def a_node(**properties: Tree) -> Node:
    return compile_schema(an_object(**properties))


def known(node: Node) -> Type:
    kind = cel_schema.typed(node)
    assert kind is not None
    return kind


def evaluated(expression: str, **values: Any) -> Any:
    return cel.compiled(expression, {"self": DYN}).evaluate(values)


# What a schema makes of a rule


@pytest.mark.parametrize(
    ("expression", "mistake"),
    [
        pytest.param("self.q > 1", "1:5: undefined field 'q'", id="a field"),
        pytest.param("self.b.d == ''", "1:7: undefined field 'd'", id="one inside another"),
        pytest.param("self.l.all(x, x.y > 0)", "1:16: undefined field 'y'", id="one of an item"),
        pytest.param("self.l[0].y > 0", "1:10: undefined field 'y'", id="one of an item by its index"),
        pytest.param(
            "self.m.x > 'a'", "1:10: found no matching overload for '_>_' applied to '(int, string)'", id="map"
        ),
        pytest.param(
            "self.at > 1", "1:9: found no matching overload for '_>_' applied to '(timestamp, int)'", id="time"
        ),
        pytest.param("has(self.q)", "1:4: undefined field 'q'", id="a test of presence"),
        pytest.param("self.a > 1 &&\n  self.b.q > 1", "2:9: undefined field 'q'", id="the second line"),
    ],
)
def test_what_a_rule_names_must_be_in_the_schema(expression: str, mistake: str) -> None:
    node = a_node(
        a=NUMBER,
        b=an_object(c=TEXT),
        m={"type": "object", "additionalProperties": NUMBER},
        l={"type": "array", "items": an_object(z=NUMBER)},
        at=MOMENT,
    )

    with pytest.raises(cel.NotCompiled) as caught:
        cel.compiled(expression, {"self": known(node)})

    assert str(caught.value).startswith(f"ERROR: <input>:{mistake}\n | ")


def test_times_and_fractions_are_made_of_what_json_has() -> None:
    node = a_node(
        at=MOMENT, day=TEXT | {"format": "date"}, pause=TEXT | {"format": "duration"}, part={"type": "number"}, a=NUMBER
    )
    value = {"at": "2030-01-01T00:00:00Z", "day": "2030-01-02", "pause": "90s", "part": 2, "a": 1}

    seen = cel_schema.bound(node, value)
    rule = cel.compiled(
        "self.at < self.day && self.pause == duration('1m30s') && self.part == 2.0", {"self": known(node)}
    )

    assert rule.evaluate({"self": seen}) is True
    assert cel_schema.bound(a_node(a=NUMBER), value) is value, "nothing is copied where nothing is to be made"


def test_an_expression_fails_where_it_uses_what_is_of_another_type() -> None:
    node = a_node(a=NUMBER, list={"type": "array", "items": NUMBER})
    seen = cel_schema.bound(node, {"a": 1.0, "list": [1, 2.0]})
    rules = {
        each: cel.compiled(each, {"self": known(node)})
        for each in ("self.a != 2", "self.list.all(x, x < 3)", "has(self.a) && (self.a == 1 || self.list[0] == 1)")
    }

    def outcome(rule: str) -> object:
        try:
            return rules[rule].evaluate({"self": seen})
        except cel.Failed as failure:
            return str(failure)

    broken = "invalid data, expected int, got float64"
    assert [outcome(rule) for rule in rules] == [broken, broken, True]


@pytest.mark.parametrize("form", ["hostname", "date-time"])
def test_an_expression_fails_where_a_list_stands_in_place_of_a_text_with_a_format(form: str) -> None:
    node = a_node(a={"type": "string", "format": form})
    rule = cel.compiled("string(self.a).size() < 3", {"self": known(node)})

    with pytest.raises(cel.Failed, match=r"^invalid data, expected string, got \[\]interface \{\}$"):
        rule.evaluate({"self": cel_schema.bound(node, {"a": [None]})})


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("namespace", "__namespace__"),
        ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("$ref", ""),
        ("1st", ""),
    ],
)
def test_fields_have_names_that_an_expression_can_say(name: str, escaped: str) -> None:
    assert cel_schema.escaped(name) == escaped


def test_a_mistake_in_a_rule_with_an_optional_past_is_pointed_at_in_the_rule() -> None:
    rule = {"rule": "oldSelf.hasValue() && odd(self)", "optionalOldSelf": True}

    cause, _ = cel_rules.broken(TEXT | {cel_rules.KEY: [rule]}, compile_schema(TEXT), SchemaPlace("at"))

    assert cause.field == "at.x-kubernetes-validations[0].rule"
    assert cause.message.endswith(
        "compilation failed: ERROR: <input>:1:26: undeclared reference to 'odd' (in container '')\n"
        " | oldSelf.hasValue() && odd(self)\n | .........................^"
    )


# Functions


@pytest.mark.parametrize(
    "expression",
    [
        "quantity('1Gi').compareTo(quantity('1024Mi')) == 0",
        "quantity('1.5').isInteger() == false && quantity('2k').asInteger() == 2000",
        "quantity('1').add(quantity('500m')).asApproximateFloat() == 1.5",
        "quantity('5').sub(2).asInteger() == 3 && sign(quantity('-1')) == -1",
        "isQuantity('12e6') && !isQuantity('12Q') && !isQuantity('')",
        "semver('1.2.3').major() == 1 && semver('v1.2', true).minor() == 2",
        "semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10')) && !isSemver('1.0')",
        "semver('1.0.0').isGreaterThan(semver('1.0.0-rc'))",
        "url('https://user@[::1]:80/a?b=c').getHostname() == '::1'",
        "url('https://h:80/a?b=c&b=d').getQuery()['b'] == ['c', 'd'] && url('/a').getEscapedPath() == '/a'",
        "url('https://h').getPort() == '' && !isURL('h') && isURL('/h')",
        "ip('127.0.0.1').isLoopback() && ip('::').isUnspecified() && ip('8.8.8.8').isGlobalUnicast()",
        "ip('fe80::1').isLinkLocalUnicast() && ip('::1').family() == 6 && !isIP('::ffff:1.2.3.4')",
        "ip.isCanonical('::1') && !ip.isCanonical('0:0::1')",
        "cidr('10.1.2.3/8').containsCIDR('10.2.0.0/16') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
        "cidr('10.0.0.0/8').prefixLength() == 8 && !isCIDR('10.0.0.0') && !cidr('10.0.0.0/8').containsIP('::1')",
        "[3, 1, 2].max() == 3 && [1.5, 2.5].sum() == 4.0 && ['a', 'b'].min() == 'a' && ![2, 1].isSorted()",
        "'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]', 2).size() == 2 && 'a'.find('b') == ''",
        "sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2]) && !sets.contains([1], [2])",
    ],
)
def test_functions_that_the_server_adds(expression: str) -> None:
    assert evaluated(expression) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("self.b", "no such key: b"),
        ("self.a[3]", "index out of bounds: 3"),
        ("1 / (self.n - 1)", "division by zero"),
        ("self.a + 1", "no such overload"),
        ("[].max()", "max called on empty list"),
        ("quantity('x')", "quantities must match the regular expression"),
    ],
)
def test_what_comes_to_no_value_says_why(expression: str, text: str) -> None:
    with pytest.raises(cel.Failed) as caught:
        evaluated(expression, self={"a": [1], "n": 1})

    assert str(caught.value).startswith(text)


# A cluster


def test_a_rule_that_goes_round_too_often_is_ended() -> None:
    with pytest.raises(cel.Failed) as caught:
        evaluated("self.all(a, self.all(b, self.all(c, true)))", self=list(range(100)))

    assert str(caught.value) == "operation cancelled: actual cost limit exceeded"


def test_rules_inside_of_alternatives_are_not_structural() -> None:
    rule = [{"rule": "true"}]
    spec = an_object(size=NUMBER) | {"allOf": [{"properties": {"size": {cel_rules.KEY: rule}}}]}

    async def main() -> StatusError:
        definition = a_definition(a_version(spec=spec))
        return refused(lambda: Cluster().verbs.create(DEFINITIONS, "", definition, user="me"))

    [cause] = causes_of(run(main()))
    assert cause["message"] == "Forbidden: must be empty to be structural"
    assert cause["field"].endswith(".allOf[0].properties[size].x-kubernetes-validations")
