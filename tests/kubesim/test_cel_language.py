"""The language of expressions: what the API server said of each of these, copied from it, is said here as well."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cel import program as cel
from kubesim.rules.match_conditions import variables
from tests.kubesim import expressions

_ANSWERS = expressions.recorded()


@pytest.mark.parametrize("expression", _ANSWERS["mistakes"])
def test_mistakes_are_told_before_there_are_values(expression: str) -> None:
    def said() -> str:
        try:
            return f"must evaluate to bool but got {cel.compiled(expression, variables()).type}"
        except cel.NotCompiled as error:
            return str(error)

    assert said() == _ANSWERS["mistakes"][expression]


@pytest.mark.parametrize("expression", _ANSWERS["values"])
def test_expressions_come_to_the_servers_values_and_failures(expression: str) -> None:
    def found() -> Any:
        try:
            return cel.compiled(expression, variables()).evaluate({"object": expressions.OBJECT, "oldObject": None})
        except cel.Failed as failure:
            return str(failure)

    assert found() == _ANSWERS["values"][expression]
