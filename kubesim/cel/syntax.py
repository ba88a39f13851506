"""The text of an expression in CEL as a tree: words, operators by their strength, macros.

Every node knows where it stands, by the place that the server points at in its complaints: a call at its bracket, a
field at its dot, an operator at itself. Macros are nodes of their own instead of the loops they stand for.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kubesim.cel.values import Uint
from kubesim.cel.words import RESERVED, Mistake, SyntaxMistakes, Token, mistaken, text_of, tokens


class Expr(Struct):
    at: int


class Literal(Expr):
    value: Any


class Ident(Expr):
    name: str


class Select(Expr):
    operand: Expr
    field: str
    is_test: bool = False
    """Whether the field is there (`has`)."""
    is_optional: bool = False


class Call(Expr):
    function: str
    args: list[Expr]
    is_member: bool = False
    """The first argument is what the function is called on."""


class MakeList(Expr):
    items: list[tuple[Expr, bool]]
    """With whether it is left out when it is an empty optional."""


class MakeMap(Expr):
    entries: list[tuple[Expr, Expr, bool]]


class MakeMessage(Expr):
    name: str


class Loop(Expr):
    """A macro: over what, the names of one or two variables, and the expressions that are evaluated for each."""

    macro: str
    over: Expr
    names: tuple[str, ...]
    parts: list[Expr]


_LITERALS = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
_STARTS = f"{{'[', '{{', '(', '.', '-', '!', {_LITERALS}"
_STARTS_OF_INDEX = f"{{'[', '{{', '(', '.', '-', '!', '?', {_LITERALS}"
_STARTS_OF_LIST = f"{{'[', ']', '{{', '(', '.', ',', '-', '!', '?', {_LITERALS}"
_STARTS_OF_MAP = f"{{'[', '{{', '}}', '(', '.', ',', '-', '!', '?', {_LITERALS}"
_STARTS_OF_ARGUMENTS = f"{{'[', '{{', '(', ')', '.', '-', '!', {_LITERALS}"
_CONSTANTS = {"true": True, "false": False, "null": None}
_RELATIONS = {"<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_", "in": "@in"}
_SUMS = {"+": "_+_", "-": "_-_"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}
_LARGEST = 2**63
_ONE, _TWO = 1, 2
# By name and how many arguments: how many variables a macro has.
_MACROS = {
    ("all", 2): _ONE,
    ("exists", 2): _ONE,
    ("exists_one", 2): _ONE,
    ("existsOne", 2): _ONE,
    ("map", 2): _ONE,
    ("map", 3): _ONE,
    ("filter", 2): _ONE,
    ("sortBy", 2): _ONE,
    ("optMap", 2): _ONE,
    ("optFlatMap", 2): _ONE,
    ("all", 3): _TWO,
    ("exists", 3): _TWO,
    ("exists_one", 3): _TWO,
    ("existsOne", 3): _TWO,
    ("transformList", 3): _TWO,
    ("transformList", 4): _TWO,
    ("transformMap", 3): _TWO,
    ("transformMap", 4): _TWO,
    ("transformMapEntry", 3): _TWO,
    ("transformMapEntry", 4): _TWO,
}


def parsed(source: str) -> Expr:
    """The expression as a tree; raises SyntaxMistakes."""
    mistakes: list[Mistake] = []
    parser = _Parser(tokens(source, mistakes))
    try:
        expression = parser.expression()
        parser.finish()
    except SyntaxMistakes as found:
        raise SyntaxMistakes(*mistakes, *found.mistakes) from None
    if mistakes:
        raise SyntaxMistakes(*mistakes)
    return expression


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._token
        self._next += 1
        return token

    def _is(self, text: str) -> bool:
        token = self._token
        return token.text == text and token.kind in ("sign", "name")

    def _took(self, text: str) -> bool:
        if self._is(text):
            self._next += 1
            return True
        return False

    def _expect(self, text: str) -> Token:
        if not self._is(text):
            token = self._token
            if text == ":" and token.kind == "end":
                raise self._mistake("expecting ':'")
            if token.kind == "end" or text == ":":
                raise mistaken(token.at, f"Syntax error: missing '{text}' at '{token.text}'")
            raise self._mistake(f"expecting '{text}'")
        return self._take()

    def _comma(self, closing: str) -> None:
        """What stands between two items, where it is not the end of them."""
        if self._is(closing) or self._took(","):
            return
        raise self._mistake(f"expecting {{'{closing}', ','}}")

    def _mistake(self, expected: str) -> SyntaxMistakes:
        token = self._token
        word = "mismatched" if token.kind == "end" else "extraneous"
        return mistaken(token.at, f"Syntax error: {word} input '{token.text}' {expected}")

    def _not_over(self, expected: str) -> None:
        """Where the text ends after an opening bracket, more might follow than elsewhere."""
        if self._token.kind == "end":
            raise self._mistake(f"expecting {expected}")

    def finish(self) -> None:
        if self._token.kind != "end":
            raise self._mistake("expecting <EOF>")

    # Operators, the weakest first

    def expression(self) -> Expr:
        condition = self._either()
        if not self._is("?"):
            return condition
        at = self._take().at
        then = self._either()
        self._expect(":")
        return Call(at, "_?_:_", [condition, then, self.expression()])

    def _either(self) -> Expr:
        left = self._both()
        while self._is("||"):
            left = Call(self._take().at, "_||_", [left, self._both()])
        return left

    def _both(self) -> Expr:
        left = self._relation()
        while self._is("&&"):
            left = Call(self._take().at, "_&&_", [left, self._relation()])
        return left

    def _relation(self) -> Expr:
        left = self._sum()
        while self._token.text in _RELATIONS and self._token.kind in ("sign", "name"):
            token = self._take()
            left = Call(token.at, _RELATIONS[token.text], [left, self._sum()])
        return left

    def _sum(self) -> Expr:
        left = self._product()
        while self._token.text in _SUMS and self._token.kind == "sign":
            token = self._take()
            left = Call(token.at, _SUMS[token.text], [left, self._product()])
        return left

    def _product(self) -> Expr:
        left = self._unary()
        while self._token.text in _PRODUCTS and self._token.kind == "sign":
            token = self._take()
            left = Call(token.at, _PRODUCTS[token.text], [left, self._unary()])
        return left

    def _unary(self) -> Expr:
        for sign, function in (("!", "!_"), ("-", "-_")):
            if not self._is(sign):
                continue
            at, count = self._token.at, 0
            while self._took(sign):
                count += 1
            if sign == "-" and count == 1 and self._token.kind in ("int", "float"):
                return self._member(self._number(at, negative=True))
            operand = self._member(self._primary())
            return Call(at, function, [operand]) if count % 2 else operand
        return self._member(self._primary())

    # What operators stand between

    def _member(self, left: Expr) -> Expr:
        while True:
            if self._is("."):
                left = self._selected(left, self._take().at)
            elif self._is("["):
                at = self._take().at
                self._not_over(_STARTS_OF_INDEX)
                function = "_[?_]" if self._took("?") else "_[_]"
                left = Call(at, function, [left, self.expression()])
                self._expect("]")
            elif self._is("{") and dotted(left):
                at = self._take().at
                while not self._took("}"):
                    if self._take().kind == "end":
                        self._next -= 1
                        raise self._mistake("expecting '}'")
                left = MakeMessage(at, dotted(left))
            else:
                return left

    def _selected(self, left: Expr, at: int) -> Expr:
        is_optional = self._took("?")
        token = self._token
        if token.kind not in ("name", "escaped") or token.text in (*_CONSTANTS, "in"):
            raise mistaken(
                token.at, f"Syntax error: no viable alternative at input '.{token.text.replace('<EOF>', '')}'"
            )
        self._take()
        if token.kind == "escaped":
            raise mistaken(token.at, "unsupported syntax: '`'")
        name = token.text
        if not is_optional and self._is("("):
            opened = self._take().at
            return self._called(left, name, opened, self._arguments())
        return Select(at, left, name, is_optional=is_optional)

    def _called(self, target: Expr, name: str, at: int, args: list[Expr]) -> Expr:
        count = _MACROS.get((name, len(args)))
        if count is None:
            return Call(at, name, [target, *args], is_member=True)
        names: list[str] = []
        for each in args[:count]:
            if not isinstance(each, Ident):
                raise mistaken(each.at, "argument must be a simple name")
            names.append(each.name)
        return Loop(at, name, target, tuple(names), args[count:])

    def _arguments(self) -> list[Expr]:
        self._not_over(_STARTS_OF_ARGUMENTS)
        if self._took(")"):
            return []
        if self._is(","):
            raise self._mistake(f"expecting {_STARTS_OF_ARGUMENTS}")
        args = [self.expression()]
        while self._took(","):
            args.append(self.expression())
        self._expect(")")
        return args

    def _primary(self) -> Expr:
        token = self._take()
        match token.kind:
            case "int" | "uint" | "float":
                self._next -= 1
                return self._number(token.at, negative=False)
            case "string" | "raw":
                return Literal(token.at, text_of(token))
            case "name" if token.text in _CONSTANTS:
                return Literal(token.at, _CONSTANTS[token.text])
            case "name" if token.text != "in":
                return self._named(token, token.text)
            case "sign" if token.text == "(":
                inner = self.expression()
                self._expect(")")
                return inner
            case "sign" if token.text == "[":
                return MakeList(token.at, self._items())
            case "sign" if token.text == "{":
                return MakeMap(token.at, self._entries())
            case "sign" if token.text == "." and self._token.kind == "name":
                token = self._take()
                return self._named(token, token.text)
            case _:
                self._next -= 1
                if token.text == ")":
                    raise mistaken(token.at, f"Syntax error: mismatched input ')' expecting {_STARTS}")
                raise self._mistake(f"expecting {_STARTS}")

    def _named(self, token: Token, name: str) -> Expr:
        if name in RESERVED:
            raise mistaken(token.at, f"reserved identifier: {name}")
        if not self._is("("):
            return Ident(token.at, name)
        at = self._take().at
        args = self._arguments()
        if name == "has" and len(args) == 1:
            operand = args[0]
            if not isinstance(operand, Select) or operand.is_optional or operand.is_test:
                raise mistaken(operand.at, "invalid argument to has() macro")
            return Select(at, operand.operand, operand.field, is_test=True)
        return Call(at, name, args)

    def _items(self) -> list[tuple[Expr, bool]]:
        items: list[tuple[Expr, bool]] = []
        self._not_over(_STARTS_OF_LIST)
        if self._took(","):
            self._expect("]")
            return items
        while not self._took("]"):
            is_optional = self._took("?")
            items.append((self.expression(), is_optional))
            self._comma("]")
        return items

    def _entries(self) -> list[tuple[Expr, Expr, bool]]:
        entries: list[tuple[Expr, Expr, bool]] = []
        self._not_over(_STARTS_OF_MAP)
        if self._took(","):
            self._expect("}")
            return entries
        while not self._took("}"):
            is_optional = self._took("?")
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression(), is_optional))
            self._comma("}")
        return entries

    def _number(self, at: int, *, negative: bool) -> Literal:
        token = self._take()
        sign = -1 if negative else 1
        if token.kind == "float":
            return Literal(at, sign * float(token.text))
        digits = token.text.rstrip("uU")
        value = sign * int(digits, 16 if digits.startswith("0x") else 10)
        if token.kind == "uint":
            if value >= 2 * _LARGEST:
                raise mistaken(at, "invalid uint literal")
            return Literal(at, Uint(value))
        if not -_LARGEST <= value < _LARGEST:
            raise mistaken(at, "invalid int literal")
        return Literal(at, value)


def dotted(expression: Expr) -> str:
    """`a.b.c`, where the expression is nothing but that; else empty."""
    if isinstance(expression, Ident):
        return expression.name
    if isinstance(expression, Select) and not (expression.is_test or expression.is_optional):
        outer = dotted(expression.operand)
        return f"{outer}.{expression.field}" if outer else ""
    return ""


def named(expression: Expr) -> set[str]:
    """Names in an expression that stand for variables."""
    match expression:
        case Ident():
            return {expression.name}
        case Select():
            return named(expression.operand)
        case Call():
            return set().union(*map(named, expression.args))
        case MakeList():
            return set().union(*(named(each) for each, _ in expression.items))
        case MakeMap():
            return set().union(*(named(key) | named(value) for key, value, _ in expression.entries))
        case Loop():
            return named(expression.over) | set().union(*map(named, expression.parts)) - set(expression.names)
        case _:
            return set()
