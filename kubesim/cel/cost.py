"""What an expression of a schema costs at most, estimated before there are values.

Units, weights and shortcuts are those of the server, which refuses rules that might take too long. A loop costs what
its body costs, times the most items that the schema allows; text costs by its length. Where nothing bounds a size, it
is as large as a number can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from kubesim.cel.calls import Argument, Estimate, call_estimate
from kubesim.cel.check import Found
from kubesim.cel.sizes import ONE, UNKNOWN, Size, Sizes, capped
from kubesim.cel.syntax import Call, Expr, Ident, Literal, Loop, MakeList, MakeMap, Select
from kubesim.cel.types import ERROR, Overload, Type
from kubesim.cel.values import TypeName

_NAME = _FIELD = _CALL = 1
_NEW_LIST, _NEW_MAP = 10, 30
_ADDED_ITEM = _CALL + _NAME + _NEW_LIST
"""The result so far plus a list of one."""
_SCALARS = ("bool", "int", "uint", "double", "google.protobuf.Timestamp", "google.protobuf.Duration")


class _Path(Struct, frozen=True):
    """Steps from a variable to a value, kept as the server keeps them.

    One that goes on from another shares its steps as long as there is room for more, so that a second one that goes on
    from there takes the place of the first. Some rules cost less than they should because of that, on the server too.
    """

    room: list[str] = []
    length: int = 0

    def __truediv__(self, step: str) -> _Path:
        room = self.room
        if self.length == len(room):
            room = [*room, *[""] * max(self.length, 1)]
        room[self.length] = step
        return _Path(room, self.length + 1)

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self.room[: self.length])


_NOWHERE = _Path()


class _Entries(Struct, frozen=True):
    """Sizes of what is in a list or map."""

    is_list: bool
    keys: Size
    values: Size

    def __or__(self, other: _Entries) -> _Entries:
        return _Entries(self.is_list, self.keys | other.keys, self.values | other.values)


class _Local(Struct, frozen=True):
    """A variable of a macro."""

    path: _Path
    size: Size | None = None
    entries: _Entries | None = None


def cost_of(expression: Expr, found: Found, sizes: Sizes) -> int:
    """The most that one evaluation costs; `sizes` are those of `self`."""
    return _Coster(found, sizes).cost(expression)


class _Coster:
    def __init__(self, found: Found, sizes: Sizes) -> None:
        self._found = found
        self._known = sizes
        self._locals: dict[str, _Local] = {}
        self._paths: dict[int, _Path] = {}
        self._sizes: dict[int, Size] = {}
        self._entries: dict[int, _Entries] = {}

    def cost(self, expression: Expr) -> int:
        match expression:
            case Literal() if isinstance(expression.value, TypeName):
                self._paths[id(expression)] = _NOWHERE / expression.value.name
                return _NAME
            case Literal():
                return 0
            case Ident():
                local = self._locals.get(expression.name)
                self._paths[id(expression)] = local.path if local else _NOWHERE / expression.name
                return _NAME
            case Select():
                return self._select(expression)
            case Call():
                return self._call(expression)
            case MakeList():
                return self._list(expression)
            case MakeMap():
                return self._map(expression)
            case Loop():
                return self._loop(expression)
            case _:
                raise TypeError(expression)

    # Sizes

    def _type(self, expression: Expr) -> Type:
        return self._found.types.get(id(expression), ERROR)

    def _path(self, expression: Expr) -> _Path:
        return self._paths.get(id(expression), _NOWHERE)

    def _size(self, expression: Expr) -> Size | None:
        found = self._sizes.get(id(expression)) or _written_size(expression)
        if found is not None:
            return found
        found = self._known.at(self._path(expression).steps)
        if found is not None:
            self._sizes[id(expression)] = found
            return found
        if _is_scalar(self._type(expression)):
            return ONE
        local = self._locals.get(expression.name) if isinstance(expression, Ident) else None
        return local.size if local else None

    def _size_or_unknown(self, expression: Expr) -> Size:
        found = self._size(expression)
        return UNKNOWN if found is None else found

    def _entries_of(self, expression: Expr) -> _Entries | None:
        found = self._entries.get(id(expression))
        local = self._locals.get(expression.name) if isinstance(expression, Ident) else None
        return local.entries if found is None and local else found

    def _keep(self, expression: Expr, size: Size | None, entries: _Entries | None = None) -> None:
        if size is not None:
            self._sizes[id(expression)] = size
        if entries is not None:
            self._entries[id(expression)] = entries

    # Fields, lists and maps

    def _select(self, expression: Select) -> int:
        cost = self.cost(expression.operand)
        if expression.is_test:
            return cost
        if expression.is_optional:
            return capped(cost + _CALL)
        self._paths[id(expression)] = self._path(expression.operand) / expression.field
        kind = self._type(expression.operand)
        return capped(cost + _FIELD) if kind.name == "map" or kind.fields is not None else cost

    def _list(self, expression: MakeList) -> int:
        cost = capped(sum(self.cost(item) for item, _ in expression.items) + _NEW_LIST)
        values = _united([self._size_or_unknown(item) for item, _ in expression.items])
        self._keep(expression, None, _Entries(True, ONE, values))
        return cost

    def _map(self, expression: MakeMap) -> int:
        cost = capped(sum(self.cost(key) + self.cost(value) for key, value, _ in expression.entries) + _NEW_MAP)
        keys = _united([self._size_or_unknown(key) for key, _, _ in expression.entries])
        values = _united([self._size_or_unknown(value) for _, value, _ in expression.entries])
        self._keep(expression, None, _Entries(False, keys, values))
        return cost

    # Calls

    def _call(self, expression: Call) -> int:
        costs, sizes = self._arguments(expression)
        match expression.function:
            case "dyn":
                self._keep(expression, self._size(expression.args[0]), self._entries_of(expression.args[0]))
                return capped(costs[0] + _CALL)
            case "_?_:_":
                return self._conditional(expression, costs)
            case "_&&_" | "_||_":
                return capped(sum(costs))
        args = [
            Argument(self._type(each), self._path(each).steps, size, _number(each))
            for each, size in zip(expression.args, sizes, strict=True)
        ]
        known = self._known.at
        overloads = self._found.overloads.get(id(expression), [])
        estimates = [call_estimate(expression.function, each, args, known) for each in overloads]
        size = self._result_size(expression, overloads, estimates)
        self._keep(expression, self._size(expression) if size is None else size)
        return capped(sum(costs) + max((each.cost for each in estimates), default=0))

    def _arguments(self, expression: Call) -> tuple[list[int], list[Size | None]]:
        """Costs and sizes; what a function is called on comes last, as on the server."""
        costs, sizes = [], []
        first = 1 if expression.is_member else 0
        for each in (*expression.args[first:], *expression.args[:first]):
            costs.append(self.cost(each))
            sizes.append(self._size(each))
        turned = len(costs) - first
        return costs[turned:] + costs[:turned], sizes[turned:] + sizes[:turned]

    def _conditional(self, expression: Call, costs: Sequence[int]) -> int:
        _, then, otherwise = expression.args
        size = self._size_or_unknown(then) | self._size_or_unknown(otherwise)
        both = self._entries_of(then), self._entries_of(otherwise)
        self._keep(expression, size, both[0] | both[1] if both[0] and both[1] else None)
        return capped(costs[0] + max(costs[1:]))

    def _result_size(
        self, expression: Call, overloads: Sequence[Overload], estimates: Sequence[Estimate]
    ) -> Size | None:
        """The size of what a call answers with, as far as the call itself tells."""
        found = [each.size for each in estimates if each.size is not None]
        size = _united(found) if found else None
        taken = [each.takes[0].name for each in overloads if each.takes]
        if expression.function == "_+_" and any(name in ("string", "bytes", "list") for name in taken):
            left, right = map(self._entries_of, expression.args)
            self._keep(expression, None, left | right if left and right else None)
        if expression.function == "_[_]":
            for name in taken:
                if name in ("list", "map"):
                    step = "@items" if name == "list" else "@values"
                    self._paths[id(expression)] = self._path(expression.args[0]) / step
                    entries = self._entries_of(expression.args[0])
                    size = entries.values if entries else None
        return size

    # Macros

    def _loop(self, expression: Loop) -> int:
        match expression.macro:
            case "optMap" | "optFlatMap":
                return self._of_optional(expression)
            case "sortBy":
                return self._sorted(expression)
        over = expression.over
        cost = self.cost(over)
        makes_list = expression.macro in ("map", "filter", "transformList")
        makes_map = expression.macro.startswith("transformMap")
        begun = _NEW_LIST if makes_list else _NEW_MAP if makes_map else 0
        with self._iterating(expression):
            each = self._body(expression)
            values = self._made(expression)
        times = self._size_or_unknown(over)
        if makes_list:
            self._keep(expression, times, _Entries(True, ONE, Size(0, values.high)))
        else:
            self._keep(expression, times if makes_map else ONE)
        ended = _CALL + _NAME if expression.macro in ("exists_one", "existsOne") else _NAME
        return capped(cost + begun + ended + times.high * each)

    def _body(self, expression: Loop) -> int:
        """One time round: the test whether to go on, and the step."""
        parts = [self.cost(part) for part in expression.parts]
        match expression.macro:
            case "all":
                return capped(parts[0] + _NAME + _CALL + _NAME)
            case "exists":
                return capped(parts[0] + _NAME + _CALL + _CALL + _NAME)
            case "exists_one" | "existsOne":
                return capped(parts[0] + _CALL + _NAME)
            case "filter":
                return capped(parts[0] + _ADDED_ITEM + _NAME)
            case "map" | "transformList":
                return capped(sum(parts) + _ADDED_ITEM)
            case "transformMap":
                return capped(sum(parts) + _CALL + _NAME + _NAME)
            case _:
                return capped(sum(parts) + _CALL + _NAME)

    def _made(self, expression: Loop) -> Size:
        """Sizes of the items that a loop makes, while its variables are known."""
        if expression.macro == "filter":
            item = Ident(expression.at, expression.names[0])
            self._found.types[id(item)] = self._item_type(expression.over)
            self.cost(item)
            size = self._size_or_unknown(item)
            del self._found.types[id(item)], self._paths[id(item)]
            return size
        return self._size_or_unknown(expression.parts[-1])

    def _item_type(self, over: Expr) -> Type:
        kind = self._type(over)
        return kind.params[0] if kind.params else ERROR

    @contextmanager
    def _iterating(self, expression: Loop) -> Iterator[None]:
        entries, path = self._entries_of(expression.over), self._path(expression.over)
        is_list = entries.is_list if entries else self._type(expression.over).name == "list"
        chosen: dict[str, _Local] = {}
        two = len(expression.names) > 1
        if two or not is_list:
            step = "@indices" if is_list else "@keys"
            chosen[expression.names[0]] = _Local(path / step, entries.keys if entries else None)
        if two or is_list:
            step = "@items" if is_list else "@values"
            chosen[expression.names[-1]] = _Local(path / step, entries.values if entries else None)
        with self._with(chosen):
            yield

    @contextmanager
    def _with(self, chosen: dict[str, _Local]) -> Iterator[None]:
        before = self._locals
        self._locals = {**before, **chosen}
        try:
            yield
        finally:
            self._locals = before

    def _of_optional(self, expression: Loop) -> int:
        """`o.hasValue() ? optional.of(f(o.value())) : optional.none()`, where the value gets a name."""
        over, (part,) = expression.over, expression.parts
        cost = self.cost(over)
        kind = self._type(over)
        scalar = kind.name == "optional_type" and _is_scalar(kind.params[0])
        with self._with({expression.names[0]: _Local(_NOWHERE, ONE if scalar else None)}):
            body = self.cost(part)
        wrapped = _CALL if expression.macro == "optMap" else 0
        self._keep(expression, ONE if _is_scalar(self._type(expression)) else UNKNOWN)
        return capped(cost + _CALL + _NEW_LIST + cost + _CALL + body + wrapped)

    def _sorted(self, expression: Loop) -> int:
        """The list gets a name, another of what it is sorted by is made, and both are sorted together."""
        over, (part,) = expression.over, expression.parts
        cost = self.cost(over)
        times = self._size_or_unknown(over)
        with self._iterating(expression):
            body = self.cost(part)
        compared = 2.1 if self._type(part).name in ("string", "bytes", "dyn") else 2.0
        estimate = Estimate.of_list(times * times, compared)
        self._keep(expression, estimate.size)
        mapped = _NAME + _NEW_LIST + _NAME + times.high * capped(body + _ADDED_ITEM)
        return capped(cost + _NEW_LIST + _NAME + mapped + estimate.cost)


def _united(sizes: Sequence[Size]) -> Size:
    if not sizes:
        return Size(0, 0)
    united = sizes[0]
    for each in sizes[1:]:
        united |= each
    return united


def _written_size(expression: Expr) -> Size | None:
    """The size of what stands in the expression itself."""
    match expression:
        case Literal(value=str() | bytes() as text):
            return Size(len(text), len(text))
        case Literal(value=TypeName()):
            return None
        case Literal():
            return ONE
        case MakeList(items=items):
            return Size(len(items), len(items))
        case MakeMap(entries=entries):
            return Size(len(entries), len(entries))
        case _:
            return None


def _is_scalar(kind: Type) -> bool:
    return kind.name in _SCALARS or (kind.name == "optional_type" and _is_scalar(kind.params[0]))


def _number(expression: Expr) -> int | None:
    value = expression.value if isinstance(expression, Literal) else None
    return value if type(value) is int and value >= 0 else None
