"""Our CEL agrees with another implementation of it, of the language's own project, about random expressions.

What is compared is the language: literals, operators, conversions, indexes, conditions, macros, texts and lists. Words
of failures are not: those are the API server's, and are held against it elsewhere.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesim.cel import program as ours
from kubesim.cel.types import DYN

theirs = pytest.importorskip("cel_expr_python.cel", reason="the reference implementation has no wheel for this Python")
strings = pytest.importorskip("cel_expr_python.ext.ext_strings")

SELF = {"n": 3, "t": "text", "on": True, "list": [1, 2, 3], "map": {"a": 1, "b": 2}, "texts": ["x", "yy", ""]}
NUMBERS = st.sampled_from(
    ["0", "1", "2", "-3", "7", "self.n", "size(self.t)", "self.list[0]", "self.map.a", "int('4')"]
)
TEXTS = st.sampled_from(["''", "'a'", "'text'", "self.t", "self.texts[1]", "string(5)", "'A b'.lowerAscii()"])
LISTS = st.sampled_from(["self.list", "[1, 2]", "[3]", "self.list.map(x, x * 2)", "self.list.filter(x, x > 1)"])


def numbers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("({} {} {})".format, inner, st.sampled_from("+-*/%"), inner)


INTEGERS = st.recursive(NUMBERS, numbers, max_leaves=4)
TRUTHS = st.one_of(
    st.builds("({} {} {})".format, INTEGERS, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), INTEGERS),
    st.builds("({} in {})".format, INTEGERS, LISTS),
    st.builds("{}.contains({})".format, TEXTS, TEXTS),
    st.builds("{}.startsWith({})".format, TEXTS, TEXTS),
    st.builds("{}.matches('^[a-z]+$')".format, TEXTS),
    st.builds("{}.{}(x, x > {})".format, LISTS, st.sampled_from(["all", "exists", "exists_one"]), INTEGERS),
    st.sampled_from(
        ["self.on", "has(self.n)", "has(self.none)", "'a' in self.map", "'z' in self.map", "true", "false"]
    ),
)
CONDITIONS = st.recursive(
    TRUTHS,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["&&", "||"]), inner), st.builds("!({})".format, inner)
    ),
    max_leaves=4,
)
EXPRESSIONS = st.one_of(
    INTEGERS,
    CONDITIONS,
    st.builds("({} ? {} : {})".format, CONDITIONS, INTEGERS, INTEGERS),
    st.builds("({} + {})".format, TEXTS, TEXTS),
    st.builds("({} + {})".format, LISTS, LISTS),
    st.builds("{}.size()".format, st.one_of(TEXTS, LISTS)),
    st.builds("{}.replace('t', '-')".format, TEXTS),
    st.builds("{}.substring(1)".format, TEXTS),
)
FAILED = "failed"


@cache
def _environment() -> Any:
    return theirs.NewEnv(variables={"self": theirs.Type.DYN}, extensions=[strings.ExtStrings()])


def by_reference(expression: str) -> Any:
    found = _environment().compile(expression).eval(data={"self": SELF})
    return FAILED if found.type().name() == "ERROR" else found.plain_value()


def by_ours(expression: str) -> Any:
    try:
        return ours.compiled(expression, {"self": DYN}).evaluate({"self": SELF})
    except ours.Failed:
        return FAILED


@settings(max_examples=500, deadline=None)
@given(EXPRESSIONS)
def test_both_come_to_the_same_value(expression: str) -> None:
    assert by_ours(expression) == by_reference(expression)
