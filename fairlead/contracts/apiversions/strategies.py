"""Hypothesis strategies from the schemas of a CRD, for people who write rules (section 6.1, B12).

    @given(objects(definition, "v1"))
    def test_nothing_is_lost(tree):
        comes_back(tree, kind)

Objects are valid by what a structural schema says of one value at a time: types, bounds, patterns, required fields,
keys of lists. What relates several values (`oneOf`, `anyOf`, `not`, CEL expressions) is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.round_trip import failures
from fairlead.contracts.apiversions.decide.rule_sets import schemas_of
from fairlead.contracts.apiversions.decide.trees import Tree, copied
from kubeloop.schemas.structural import Node, compile_schema

try:
    from hypothesis import strategies as st
except ImportError:
    raise ImportError("strategies of objects are made with Hypothesis: install it, `pip install hypothesis`") from None

WORDS = ("", "a", "b-1", "true", "1", "001", "0.5", "1e3", "90s", "1h30m", "512Mi", "x,y", "r.example/x:1", "ü ")
"""Texts that operations read as something else."""
KEYS = ("a", "b", "app.example/name", "1", "é")
INT64 = 2**63
MOST_ITEMS = 3
DEEPEST = 8
"""Levels below which nothing optional is made."""


def objects(definition: Tree, version: str, labels: Mapping[str, str] | None = None) -> st.SearchStrategy[Tree]:
    """Whole objects of one version of a definition."""
    spec = definition["spec"]
    head = {"apiVersion": f"{spec['group']}/{version}", "kind": spec["names"]["kind"]}
    metadata: Tree = {"name": "one", **({"namespace": "test"} if spec.get("scope") != "Cluster" else {})}
    if labels:
        metadata["labels"] = dict(labels)
    return bodies(schemas_of(definition)[version]).map(lambda body: {**head, "metadata": copied(metadata), **body})


def bodies(schema: Node | Tree) -> st.SearchStrategy[Tree]:
    """Without type and metadata."""
    made: st.SearchStrategy[Tree] = values(schema)
    return made.map(lambda tree: {name: each for name, each in tree.items() if name not in RESERVED})


def parts(whole: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    """Of these objects what server-side apply may send: any fields are missing, whole lists stay or go."""
    return st.tuples(whole, st.randoms(use_true_random=False)).map(lambda pair: _part(*pair))


def values(schema: Node | Tree, depth: int = 0) -> st.SearchStrategy[Any]:
    """Whatever is valid at one place of a schema."""
    node = schema if isinstance(schema, Node) else compile_schema(schema)
    made = _of_type(node, depth)
    return st.none() | made if node.nullable else made


def comes_back(tree: Tree, kind: KindConversion) -> None:
    """Raises AssertionError with a difference unless the object survives the way from each version to each other."""
    for failure in failures(tree, kind):
        told = "; ".join(map(str, failure.differences)) or failure.problem
        raise AssertionError(f"from {failure.first} to {failure.other} and back: {told}")


def _part(tree: Tree, chance: Any) -> Tree:
    kept = {name: _thinned(each, chance) for name, each in tree.items() if name in RESERVED or chance.random() < 0.8}
    kept["metadata"] = tree["metadata"]
    return kept


def _thinned(value: Any, chance: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _thinned(each, chance) for name, each in value.items() if chance.random() < 0.7}


def _of_type(node: Node, depth: int) -> st.SearchStrategy[Any]:
    if node.enum is not None:
        return st.sampled_from(node.enum)
    if not node.types:
        return anything()
    return st.one_of([_MADE[each](node, depth) for each in node.types])


def anything() -> st.SearchStrategy[Any]:
    """Any JSON, a few levels deep."""
    scalars = st.none() | st.booleans() | st.integers(-INT64, INT64 - 1) | st.sampled_from(WORDS)
    keys = st.sampled_from(KEYS)
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2), max_leaves=4
    )


def _texts(node: Node, _: int) -> st.SearchStrategy[str]:
    least, most = node.min_length or 0, node.max_length
    longest = max(least + 8, 0) if most is None else min(most, least + 8)
    if node.pattern and (found := _of_pattern(node)) is not None:
        return found.filter(lambda text: len(text) >= least and (most is None or len(text) <= most))
    if node.format in _FORMATS:
        return _FORMATS[node.format]
    letters = st.characters(exclude_categories=["Cs"])
    words = [each for each in WORDS if len(each) >= least and (most is None or len(each) <= most)]
    free: st.SearchStrategy[str] = st.text(letters, min_size=least, max_size=longest)
    return st.sampled_from(words) | free if words else free


def _of_pattern(node: Node) -> st.SearchStrategy[str] | None:
    """None where Python reads the expression otherwise than the API server: then any text is made."""
    try:
        expression = re.compile(node.pattern, re.ASCII)
    except re.error:
        return None
    expected = node.expression
    return st.from_regex(expression).filter(lambda text: expected is None or expected.is_in(text))


_FORMATS: Mapping[str, st.SearchStrategy[str]] = {
    "date-time": st.datetimes().map(lambda moment: f"{moment.replace(microsecond=0).isoformat()}Z"),
    "date": st.dates().map(lambda day: day.isoformat()),
    "byte": st.sampled_from(["", "YQ==", "aGVsbG8="]),
    "duration": st.sampled_from(["0s", "10m", "600s", "1h30m", "1.5h", "250ms"]),
    "uuid": st.uuids().map(str),
    "ipv4": st.ip_addresses(v=4).map(str),
    "ipv6": st.ip_addresses(v=6).map(str),
    "email": st.just("a@example.com"),
    "hostname": st.just("a.example.com"),
    "uri": st.just("https://example.com/a?b=c"),
    "cidr": st.just("10.0.0.0/8"),
    "mac": st.just("00:00:5e:00:53:01"),
    "password": st.sampled_from(WORDS),
}


def _integers(node: Node, _: int) -> st.SearchStrategy[int]:
    small = node.format == "int32"
    low, high = (-(2**31), 2**31 - 1) if small else (-INT64, INT64 - 1)
    if node.minimum is not None:
        low = max(low, int(node.minimum) + int(node.exclusive_minimum))
    if node.maximum is not None:
        high = min(high, int(node.maximum) - int(node.exclusive_maximum))
    if node.multiple_of:
        factor = int(node.multiple_of)
        return st.integers(-(-low // factor), high // factor).map(lambda number: number * factor)
    near = st.integers(max(low, min(high, -3)), max(low, min(high, 2000)))
    return near | st.integers(low, high)


def _numbers(node: Node, depth: int) -> st.SearchStrategy[float]:
    if node.multiple_of:
        return _integers(node, depth)
    made: st.SearchStrategy[float] = st.floats(
        node.minimum,
        node.maximum,
        allow_nan=False,
        allow_infinity=False,
        exclude_min=node.exclusive_minimum,
        exclude_max=node.exclusive_maximum,
    )
    return made.map(lambda number: int(number) if number.is_integer() and abs(number) < 2**53 else number)


def _objects(node: Node, depth: int) -> st.SearchStrategy[Tree]:
    required = {name: values(each, depth + 1) for name, each in node.properties.items() if name in node.required}
    others = {name: each for name, each in node.properties.items() if name not in node.required}
    optional = {} if depth >= DEEPEST else {name: values(each, depth + 1) for name, each in others.items()}
    made: st.SearchStrategy[Tree] = st.fixed_dictionaries(required, optional=optional)
    if node.additional and depth < DEEPEST:
        rest = anything() if node.rest is None else values(node.rest, depth + 1)
        least, most = node.min_properties or 0, node.max_properties
        keys = st.sampled_from([each for each in KEYS if each not in node.properties])
        fewest = max(0, least - len(required))
        count = max(fewest, min(MOST_ITEMS, MOST_ITEMS if most is None else most))
        more = st.dictionaries(keys, rest, min_size=min(fewest, len(KEYS)), max_size=min(count, len(KEYS)))
        made = st.tuples(made, more).map(lambda pair: {**pair[1], **pair[0]})
    elif node.preserves and depth < DEEPEST:
        unknown = st.dictionaries(st.sampled_from(["unknown", "x"]), anything(), max_size=1)
        made = st.tuples(made, unknown).map(lambda pair: {**pair[1], **pair[0]})
    least, most = node.min_properties or 0, node.max_properties
    if not least and most is None:
        return made
    return made.filter(lambda tree: least <= len(tree) and (most is None or len(tree) <= most))


def _lists(node: Node, depth: int) -> st.SearchStrategy[list[Any]]:
    least = node.min_items or 0
    most = (
        least
        if depth >= DEEPEST
        else max(least, min(MOST_ITEMS, MOST_ITEMS if node.max_items is None else node.max_items))
    )
    items = anything() if node.items is None else values(node.items, depth + 1)
    if node.list_type == "map":
        items = items.filter(lambda item: isinstance(item, dict) and all(key in item for key in node.list_keys))
        return st.lists(items, min_size=least, max_size=most, unique_by=_keys_of(node.list_keys))
    if node.list_type == "set":
        return st.lists(items, min_size=least, max_size=most, unique_by=repr)
    return st.lists(items, min_size=least, max_size=most)


def _keys_of(names: Sequence[str]) -> Callable[[Any], Any]:
    return lambda item: tuple(repr(item.get(name)) for name in names)


_MADE: Mapping[str, Callable[[Node, int], st.SearchStrategy[Any]]] = {
    "string": _texts,
    "integer": _integers,
    "number": _numbers,
    "boolean": lambda _, __: st.booleans(),
    "object": _objects,
    "array": _lists,
}
