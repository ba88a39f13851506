"""What is wrong with a text that is not JSON, in the words of the Go library that the server reads JSON with.

Bodies are decoded by msgspec; only what it refuses is looked at again here, byte by byte, to find the words.
"""

from __future__ import annotations

_BLANKS = frozenset(b" \t\r\n")
_END = "unexpected end of JSON input"
_DEEPEST = 10000
_HEX = frozenset(b"0123456789abcdefABCDEF")
_ESCAPES = frozenset(b'bfnrt\\/"')
_WORDS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_DIGITS = frozenset(b"0123456789")
_VALUE = "looking for beginning of value"
_KEY = "looking for beginning of object key string"
_QUOTED = {"'": "'\\''", '"': "'\"'", "\n": "'\\n'", "\t": "'\\t'", "\r": "'\\r'", "\\": "'\\\\'"}
_HEAD = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_QUOTED |= {"\a": "'\\a'", "\b": "'\\b'", "\f": "'\\f'", "\v": "'\\v'"}


class _Wrong(Exception):
    """The first thing that is wrong."""


def problem(text: bytes) -> str:
    """The first mistake; empty when the text is JSON."""
    try:
        _Scan(text).whole()
    except _Wrong as wrong:
        return str(wrong)
    return ""


def not_an_object(value: object) -> str:
    """What Go says of a value in which it looks for what it is."""
    return f"json: cannot unmarshal {kind_of(value)} into Go value of type {_HEAD}"


def kind_of(value: object) -> str:
    """What Go calls a value of JSON."""
    if isinstance(value, bool):
        return "bool"
    kinds: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "number")


def _quoted(byte: int) -> str:
    sign = chr(byte)
    if sign in _QUOTED:
        return _QUOTED[sign]
    return f"'{sign}'" if sign.isprintable() else f"'\\x{byte:02x}'" if byte < 0x80 else f"'\\u{byte:04x}'"


class _Scan:
    """Goes through a text once; what is open is kept in a list, because texts may be nested deeper than calls."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0
        self._open: list[str] = []

    def _fail(self, where: str) -> _Wrong:
        """At the end of the text the library goes on with a blank, which only some places mind."""
        if self._at < len(self._text):
            return _Wrong(f"invalid character {_quoted(self._text[self._at])} {where}")
        if where.startswith(("in literal", "in numeric", "after decimal", "in exponent")):
            return _Wrong(f"invalid character ' ' {where}")
        return _Wrong(_END)

    def _next(self) -> int:
        """The next sign that is no blank; -1 at the end."""
        while self._at < len(self._text) and self._text[self._at] in _BLANKS:
            self._at += 1
        return self._text[self._at] if self._at < len(self._text) else -1

    def _here(self) -> int:
        return self._text[self._at] if self._at < len(self._text) else -1

    def whole(self) -> None:
        self._value()
        while self._open:
            self._after(self._open[-1])
        if self._next() != -1:
            raise self._fail("after top-level value")

    def _value(self) -> None:
        """Reads a value; of an array or object only its beginning, up to the first value in it."""
        while True:
            sign = self._next()
            if sign == ord("{"):
                self._enter("object")
                if self._next() == ord("}"):
                    self._leave()
                    return
                self._key()
            elif sign == ord("["):
                self._enter("array")
                if self._next() == ord("]"):
                    self._leave()
                    return
            else:
                self._plain(sign)
                return

    def _enter(self, kind: str) -> None:
        self._open.append(kind)
        if len(self._open) > _DEEPEST:
            raise self._fail("exceeded max depth")
        self._at += 1

    def _leave(self) -> None:
        self._at += 1
        self._open.pop()

    def _after(self, kind: str) -> None:
        """What follows a value inside an array or object."""
        sign = self._next()
        if sign == ord("]" if kind == "array" else "}"):
            self._leave()
        elif sign == ord(","):
            self._at += 1
            if kind == "object":
                self._key()
            self._value()
        else:
            raise self._fail("after array element" if kind == "array" else "after object key:value pair")

    def _key(self) -> None:
        if self._next() != ord('"'):
            raise self._fail(_KEY)
        self._string()
        if self._next() != ord(":"):
            raise self._fail("after object key")
        self._at += 1

    def _plain(self, sign: int) -> None:
        if sign == ord('"'):
            self._string()
        elif sign in _WORDS:
            self._word(_WORDS[sign])
        elif sign == ord("-") or sign in _DIGITS:
            self._number()
        else:
            raise self._fail(_VALUE)

    def _string(self) -> None:
        self._at += 1
        while (sign := self._here()) != ord('"'):
            if sign < ord(" "):
                raise self._fail("in string literal")
            self._at += 1
            if sign == ord("\\"):
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        sign = self._here()
        if sign != ord("u"):
            if sign not in _ESCAPES:
                raise self._fail("in string escape code")
            self._at += 1
            return
        self._at += 1
        for _ in range(4):
            if self._here() not in _HEX:
                raise self._fail("in \\u hexadecimal character escape")
            self._at += 1

    def _word(self, word: bytes) -> None:
        for expected in word:
            if self._here() != expected:
                raise self._fail(f"in literal {word.decode()} (expecting {_quoted(expected)})")
            self._at += 1

    def _number(self) -> None:
        if self._here() == ord("-"):
            self._at += 1
        if self._here() == ord("0"):
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._here() == ord("."):
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._here() in (ord("e"), ord("E")):
            self._at += 1
            if self._here() in (ord("+"), ord("-")):
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _digits(self, where: str) -> None:
        if self._here() not in _DIGITS:
            raise self._fail(where)
        while self._here() in _DIGITS:
            self._at += 1
