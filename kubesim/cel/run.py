"""A checked expression as a chain of functions: built once, then called with the values of its variables.

A frame is a dictionary of those values; a macro works in a copy of it. Loops are counted, so that an expression ends
with an error instead of holding up the server; the count stands for the server's finer measure of cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any

from kubesim.cel.syntax import Call, Expr, Ident, Literal, Loop, MakeList, MakeMap, Select
from kubesim.cel.values import NONE, Broken, Failed, NoOverload, Optional, compared, optional, type_name

Frame = dict[str, Any]
Step = Callable[[Frame], Any]
Functions = Mapping[str, Callable[..., Any]]
COUNT = ""
"""Where a frame counts the rounds of its loops."""
MOST_ROUNDS = 250_000
_TOO_LONG = "operation cancelled: actual cost limit exceeded"
_RELATIONS = ("_<_", "_<=_", "_>_", "_>=_")


def built(expression: Expr, functions: Functions) -> Step:
    """The expression as a function of a frame; the function raises Failed."""
    match expression:
        case Literal():
            value = expression.value
            return lambda frame: value
        case Ident():
            return _variable(expression.name)
        case Select():
            return _select(expression, functions)
        case Call():
            return _call(expression, functions)
        case MakeList():
            return _list(expression, functions)
        case MakeMap():
            return _map(expression, functions)
        case Loop():
            return _loop(expression, functions)
        case _:
            raise TypeError(expression)


def _variable(name: str) -> Step:
    def variable(frame: Frame) -> Any:
        try:
            value = frame[name]
        except KeyError:
            raise Failed(f"no such attribute(s): {name}") from None
        if type(value) is Broken:
            raise Failed(value.why)
        return value

    return variable


def _select(expression: Select, functions: Functions) -> Step:
    operand, field = built(expression.operand, functions), expression.field
    if expression.is_test:
        return lambda frame: _has(operand(frame), field)
    if expression.is_optional:
        return lambda frame: _found(operand(frame), field)

    def selected(frame: Frame) -> Any:
        value = operand(frame)
        try:
            found = value[field]
        except (KeyError, TypeError, IndexError):
            return _otherwise(value, field)
        if type(found) is Broken:
            raise Failed(found.why)
        return found

    return selected


def _otherwise(value: Any, field: str) -> Any:
    """A field of something that is no map with such a key."""
    if isinstance(value, Optional):
        return _found(value, field)
    if hasattr(value, "resolve"):
        return value.resolve(field)
    if isinstance(value, list):
        raise Failed("unsupported index type 'string' in list")
    raise Failed(f"no such key: {field}")


def _has(value: Any, field: str) -> bool:
    if isinstance(value, dict):
        return value.get(field) is not None
    if isinstance(value, Optional):
        return value.is_set and _has(value.value, field)
    raise Failed(f"no such key: {field}")


def _found(value: Any, field: str) -> Optional:
    if isinstance(value, Optional):
        return _found(value.value, field) if value.is_set else NONE
    return optional(value[field]) if isinstance(value, dict) and field in value else NONE


def _call(expression: Call, functions: Functions) -> Step:
    name, args = expression.function, [built(each, functions) for each in expression.args]
    match name:
        case "_&&_" | "_||_":
            return _logical(args[0], args[1], stop=name == "_||_")
        case "_?_:_":
            return _choice(*args)
        case "or" | "orValue":
            return _fallback(args[0], args[1], is_value=name == "orValue")
    does = functions[name]

    if len(args) == 2:
        first, second = args

        def two(frame: Frame) -> Any:
            left, right = first(frame), second(frame)
            try:
                return does(left, right)
            except NoOverload:
                raise _refused(name, [left, right]) from None

        return two

    def some(frame: Frame) -> Any:
        values = [each(frame) for each in args]
        try:
            return does(*values)
        except NoOverload:
            raise _refused(name, values) from None

    return some


def _refused(name: str, values: list[Any]) -> Failed:
    """The server names the function only where its argument can have nothing to do with it."""
    if name == "size" or (name in _RELATIONS and isinstance(values[0], list | dict | None)):
        return Failed(f"no such overload: {name}")
    if len(values) == 1 and name[0].isalpha():
        return Failed(f"no such overload: {name}({type_name(values[0])})")
    return Failed("no such overload")


def _logical(first: Step, second: Step, *, stop: bool) -> Step:
    """`&&` (stops at false) and `||`: an error on one side does not count where the other decides."""

    def logical(frame: Frame) -> bool:
        try:
            left = first(frame)
        except Failed as failure:
            return _decided(second, frame, failure, stop)
        if left is stop:
            return bool(stop)
        right = second(frame)
        if right is stop:
            return bool(stop)
        if isinstance(left, bool) and isinstance(right, bool):
            return not stop
        raise Failed("no such overload")

    return logical


def _decided(second: Step, frame: Frame, failure: Failed, stop: bool) -> bool:
    try:
        right = second(frame)
    except Failed:
        raise failure from None
    if right is stop:
        return bool(stop)
    raise failure


def _choice(condition: Step, then: Step, otherwise: Step) -> Step:
    def choice(frame: Frame) -> Any:
        found = condition(frame)
        if not isinstance(found, bool):
            raise Failed("no such overload")
        return then(frame) if found else otherwise(frame)

    return choice


def _fallback(first: Step, second: Step, *, is_value: bool) -> Step:
    def fallback(frame: Frame) -> Any:
        found = first(frame)
        if not isinstance(found, Optional):
            raise Failed("no such overload")
        if not found.is_set:
            return second(frame)
        return found.value if is_value else found

    return fallback


def _list(expression: MakeList, functions: Functions) -> Step:
    items = [(built(each, functions), is_optional) for each, is_optional in expression.items]
    if not any(is_optional for _, is_optional in items):
        plain = [each for each, _ in items]
        return lambda frame: [each(frame) for each in plain]

    def made(frame: Frame) -> list[Any]:
        values = ((each(frame), is_optional) for each, is_optional in items)
        return [each.value if is_optional else each for each, is_optional in values if not is_optional or each.is_set]

    return made


def _map(expression: MakeMap, functions: Functions) -> Step:
    entries = [(built(key, functions), built(value, functions), each) for key, value, each in expression.entries]

    def made(frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value, is_optional in entries:
            name, each = key(frame), value(frame)
            if not isinstance(name, str | int | float):
                raise Failed(f"unsupported key type: {type_name(name)}")
            if not is_optional:
                found[name] = each
            elif each.is_set:
                found[name] = each.value
        return found

    return made


# Macros


def _loop(expression: Loop, functions: Functions) -> Step:
    over = built(expression.over, functions)
    parts = [built(each, functions) for each in expression.parts]
    if expression.macro in ("optMap", "optFlatMap"):
        return _opened(over, expression.names[0], parts[0], flat=expression.macro == "optFlatMap")
    rounds = _rounds(over, expression.names)
    match expression.macro:
        case "all" | "exists":
            return _quantified(rounds, parts[0], stop=expression.macro == "exists")
        case "exists_one" | "existsOne":
            return lambda frame: sum(1 for inner, _ in rounds(frame) if _test(parts[0], inner)) == 1
        case "filter":
            return lambda frame: [item for inner, item in rounds(frame) if _test(parts[0], inner)]
        case "map" | "transformList":
            return _transformed(rounds, parts)
        case "transformMap" | "transformMapEntry":
            return _mapped(rounds, parts, expression.names[0], is_entry=expression.macro == "transformMapEntry")
        case _:
            return _sorted(over, rounds, parts[0])


Rounds = Callable[[Frame], Any]


def _rounds(over: Step, names: tuple[str, ...]) -> Rounds:
    """Frames of a loop, one after the other, each with the first variable's value; they share one dictionary."""

    def rounds(frame: Frame) -> Any:
        items = over(frame)
        if not isinstance(items, list | dict):
            raise Failed(f"got 'types.{type_name(items).capitalize()}', expected iterable type")
        spend(frame, len(items))
        inner = dict(frame)
        if len(names) == 1:
            for item in items:
                inner[names[0]] = item
                yield inner, item
            return
        for key, value in items.items() if isinstance(items, dict) else enumerate(items):
            inner[names[0]], inner[names[1]] = key, value
            yield inner, key

    return rounds


