"""The types of an expression: what it names is looked up, what it calls is chosen, and all mistakes are told.

Fields of objects become keys as JSON has them, names of variables with dots become one, so that what is left for the
evaluation is as short as can be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kubeloop.schemas.patterns import BadPattern, compiled
from kubesim.cel.syntax import Call, Expr, Ident, Literal, Loop, MakeList, MakeMap, MakeMessage, Select, dotted
from kubesim.cel.types import (
    BOOL,
    DYN,
    ERROR,
    FREE,
    INT,
    Bound,
    Field,
    Overload,
    Type,
    filled,
    fits,
    list_of,
    map_of,
    optional_of,
    read,
)
from kubesim.cel.values import Failed, TypeName, moment, period, type_name
from kubesim.cel.words import Mistake

_TYPE_NAMES = (
    "bool",
    "bytes",
    "double",
    "dyn",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "optional_type",
    "net.IP",
    "net.CIDR",
    "kubernetes.URL",
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "kubernetes.NamedFormat",
)

_OBJECTS = "kubernetes."
"""Types of objects have names that begin so; of most the fields are nobody's business."""
_MADE_OF_TEXT: dict[str, Callable[[str], object]] = {"timestamp": moment, "duration": period, "matches": compiled}


class Checker:
    """Types one expression; `mistakes` are empty where it may be evaluated."""

    def __init__(self, variables: Mapping[str, Type], functions: Mapping[str, Sequence[Overload]]) -> None:
        self._variables = dict(variables)
        self._functions = functions
        self._is_mixed = False
        """The next list may have items of several types, as that of `format` has."""
        self.mistakes: list[Mistake] = []

    def check(self, expression: Expr) -> tuple[Expr, Type]:
        """The expression as it is evaluated, and its type."""
        match expression:
            case Literal():
                return expression, read(type_name(expression.value))
            case Ident():
                return self._ident(expression)
            case Select():
                return self._select(expression)
            case Call():
                return self._call(expression)
            case MakeList():
                return self._list(expression)
            case MakeMap():
                return self._map(expression)
            case MakeMessage():
                return expression, self._wrong(expression.at, _undeclared(expression.name))
            case Loop():
                return self._loop(expression)
            case _:
                raise TypeError(expression)

    def _wrong(self, at: int, text: str) -> Type:
        self.mistakes.append(Mistake(at, text))
        return ERROR

    # Names and fields

    def _ident(self, expression: Ident) -> tuple[Expr, Type]:
        known = self._variables.get(expression.name)
        if known is not None:
            return expression, known
        if expression.name in _TYPE_NAMES:
            return Literal(expression.at, TypeName(expression.name)), Type("type", (Type(expression.name),))
        return expression, self._wrong(expression.at, _undeclared(expression.name))

    def _select(self, expression: Select) -> tuple[Expr, Type]:
        name = dotted(expression)
        if name in self._variables:
            return Ident(expression.at, name), self._variables[name]
        if name in _TYPE_NAMES:
            return Literal(expression.at, TypeName(name)), Type("type", (Type(name),))
        operand, kind = self.check(expression.operand)
        field, found = expression.field, ERROR
        is_optional = expression.is_optional or kind.name == "optional_type"
        inner = kind.params[0] if kind.name == "optional_type" else kind
        if inner.fields is not None:
            known = inner.fields.get(field)
            if known is None:
                self._wrong(expression.at, f"undefined field '{field}'")
            else:
                field, found = known.name, known.type
        elif inner.name == "map":
            found = inner.params[1]
        elif inner in (DYN, FREE):
            found = DYN
        elif inner.name.startswith(_OBJECTS):
            self._wrong(expression.at, f"unexpected failed resolution of '{inner.name}'")
        elif inner != ERROR:
            self._wrong(expression.at, f"type '{inner.shown}' does not support field selection")
        made = Select(expression.at, operand, field, expression.is_test, expression.is_optional)
        if expression.is_test:
            return made, BOOL
        return made, optional_of(found) if is_optional else found

    # Calls

    def _call(self, expression: Call) -> tuple[Expr, Type]:
        function, given, is_member = expression.function, expression.args, expression.is_member
        if is_member:
            target = dotted(given[0])
            qualified = f"{target}.{function}"
            if target and target.split(".")[0] not in self._variables and qualified in self._functions:
                function, given, is_member = qualified, given[1:], False
        args, kinds = [], []
        mixed, self._is_mixed = self._is_mixed, function == "format"
        for each in given:
            arg, kind = self.check(each)
            args.append(arg)
            kinds.append(kind)
        self._is_mixed = mixed
        made = Call(expression.at, function, args, is_member)
        overloads = self._functions.get(function)
        if overloads is None:
            return made, self._wrong(expression.at, _undeclared(function))
        if function in ("_&&_", "_||_"):
            for each, kind in zip(given, kinds, strict=True):
                self._must_be_bool(each.at, kind)
            return made, BOOL
        if ERROR in kinds:
            return made, ERROR
        self._literals(function, args)
        return made, self._chosen(expression.at, function, kinds, is_member)

    def _must_be_bool(self, at: int, kind: Type) -> None:
        if not fits(kind, BOOL, {}):
            self._wrong(at, f"expected type 'bool' but found '{kind.shown}'")

    def _chosen(self, at: int, function: str, kinds: Sequence[Type], is_member: bool = False) -> Type:
        """What a call answers with; DYN where several overloads fit that do not agree."""
        found: list[Type] = []
        for overload in self._functions[function]:
            if overload.is_member != is_member or len(overload.takes) != len(kinds):
                continue
            bound: Bound = {}
            if all(fits(kind, wanted, bound) for kind, wanted in zip(kinds, overload.takes, strict=True)):
                found.append(filled(overload.returns, bound))
        if not found:
            shown = [kind.shown for kind in kinds]
            signature = f"{shown[0]}.({', '.join(shown[1:])})" if is_member else f"({', '.join(shown)})"
            return self._wrong(at, f"found no matching overload for '{function}' applied to '{signature}'")
        return found[0] if all(each == found[0] for each in found) else DYN

    def _literals(self, function: str, args: Sequence[Expr]) -> None:
        """Text that can be looked at before there are values."""
        maker, last = _MADE_OF_TEXT.get(function), args[-1] if args else None
        if maker is None or not isinstance(last, Literal) or not isinstance(last.value, str):
            return
        try:
            maker(last.value)
        except (Failed, BadPattern):
            self._wrong(last.at, f"invalid {function} argument")

    # Lists and maps

    def _list(self, expression: MakeList) -> tuple[Expr, Type]:
        items: list[tuple[Expr, bool]] = []
        joined = FREE
        mixed, self._is_mixed = self._is_mixed, False
        for each, is_optional in expression.items:
            item, kind = self.check(each)
            items.append((item, is_optional))
            if mixed:
                joined = DYN
                continue
            joined = self._joined(each.at, joined, _inner(kind) if is_optional else kind)
        return MakeList(expression.at, items), list_of(joined)

    def _map(self, expression: MakeMap) -> tuple[Expr, Type]:
        entries: list[tuple[Expr, Expr, bool]] = []
        keys = values = FREE
        for key, value, is_optional in expression.entries:
            made_key, key_kind = self.check(key)
            made_value, kind = self.check(value)
            entries.append((made_key, made_value, is_optional))
            keys = self._joined(key.at, keys, key_kind)
            values = self._joined(value.at, values, _inner(kind) if is_optional else kind)
        return MakeMap(expression.at, entries), map_of(keys, values)

    def _joined(self, at: int, known: Type, kind: Type) -> Type:
        if known == FREE:
            return kind
        if fits(kind, known, {}):
            return kind if known == DYN and kind == ERROR else known
        if fits(known, kind, {}):
            return kind
        self._wrong(at, f"expected type '{known.shown}' but found '{kind.shown}'")
        return known

    # Macros

    def _loop(self, expression: Loop) -> tuple[Expr, Type]:
        over, kind = self.check(expression.over)
        kinds = self._looped(expression, kind)
        before = dict(self._variables)
        for name, looped in zip(expression.names, kinds, strict=True):
            self._variables[name] = looped
            for hidden in [known for known in self._variables if known.startswith(f"{name}.")]:
                del self._variables[hidden]
        parts, types = [], []
        for each in expression.parts:
            part, found = self.check(each)
            parts.append(part)
            types.append(found)
        self._variables = before
        made = Loop(expression.at, expression.macro, over, expression.names, parts)
        return made, self._result(expression, kind, types)

    def _looped(self, expression: Loop, kind: Type) -> tuple[Type, ...]:
        """Types of the variables."""
        if expression.macro in ("optMap", "optFlatMap"):
            return (_inner(kind),)
        two = len(expression.names) > 1
        match kind.name:
            case "list":
                return (INT, kind.params[0]) if two else (kind.params[0],)
            case "map":
                return kind.params if two else (kind.params[0],)
            case "dyn" | "!error!":
                return (DYN,) * len(expression.names)
            case _:
                text = f"expression of type '{kind.shown}' cannot be range of a comprehension"
                self._wrong(expression.over.at, f"{text} (must be list, map, or dynamic)")
                return (ERROR,) * len(expression.names)

    def _result(self, expression: Loop, over: Type, types: Sequence[Type]) -> Type:
        at, macro, last = expression.at, expression.macro, types[-1]
        match macro:
            case "all" | "exists":
                self._must_be_bool(expression.parts[-1].at, last)
                return BOOL
            case "exists_one" | "existsOne":
                self._condition(at, last, INT)
                return BOOL
            case "filter":
                made = list_of(over.params[0] if over.name in ("list", "map") else DYN)
                self._condition(at, last, made)
                return made
            case "map" | "transformList":
                if len(types) > 1:
                    self._condition(at, types[0], list_of(last))
                return list_of(last)
            case "transformMap":
                return map_of(over.params[0] if over.name == "map" else INT if over.name == "list" else DYN, last)
            case "transformMapEntry":
                if last.name != "map" and last not in (DYN, ERROR):
                    text = f"found no matching overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), {last.shown})'"
                    self._wrong(at, text)
                return last if last.name == "map" else map_of(DYN, DYN)
            case "optMap":
                return optional_of(last)
            case "sortBy":
                return over
            case _:
                return last

    def _condition(self, at: int, kind: Type, made: Type) -> None:
        if kind != ERROR:
            self._chosen(at, "_?_:_", (kind, made, made))


def _inner(kind: Type) -> Type:
    return kind.params[0] if kind.name == "optional_type" else kind


def _undeclared(name: str) -> str:
    return f"undeclared reference to '{name}' (in container '')"


def object_type(name: str, fields: Mapping[str, Type]) -> Type:
    """A type whose fields are named as in JSON."""
    return Type(name, fields={key: Field(key, kind) for key, kind in fields.items()})
