"""Rules in CEL, values, and what the API server says of them.

Each case is a property of its own: its schema, and values that are tried in it, alone (`[value]`) or as a change
(`[old, new]`), with the causes of the answer; none means that it is taken.
"""

from __future__ import annotations

import json
from typing import Any

Tree = dict[str, Any]
Cause = tuple[str, str]
"""Where below the case (empty: at it), and the message."""

NUMBER: Tree = {"type": "integer"}
TEXT: Tree = {"type": "string", "maxLength": 100}
TEXTS: Tree = {"type": "array", "maxItems": 10, "items": TEXT}


def ruled(schema: Tree, *rules: str | Tree) -> Tree:
    return schema | {"x-kubernetes-validations": [{"rule": each} if isinstance(each, str) else each for each in rules]}


def an_object(*rules: str | Tree, **properties: Tree) -> Tree:
    return ruled({"type": "object", "properties": properties}, *rules)


def broken(rule: str) -> list[Cause]:
    return [("", f"Invalid value: failed rule: {rule}")]


def broken_by(value: object, rule: str) -> list[Cause]:
    """The same for a rule about a value that is shown."""
    return [("", f"Invalid value: {json.dumps(value)}: failed rule: {rule}")]


_PAIR = "self.least <= self.most"
_AMOUNT = "!isQuantity(self) || quantity(self).isGreaterThan(quantity('500Mi'))"
_ADDRESS = "isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname() == 'h'"
_INSIDE = "isIP(self) && cidr('10.0.0.0/8').containsIP(self)"
_EARLIER = "semver(self).isLessThan(semver('1.3.0'))"
_LOWER = "self.lowerAscii() == self && self.trim() == self"
_EITHER = "type(self.x) == int ? self.x < 5 : self.x == 'half'"
_LATER = "self.until > self.since && self.pause < duration('1h')"
_OLD = "self == oldSelf"
_KEYED: Tree = {
    "type": "array",
    "maxItems": 10,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
_ITEM: Tree = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "size": NUMBER}}
_OPTIONAL = {"rule": "oldSelf.hasValue() || self > 3", "optionalOldSelf": True, "message": "must begin above three"}
_SHOUT = {"rule": "self.size() < 4", "messageExpression": "self + ' is too long'"}

