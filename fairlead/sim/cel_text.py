"""The text of a rule against the schema it stands in: fields that there are, and the types of what it names.

The library is given values of unknown types, so that it cannot tell a misspelt field before a rule is evaluated. What
a rule names directly (`self.spec.size`) is therefore looked up here, and for the check of types becomes a variable of
the same length, so that the place of a mistake stays right. Items of lists and values of maps are not looked into.
"""

from __future__ import annotations

import re

from msgspec import Struct

from fairlead.sim.schema import Node

_STRINGS = (
    r'[bBrR]{0,2}(?:"""(?:\\.|[^\\])*?"""|'
    r"'''(?:\\.|[^\\])*?'''|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'(?:\\.|[^'\\\n])*')"
)
_CHAIN = r"(?<![\w.])(?:self|oldSelf)(?![\w(])(?:\.[A-Za-z_]\w*(?!\w|\s*\())*"
_TOKEN = re.compile(rf"(?P<skipped>{_STRINGS}|//[^\n]*)|(?P<has>\bhas\(\s*{_CHAIN}\s*\))|(?P<chain>{_CHAIN})")
_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|"
    "while"
)
_SIGNS = {"__": "__underscores__", "-": "__dash__", ".": "__dot__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|[-./]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEXT = Node(types=("string",))
_METADATA = Node(types=("object",), properties={"name": _TEXT, "generateName": _TEXT})
ROOT_FIELDS = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA}
"""What rules see of every whole object, whatever its schema says."""
_SIMPLE = {"boolean": "BOOL", "integer": "INT", "number": "DOUBLE"}
_FORMATS = {"byte": "BYTES", "date": "TIMESTAMP", "date-time": "TIMESTAMP", "duration": "DURATION"}
_MADE = {"date": "timestamp({} + 'T00:00:00Z')", "date-time": "timestamp({})", "duration": "duration({})"}
"""Times and lengths of time, of the text they are in JSON."""


class UndefinedField(Exception):
    """The text says which, with its place."""


class Text(Struct, frozen=True):
    """A rule as it is checked, with the types of its variables, and as it is evaluated."""

    checked: str
    variables: dict[str, str]
    evaluated: str
    uses_old: bool


def escaped(name: str) -> str:
    """How a rule names a field; empty where it cannot."""
    if _RESERVED.fullmatch(name):
        return f"__{name}__"
    made = _ESCAPED.sub(lambda sign: _SIGNS[sign[0]], name)
    return made if _NAME.fullmatch(made) else ""


def fields(node: Node, *, is_root: bool) -> dict[str, tuple[str, Node]]:
    """The fields that rules see of an object, by the name they have there: the name in JSON and the schema."""
    known = {**node.properties, **(ROOT_FIELDS if is_root else {})}
    named = ((escaped(name), name, each) for name, each in known.items())
    return {key: (name, each) for key, name, each in named if key and typed(each)}


def typed(node: Node) -> str:
    """The type that rules see, empty where there is none they could know."""
    if len(node.types) > 1:
        return "DYN"
    kind = node.types[0] if node.types else ""
    match kind:
        case "string":
            return _FORMATS.get(node.format, "STRING")
        case "array":
            inner = typed(node.items) if node.items is not None else ""
            return f"LIST<{inner}>" if inner else ""
        case "object" if node.rest is not None:
            inner = typed(node.rest)
            return f"MAP<{inner}>" if inner else ""
        case "object":
            return "DYN"
        case _:
            return _SIMPLE.get(kind, "")


def read(expression: str, node: Node, *, is_root: bool) -> Text:
    """The rule in the forms that are needed of it; raises UndefinedField."""
    variables = {"self": typed(node) or "DYN", "oldSelf": typed(node) or "DYN"}
    checked: list[str] = []
    evaluated: list[str] = []
    at, uses_old = 0, False
    for token in _TOKEN.finditer(expression):
        plain = expression[at : token.start()]
        at = token.end()
        whole = token[0]
        if token["skipped"]:
            forms = whole, whole
        else:
            uses_old = uses_old or "oldSelf" in re.findall(r"self|oldSelf", whole)
            forms = _forms(expression, token, node, variables, is_root)
        checked += [plain, forms[0]]
        evaluated += [plain, forms[1]]
    rest = expression[at:]
    return Text("".join([*checked, rest]), variables, "".join([*evaluated, rest]), uses_old)


def _forms(
    expression: str, token: re.Match[str], node: Node, variables: dict[str, str], is_root: bool
) -> tuple[str, str]:
    """What stands for a chain of fields where types are checked, and where it is evaluated."""
    whole = token[0]
    if token["has"]:
        start = whole.index("(") + 1
        chain = whole[start:-1]
        start += len(chain) - len(chain.lstrip())
        # The server points at the macro where its last field is unknown.
        place = token.start() + whole.index("(")
        _reached(expression, token.start() + start, chain.strip(), node, is_root, last=place)
        return "true".ljust(len(whole)), whole
    length, found = _reached(expression, token.start(), whole, node, is_root)
    seen, rest = whole[:length], whole[length:]
    name = seen.replace(".", "_")
    kind = typed(found) or "DYN"
    variables[name] = "DYN" if variables.get(name, kind) != kind or found.nullable else kind
    made = _MADE.get(found.format, "{}") if found.types == ("string",) else "{}"
    return name + rest, made.format(seen) + rest


def _reached(
    expression: str, start: int, chain: str, node: Node, is_root: bool, last: int | None = None
) -> tuple[int, Node]:
    """The length of the chain up to the last field that the schema knows, and that field's schema."""
    variable, *names = chain.split(".")
    length = len(variable)
    for index, name in enumerate(names, 1):
        if node.types != ("object",) or node.rest is not None:
            break
        known = fields(node, is_root=is_root).get(name)
        if known is None:
            at = start + length if last is None or index < len(names) else last
            raise UndefinedField(_mistake(expression, at, f"undefined field '{name}'"))
        node, is_root = known[1], known[1].embedded
        length += len(name) + 1
    return length, node


def _mistake(expression: str, at: int, text: str) -> str:
    """As the server points at a place."""
    before = expression[:at]
    line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1)
    source = expression.split("\n")[line - 1]
    return f"ERROR: <input>:{line}:{column + 1}: {text}\n | {source}\n | {'.' * column}^"
