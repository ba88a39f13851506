"""The words of an expression in CEL: names, numbers, text in quotes, signs; and how a mistake is told."""

from __future__ import annotations

import re

from msgspec import Struct


class Mistake(Struct, frozen=True):
    """What is wrong, and at which character."""

    at: int
    text: str


class SyntaxMistakes(Exception):
    """Why a text is no expression."""

    def __init__(self, *mistakes: Mistake) -> None:
        super().__init__(*mistakes)
        self.mistakes = mistakes


def mistaken(at: int, text: str) -> SyntaxMistakes:
    return SyntaxMistakes(Mistake(at, text))


_ESCAPE_TEXT = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_STRING = (
    rf'[bB]?(?:"""(?:{_ESCAPE_TEXT}|[^\\])*?"""|'
    rf"'''(?:{_ESCAPE_TEXT}|[^\\])*?'''|"
    rf'"(?:{_ESCAPE_TEXT}|[^"\\\n\r])*"|'
    rf"'(?:{_ESCAPE_TEXT}|[^'\\\n\r])*')"
)
_RAW_STRING = r'[bB]?[rR][bB]?(?:"""[\s\S]*?"""|' + r"'''[\s\S]*?'''|" + r'"[^"\n\r]*"|' + r"'[^'\n\r]*')"
_TOKEN = re.compile(
    rf"(?P<skip>(?:\s+|//[^\n]*)+)|(?P<raw>{_RAW_STRING})|(?P<string>{_STRING})"
    r"|(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])|(?P<int>0x[0-9a-fA-F]+|\d+)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<escaped>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<sign>&&|\|\||<=|>=|==|!=|[<>+\-*/%!?:.,()\[\]{}])",
    re.DOTALL | re.ASCII,
)
_BROKEN = re.compile(
    rf"""["'](?:{_ESCAPE_TEXT}|[^\\\n\r])*(?:\\.?|[\n\r])?|[=&|].?|.""",
    re.DOTALL,
)
RESERVED = frozenset(
    (
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "namespace",
        "package",
        "return",
        "var",
        "void",
        "while",
    )
)
_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    **{sign: sign for sign in "\\'\"`?"},
}
_ESCAPE = re.compile(_ESCAPE_TEXT)


class Token(Struct, frozen=True):
    kind: str
    text: str
    at: int


def tokens(source: str, mistakes: list[Mistake]) -> list[Token]:
    """The words of a text; what is none is told and passed over."""
    found: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            broken = _BROKEN.match(source, at)
            text = broken[0] if broken else source[at]
            mistakes.append(Mistake(at, f"Syntax error: token recognition error at: '{text}'"))
            at += len(text)
            continue
        kind = str(match.lastgroup)
        if kind != "skip":
            found.append(Token(kind, match[0], at))
        at = match.end()
    return [*found, Token("end", "<EOF>", len(source))]


def text_of(token: Token) -> str | bytes:
    """The value of a literal in quotes."""
    text = token.text
    prefix = text[: len(text) - len(text.lstrip("bBrR"))].lower()
    body = text[len(prefix) :]
    width = 3 if body[:3] in ('"""', "'''") and len(body) > 5 else 1
    body = body[width:-width]
    if "b" not in prefix:
        return body if "r" in prefix else _ESCAPE.sub(lambda found: _unescaped(found[0]), body)
    return body.encode() if "r" in prefix else b"".join(_pieces(body))


def _unescaped(escape: str) -> str:
    kind = escape[1]
    if kind in _ESCAPES:
        return _ESCAPES[kind]
    digits, base = (escape[1:], 8) if kind in "0123" else (escape[2:], 16)
    return chr(int(digits, base))


def _pieces(body: str) -> list[bytes]:
    """Escapes in bytes stand for one byte each, but for those of letters."""
    pieces: list[bytes] = []
    last = 0
    for found in _ESCAPE.finditer(body):
        pieces.append(body[last : found.start()].encode())
        made = _unescaped(found[0])
        pieces.append(bytes([ord(made)]) if found[0][1] in "xX0123" else made.encode())
        last = found.end()
    return [*pieces, body[last:].encode()]