CASES: dict[str, tuple[Tree, list[tuple[list[Any], list[Cause]]]]] = {
    "pair": (
        an_object(_PAIR, least=NUMBER, most=NUMBER),
        [
            ([{"least": 1, "most": 2}], []),
            ([{"least": 3, "most": 2}], broken(_PAIR)),
            ([{"least": 3}], [("", f'Invalid value: "object": no such key: most evaluating rule: {_PAIR}')]),
        ],
    ),
    "message": (
        ruled(NUMBER, {"rule": "self > 0", "message": " must be positive "}),
        [([1], []), ([0], [("", "Invalid value: 0: must be positive")])],
    ),
    "expression": (
        ruled(TEXT, _SHOUT),
        [(["abc"], []), (["abcd"], [("", 'Invalid value: "abcd": abcd is too long')])],
    ),
    "brokenexpression": (
        ruled(TEXT, {"rule": "self == 'a'", "messageExpression": "'x'.substring(5)", "message": "must be a"}),
        [(["b"], [("", 'Invalid value: "b": must be a')])],
    ),
    "reason": (
        ruled(
            TEXT,
            {"rule": "self != 'no'", "reason": "FieldValueForbidden", "message": "not this"},
            {"rule": "self != 'no'", "reason": "FieldValueRequired", "message": "that"},
            {"rule": "self != 'no'", "reason": "FieldValueDuplicate"},
        ),
        [
            (["yes"], []),
            (["no"], [("", "Forbidden: not this"), ("", "Required value: that"), ("", 'Duplicate value: "no"')]),
        ],
    ),
    "fieldpath": (
        an_object({"rule": "self.a < 3", "fieldPath": ".a", "message": "too large"}, a=NUMBER),
        [([{"a": 5}], [(".a", "Invalid value: too large")])],
    ),
    "frozen": (
        ruled(TEXT, _OLD),
        [(["a"], []), (["a", "a"], []), (["a", "b"], broken_by("b", _OLD))],
    ),
    "optional": (
        ruled(NUMBER, _OPTIONAL),
        [([5], []), ([1], [("", "Invalid value: 1: must begin above three")]), ([5, 1], [])],
    ),
    "identity": (
        an_object(
            {
                "rule": "oldSelf.id == '00000000-0000-0000-0000-000000000000' || self.id == oldSelf.id",
                "message": "id is immutable",
            },
            id=TEXT,
        ),
        [
            ([{"id": "00000000-0000-0000-0000-000000000000"}, {"id": "x"}], []),
            ([{"id": "x"}, {"id": "y"}], [("", "Invalid value: id is immutable")]),
        ],
    ),
    "keyed": (
        _KEYED | {"items": an_object("self.size >= oldSelf.size") | {k: v for k, v in _ITEM.items() if k != "type"}},
        [
            ([[{"name": "a", "size": 1}], [{"name": "b", "size": 0}, {"name": "a", "size": 2}]], []),
            (
                [[{"name": "a", "size": 1}], [{"name": "b", "size": 0}, {"name": "a", "size": 0}]],
                [("[1]", "Invalid value: failed rule: self.size >= oldSelf.size")],
            ),
        ],
    ),
    "values": (
        {"type": "object", "maxProperties": 5, "additionalProperties": ruled(NUMBER, "self < 5", "self >= oldSelf")},
        [
            ([{"a": 1, "b": 9}], [("[b]", "Invalid value: 9: failed rule: self < 5")]),
            ([{"a": 3}, {"a": 2, "b": 1}], [("[a]", "Invalid value: 2: failed rule: self >= oldSelf")]),
        ],
    ),
    "unchanged": (
        an_object("self.a != 1 || self.b == 1", a=NUMBER, b=NUMBER),
        [([{"a": 1, "b": 1}, {"a": 1, "b": 2}], broken("self.a != 1 || self.b == 1"))],
    ),
    "has": (
        an_object("has(self.a) != has(self.b)", a=NUMBER, b=NUMBER),
        [([{"a": 1}], []), ([{}], broken("has(self.a) != has(self.b)"))],
    ),
    "maybe": (
        an_object("self.?a.orValue(5) == 5", a=NUMBER),
        [([{}], []), ([{"a": 4}], broken("self.?a.orValue(5) == 5"))],
    ),
    "reserved": (
        an_object("self.__namespace__ == self.x__dash__y", **{"namespace": TEXT, "x-y": TEXT}),
        [
            ([{"namespace": "a", "x-y": "a"}], []),
            ([{"namespace": "a", "x-y": "b"}], broken("self.__namespace__ == self.x__dash__y")),
        ],
    ),
    "macros": (
        ruled(
            TEXTS, "self.all(x, x.startsWith('a'))", "self.exists_one(x, x == 'ab')", "self.map(x, x.size()).sum() < 6"
        ),
        [
            ([["ab", "ac"]], []),
            ([["ab", "b"]], broken("self.all(x, x.startsWith('a'))")),
            ([["ab", "ac", "ad"]], broken("self.map(x, x.size()).sum() < 6")),
        ],
    ),
    "filter": (
        ruled(TEXTS, "self.filter(x, x.matches('^[a-z]+$')).size() == size(self)", "self.isSorted()"),
        [([["a", "b"]], []), ([["b", "a"]], broken("self.isSorted()"))],
    ),
    "strings": (
        ruled(
            TEXT,
            _LOWER,
            "self.split('-').size() == 2 && self.indexOf('-') > 0",
            "self.replace('-', '+').contains('+') && self.substring(0, 1) != '-'",
        ),
        [
            (["a-b"], []),
            (["A-b"], broken_by("A-b", _LOWER)),
        ],
    ),
    "regex": (
        ruled(TEXT, "self.find('[0-9]+') == '42'", "self.findAll('[0-9]').size() == 2"),
        [(["a42b"], []), (["a4b2"], broken_by("a4b2", "self.find('[0-9]+') == '42'"))],
    ),
    "quantity": (
        ruled(TEXT, _AMOUNT),
        [
            (["1Gi"], []),
            (["x"], []),
            (
                ["1M"],
                broken_by("1M", _AMOUNT),
            ),
        ],
    ),
    "url": (
        ruled(TEXT, _ADDRESS),
        [
            (["https://h:80/p"], []),
            (
                ["h"],
                broken_by("h", _ADDRESS),
            ),
        ],
    ),
    "network": (
        ruled(TEXT, _INSIDE),
        [
            (["10.1.2.3"], []),
            (
                ["11.1.2.3"],
                broken_by("11.1.2.3", _INSIDE),
            ),
        ],
    ),
    "version": (
        ruled(TEXT, _EARLIER),
        [
            (["1.2.9"], []),
            (["1.3.0-rc.1"], []),
            (["1.3.0"], broken_by("1.3.0", _EARLIER)),
        ],
    ),
    "sets": (
        ruled(TEXTS, "sets.contains(self, ['a'])"),
        [([["b", "a"]], []), ([["b"]], broken("sets.contains(self, ['a'])"))],
    ),
    "either": (
        an_object(_EITHER, x={"x-kubernetes-int-or-string": True}),
        [
            ([{"x": 3}], []),
            ([{"x": "half"}], []),
            ([{"x": "whole"}], broken(_EITHER)),
        ],
    ),
    "ratio": (
        an_object("self.r * 2.0 <= 3.0", r={"type": "number"}),
        [([{"r": 1}], []), ([{"r": 1.6}], broken("self.r * 2.0 <= 3.0"))],
    ),
    "zero": (
        an_object("10 / self.n > 1", n=NUMBER),
        [
            ([{"n": 2}], []),
            ([{"n": 0}], [("", 'Invalid value: "object": division by zero evaluating rule: 10 / self.n > 1')]),
        ],
    ),
    "index": (
        ruled(TEXTS, "self[1] == 'b'"),
        [
            ([["a", "b"]], []),
            ([["a"]], [("", "Invalid value: \"array\": index out of bounds: 1 evaluating rule: self[1] == 'b'")]),
        ],
    ),
    "time": (
        an_object(
            _LATER,
            since={"type": "string", "format": "date-time"},
            until={"type": "string", "format": "date-time"},
            pause={"type": "string", "format": "duration"},
        ),
        [
            ([{"since": "2030-01-01T00:00:00Z", "until": "2030-01-01T02:00:00+01:00", "pause": "5m"}], []),
            (
                [{"since": "2030-01-01T00:00:00Z", "until": "2030-01-01T00:30:00+01:00", "pause": "5m"}],
                broken(_LATER),
            ),
        ],
    ),
    "nested": (
        an_object(inner=an_object("self.a < 3", a=NUMBER), a=NUMBER),
        [([{"inner": {"a": 4}}], [(".inner", "Invalid value: failed rule: self.a < 3")])],
    ),
}

