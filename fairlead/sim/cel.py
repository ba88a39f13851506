"""Expressions in CEL: the one place that knows the library which evaluates them.

It is imported with the first expression, because it is an extra that most clusters never need. Values are plain JSON;
the library has no way to be given times and lengths of time inside of them, so that expressions name them in a form
that makes them of text (`cel_text`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from fairlead.sim.cel_functions import FUNCTIONS, Function

MISSING = "rules in CEL need the package cel-expr-python: install fairlead with the extra `sim`, or leave the rules out"
BOOL, STRING, DYN = "BOOL", "STRING", "DYN"
OLD = "cel.bind(oldSelf, oldSelfs[?0], "
"""Makes of a list with one item or none the optional that `oldSelf` is in some rules; the rule and `)` follow."""

_EXTENSIONS = ("Strings", "Optional", "Bindings")
_FRAME = re.compile(r"^[A-Z_]+: |( \[[A-Z_]+\])$")
_WORDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r'^Key not found in map : "?(.*?)"?$'), r"no such key: \1"),
    (re.compile(r"^Index error: index=(-?\d+) size=\d+$"), r"index out of bounds: \1"),
    (re.compile(r"^divide by zero$"), "division by zero"),
    (re.compile(r"^No matching overloads found : (.*)$"), r"no such overload: \1"),
)


class Unavailable(Exception):
    """The library is not installed."""


class NotCompiled(Exception):
    """The text says why, with the place in the expression."""


class Failed(Exception):
    """An evaluation that came to no value; the text is the server's where there is one."""


class _Value(Protocol):
    def type(self) -> Any: ...
    def value(self) -> Any: ...
    def plain_value(self) -> Any: ...


class Program:
    """A compiled expression; `type` is what it evaluates to, DYN where that is not known."""

    def __init__(self, expression: Any) -> None:
        self._expression = expression
        self.type: str = expression.return_type().name()

    def evaluate(self, values: Mapping[str, object]) -> Any:
        """The value, as JSON; raises Failed."""
        found: _Value = self._expression.eval(data=values)
        if found.type().name() == "ERROR":
            raise Failed(_said(str(found.value())))
        return found.plain_value()


def compiled(expression: str, variables: Mapping[str, str] | None = None) -> Program:
    """The expression with variables of types by name (`INT`, `LIST<STRING>`); without any, of all that rules have."""
    known = {"self": DYN, "oldSelf": DYN, "oldSelfs": f"LIST<{DYN}>"} if variables is None else variables
    environment = _environment(tuple(sorted(known.items())))
    try:
        return Program(environment.compile(expression))
    except RuntimeError as error:
        raise NotCompiled(_FRAME.sub("", str(error))) from None


def _said(text: str) -> str:
    text = _FRAME.sub("", text)
    for pattern, words in _WORDS:
        if pattern.search(text):
            return pattern.sub(words, text)
    return text


@cache
def _environment(variables: tuple[tuple[str, str], ...]) -> Any:
    cel, extensions = _library()
    types = {name: _type(cel, text) for name, text in variables}
    return cel.NewEnv(variables=types, extensions=extensions, functions=list(_declared(cel)))


@cache
def _library() -> tuple[Any, list[Any]]:
    """The library and the extensions that the server has too."""
    try:
        cel = import_module("cel_expr_python.cel")
        found = [import_module(f"cel_expr_python.ext.ext_{name.lower()}") for name in _EXTENSIONS]
    except ImportError:
        raise Unavailable(MISSING) from None
    return cel, [getattr(module, f"Ext{name}")() for module, name in zip(found, _EXTENSIONS, strict=True)]


def _type(cel: Any, text: str) -> Any:
    """`LIST<INT>`, `MAP<STRING>` (whose keys are text) or a simple one."""
    outer, _, inner = text.removesuffix(">").partition("<")
    if not inner:
        return getattr(cel.Type, outer)
    element = _type(cel, inner)
    return cel.Type.List(element) if outer == "LIST" else cel.Type.Map(cel.Type.STRING, element)


def _declared(cel: Any) -> Iterable[Any]:
    overloads: dict[str, list[Any]] = {}
    for index, function in enumerate(FUNCTIONS):
        overloads.setdefault(function.name, []).append(
            cel.Overload(
                f"fairlead_{function.name.replace('.', '_')}_{index}",
                return_type=_type(cel, function.returns),
                parameters=[_type(cel, text) for text in function.takes],
                is_member=function.is_member,
                impl=_plain(cel, function),
            )
        )
    return (cel.FunctionDecl(name, each) for name, each in overloads.items())


def _plain(cel: Any, function: Function) -> Callable[..., Any]:
    """The library hands its own values to functions."""

    def plain(value: Any) -> Any:
        if isinstance(value, cel.Value):
            return value.plain_value()
        if isinstance(value, dict):
            return {plain(key): plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return lambda *values: function.does(*map(plain, values))