def spend(frame: Frame, rounds: int) -> None:
    """Counts rounds, and ends the evaluation when there were too many."""
    count = frame[COUNT]
    count[0] += rounds
    if count[0] > MOST_ROUNDS:
        raise Failed(_TOO_LONG)


def _test(part: Step, frame: Frame) -> bool:
    found = part(frame)
    if not isinstance(found, bool):
        raise Failed("no such overload")
    return found


def _quantified(rounds: Rounds, part: Step, *, stop: bool) -> Step:
    def quantified(frame: Frame) -> bool:
        failure: Failed | None = None
        for inner, _ in rounds(frame):
            try:
                found = part(inner)
            except Failed as error:
                if str(error) == _TOO_LONG:
                    raise
                failure = failure or error
                continue
            if found is stop:
                return bool(stop)
            if not isinstance(found, bool):
                failure = failure or Failed("no such overload")
        if failure is not None:
            raise failure
        return not stop

    return quantified


def _transformed(rounds: Rounds, parts: list[Step]) -> Step:
    last = parts[-1]
    if len(parts) == 1:
        return lambda frame: [last(inner) for inner, _ in rounds(frame)]
    return lambda frame: [last(inner) for inner, _ in rounds(frame) if _test(parts[0], inner)]


def _mapped(rounds: Rounds, parts: list[Step], key: str, *, is_entry: bool) -> Step:
    def mapped(frame: Frame) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for inner, _ in rounds(frame):
            if len(parts) > 1 and not _test(parts[0], inner):
                continue
            entries = parts[-1](inner) if is_entry else {inner[key]: parts[-1](inner)}
            for name, value in entries.items():
                if name in made:
                    raise Failed(f"insert failed: key {name} already exists")
                made[name] = value
        return made

    return mapped


def _opened(over: Step, name: str, part: Step, *, flat: bool) -> Step:
    def opened(frame: Frame) -> Any:
        found = over(frame)
        if not isinstance(found, Optional):
            raise Failed("no such overload")
        if not found.is_set:
            return NONE
        made = part({**frame, name: found.value})
        return made if flat else optional(made)

    return opened


def _in_order(left: tuple[Any, int], right: tuple[Any, int]) -> int:
    return compared(left[0], right[0])


def _sorted(over: Step, rounds: Rounds, part: Step) -> Step:
    def ordered(frame: Frame) -> list[Any]:
        keyed = [(part(inner), index) for index, (inner, _) in enumerate(rounds(frame))]
        items = over(frame)
        try:
            keyed.sort(key=cmp_to_key(_in_order))
        except NoOverload:
            raise Failed("list elements must be comparable") from None
        return [items[index] for _, index in keyed]

    return ordered