BAD_RULES: dict[str, tuple[Tree, str, str]] = {
    "no rule": (an_object({"rule": " "}), "[0].rule", "Required value: rule is not specified"),
    "an empty message": (
        an_object({"rule": "true", "message": " "}),
        "[0].message",
        'Invalid value: " ": must be non-empty if specified',
    ),
    "a reason that is none": (
        an_object({"rule": "true", "reason": "Odd"}),
        "[0].reason",
        (
            'Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", '
            '"FieldValueInvalid", "FieldValueRequired"'
        ),
    ),
    "a path that is none": (
        an_object({"rule": "true", "fieldPath": ".b"}, a=NUMBER),
        "[0].fieldPath",
        'Invalid value: ".b": must be a valid path',
    ),
    "an optional that is not used": (
        an_object({"rule": "true", "optionalOldSelf": True}, a=NUMBER),
        "[0].optionalOldSelf",
        "Invalid value: true: may not be set if oldSelf is not used in rule",
    ),
    "an unknown field": (
        an_object("self.size > 1 && self.b == 1", size=NUMBER),
        "[0].rule",
        (
            "compilation failed: ERROR: <input>:1:22: undefined field 'b'\n | self.size > 1 && self.b == 1\n"
            " | .....................^"
        ),
    ),
    "an unknown field in a test of presence": (
        an_object("has(self.b)", a=NUMBER),
        "[0].rule",
        "compilation failed: ERROR: <input>:1:4: undefined field 'b'\n | has(self.b)\n | ...^",
    ),
    "types that do not fit": (
        an_object("self.a > 'x'", a=NUMBER),
        "[0].rule",
        (
            "compilation failed: ERROR: <input>:1:8: found no matching overload for '_>_' applied to '(int, string)'\n"
            " | self.a > 'x'\n | .......^"
        ),
    ),
    "an unknown function": (
        ruled(TEXT, "odd(self)"),
        "[0].rule",
        (
            "compilation failed: ERROR: <input>:1:4: undeclared reference to 'odd' (in container '')\n"
            " | odd(self)\n | ...^"
        ),
    ),
    "no end": (
        ruled(TEXT, "self =="),
        "[0].rule",
        (
            "compilation failed: ERROR: <input>:1:8: Syntax error: mismatched input '<EOF>' expecting "
            "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', "
            "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n"
            " | self ==\n | .......^"
        ),
    ),
    "no test": (ruled(TEXT, "self + 'x'"), "[0].rule", "cel expression must evaluate to a bool"),
    "a message that is no text": (
        ruled(TEXT, {"rule": "true", "messageExpression": "1 + 1"}),
        "[0].messageExpression",
        "messageExpression must evaluate to a string",
    ),
    "the past of an item without a key": (
        {"type": "array", "maxItems": 3, "items": ruled(TEXT, "self == oldSelf")},
        "ITEMS",
        (
            'Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema '
            "within spec.validation.openAPIV3Schema.properties[spec].properties[bad]"
        ),
    ),
}
