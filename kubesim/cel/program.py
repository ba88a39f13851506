"""Expressions in CEL: compiled against the types of their variables, then evaluated as often as there are values.

Language and functions are those of the release's API server, told mistakes included. Values are those of JSON, with
times as `datetime` and `timedelta`. An evaluation that goes round too often is ended; what one may cost is not
estimated beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from kubesim.cel.authorizer import AUTHORIZATION
from kubesim.cel.check import Checker
from kubesim.cel.lists import LISTS
from kubesim.cel.run import COUNT, Step, built
from kubesim.cel.standard import STANDARD
from kubesim.cel.strings import STRINGS
from kubesim.cel.syntax import Expr, parsed
from kubesim.cel.things import THINGS
from kubesim.cel.types import Overload, Type
from kubesim.cel.values import Failed, NoOverload, type_name
from kubesim.cel.words import Mistake, SyntaxMistakes

__all__ = ["Failed", "NotCompiled", "Program", "compiled"]
_ANY = ("A", "B", "dyn")


class NotCompiled(Exception):
    """The text says why, with the place in the expression, as the server does."""


class Program:
    """A compiled expression; `type` is what it evaluates to, as far as that is known."""

    def __init__(self, source: str, expression: Expr, kind: Type, step: Step) -> None:
        self.source = source
        self.expression = expression
        self.type = kind
        self._step = step

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The value; raises Failed."""
        try:
            return self._step({COUNT: [0], **values})
        except RecursionError:
            raise Failed("max recursion depth exceeded") from None


def compiled(source: str, variables: Mapping[str, Type]) -> Program:
    """The expression with variables of these types; raises NotCompiled."""
    overloads, functions = _functions()
    checker = Checker(variables, overloads)
    try:
        expression, kind = checker.check(parsed(source))
    except SyntaxMistakes as found:
        raise NotCompiled(_told(source, found.mistakes)) from None
    except RecursionError:
        raise NotCompiled(_told(source, [Mistake(0, "expression recursion limit exceeded: 250")])) from None
    if checker.mistakes:
        raise NotCompiled(_told(source, checker.mistakes))
    return Program(source, expression, kind, built(expression, functions))


def _told(source: str, mistakes: Sequence[Mistake]) -> str:
    """Mistakes in the order of their places."""
    return "\n".join(_pointed(source, each) for each in sorted(mistakes, key=lambda each: each.at))


def _pointed(source: str, mistake: Mistake) -> str:
    before = source[: mistake.at]
    line, column = before.count("\n"), mistake.at - (before.rfind("\n") + 1)
    text = source.split("\n")[line].replace("\t", " ")
    return f"ERROR: <input>:{line + 1}:{column + 1}: {mistake.text}\n | {text}\n | {'.' * column}^"


@cache
def _functions() -> tuple[dict[str, list[Overload]], dict[str, Callable[..., Any]]]:
    """All that may be called: how, and what it does."""
    overloads, functions = STANDARD.overloads(), dict(STANDARD.does)
    libraries = (STRINGS, LISTS, THINGS, AUTHORIZATION)
    for library in libraries:
        for name, each in library.overloads().items():
            overloads.setdefault(name, []).extend(each)
    for library in libraries:
        functions |= {name: _guarded(does, overloads[name]) for name, does in library.does.items()}
    return overloads, functions


def _guarded(does: Callable[..., Any], declared: list[Overload]) -> Callable[..., Any]:
    """The function for arguments that it is declared for, whose types may turn out only with their values."""
    wanted = [tuple("" if kind.name in _ANY else kind.name for kind in overload.takes) for overload in declared]

    def guarded(*values: Any) -> Any:
        names = tuple(map(type_name, values))
        for each in wanted:
            if len(each) == len(names) and all(name in ("", found) for name, found in zip(each, names, strict=True)):
                return does(*values)
        raise NoOverload

    return guarded
