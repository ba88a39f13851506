"""Rules in CEL: how their text is read against a schema, what the added functions answer, what a cluster lacks."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from fairlead.sim import cel, cel_rules, cel_text
from fairlead.sim.cluster import Cluster
from fairlead.sim.errors import StatusError
from fairlead.sim.registry import DEFINITIONS
from fairlead.sim.schema import Node, compile_schema
from fairlead.sim.time import run
from tests.sim.test_crd import a_definition, a_version, an_object, causes_of, refused
from tests.sim.trees import Tree

NUMBER, TEXT, MOMENT = {"type": "integer"}, {"type": "string"}, {"type": "string", "format": "date-time"}


def a_node(**properties: Tree) -> Node:
    return compile_schema(an_object(**properties))


def evaluated(expression: str, **values: Any) -> Any:
    return cel.compiled(expression).evaluate(values)


# Text


@pytest.mark.parametrize(
    ("expression", "checked", "variables"),
    [
        pytest.param("self.a > 1", "self_a > 1", {"self_a": "INT"}, id="a field is a variable of its type"),
        pytest.param("self.b.c == ''", "self_b_c == ''", {"self_b_c": "STRING"}, id="so is one inside another"),
        pytest.param("self.b.c.size()", "self_b_c.size()", {"self_b_c": "STRING"}, id="a function is no field"),
        pytest.param("self.m.x > 1", "self_m.x > 1", {"self_m": "MAP<INT>"}, id="keys of maps are no fields"),
        pytest.param("self.l[0].z", "self_l[0].z", {"self_l": "LIST<DYN>"}, id="items are not looked into"),
        pytest.param("has(self.a) && 'self.q' != r'\\'", "true        && 'self.q' != r'\\'", {}, id="text is no field"),
        pytest.param("self.a > 1 // self.q", "self_a > 1 // self.q", {"self_a": "INT"}, id="a comment is no field"),
        pytest.param("[1].all(itself, itself > 0)", "[1].all(itself, itself > 0)", {}, id="other names stay"),
    ],
)
def test_what_a_rule_names_becomes_a_variable_of_the_same_length(
    expression: str, checked: str, variables: dict[str, str]
) -> None:
    node = a_node(
        a=NUMBER,
        b=an_object(c=TEXT),
        m={"type": "object", "additionalProperties": NUMBER},
        l={"type": "array", "items": an_object(z=NUMBER)},
    )

    text = cel_text.read(expression, node, is_root=False)

    assert text.checked == checked
    assert len(text.checked) == len(expression)
    assert {name: kind for name, kind in text.variables.items() if name not in ("self", "oldSelf")} == variables
    assert text.evaluated == expression


def test_a_field_that_is_unknown_is_pointed_at_in_its_line() -> None:
    with pytest.raises(cel_text.UndefinedField) as caught:
        cel_text.read("self.a > 1 &&\n  self.b.c > 1", a_node(a=NUMBER, b=an_object()), is_root=False)

    assert str(caught.value) == "ERROR: <input>:2:9: undefined field 'c'\n |   self.b.c > 1\n | ........^"


def test_times_are_made_of_their_text_where_a_rule_names_them() -> None:
    node = a_node(at=MOMENT, day=TEXT | {"format": "date"}, pause=TEXT | {"format": "duration"})

    text = cel_text.read("has(self.at) && self.at > oldSelf.day && self.pause == self.pause", node, is_root=False)

    assert text.uses_old
    assert text.evaluated == (
        "has(self.at) && timestamp(self.at) > timestamp(oldSelf.day + 'T00:00:00Z') && "
        "duration(self.pause) == duration(self.pause)"
    )


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
    assert cel_text.escaped(name) == escaped


def test_a_mistake_in_a_rule_with_an_optional_past_is_pointed_at_in_the_rule() -> None:
    rule = {"rule": "oldSelf.hasValue() && odd(self)", "optionalOldSelf": True}

    [cause] = cel_rules.broken(TEXT | {cel_rules.KEY: [rule]}, compile_schema(TEXT), "at")

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
        ("self.a + 1", "no such overload: _+_(list, int64)"),
        ("[].max()", "max called on empty list"),
        ("quantity('x')", "quantities must match the regular expression"),
    ],
)
def test_what_comes_to_no_value_says_why(expression: str, text: str) -> None:
    with pytest.raises(cel.Failed) as caught:
        evaluated(expression, self={"a": [1], "n": 1})

    assert str(caught.value).startswith(text)


# A cluster


def test_without_the_library_a_definition_with_rules_is_refused_in_one_sentence() -> None:
    """In a process of its own, since this one may have imported the library already."""
    script = """
import sys
sys.modules["cel_expr_python"] = None
from fairlead.sim.cel_rules import broken
from fairlead.sim.schema import compile_schema
schema = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}, {"rule": "self > 2"}]}
for cause in broken(schema, compile_schema(schema), "at"):
    print(cause.field, cause.message)
"""

    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert told == f"at.x-kubernetes-validations Forbidden: {cel.MISSING}\n"
    assert "install fairlead with the extra `sim`" in cel.MISSING


def test_rules_inside_of_alternatives_are_not_structural() -> None:
    rule = [{"rule": "true"}]
    spec = an_object(size=NUMBER) | {"allOf": [{"properties": {"size": {cel_rules.KEY: rule}}}]}

    async def main() -> StatusError:
        definition = a_definition(a_version(spec=spec))
        return refused(lambda: Cluster().verbs.create(DEFINITIONS, "", definition, user="me"))

    [cause] = causes_of(run(main()))
    assert cause["message"] == "Forbidden: must be empty to be structural"
    assert cause["field"].endswith(".allOf[0].properties[size].x-kubernetes-validations")
