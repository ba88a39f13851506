"""CustomResourceDefinitions with something odd about them; what the server says is in `definition_answers.json`."""

from __future__ import annotations

from typing import Any

from tests.e2e.definitions import Tree, a_definition, a_version

_FIELDS: Tree = {
    "a": {"type": "string"},
    "n": {"type": "integer"},
    "o": {"type": "object"},
    "l": {"type": "array", "items": {"type": "string"}},
    "b": {"type": "boolean"},
    "f": {"type": "number"},
}
_ROOT: Tree = {"type": "object", "properties": {"spec": {"type": "object", "properties": _FIELDS}}}
_RULES = "x-kubernetes-validations"
_TEXT: Tree = {"type": "string", "maxLength": 5}


def _version(**fields: Any) -> Tree:
    return a_version(schema={"openAPIV3Schema": _ROOT}, subresources={}, **fields)


def _column(**column: Any) -> Tree:
    return a_definition(_version(additionalPrinterColumns=[column]))


def _selectable(*paths: str) -> Tree:
    return a_definition(_version(selectableFields=[{"jsonPath": path} for path in paths]))


def _root(**schema: Any) -> Tree:
    return a_definition(a_version(subresources={}, schema={"openAPIV3Schema": {"type": "object"} | schema}))


def _field(**schema: Any) -> Tree:
    return _root(properties={"a": schema})


def _ruled(schema: Tree, *rules: Tree) -> Tree:
    return _field(**schema | {_RULES: list(rules)})


def _named(**names: Any) -> Tree:
    return a_definition(_version(), names=names)


def _converted(**conversion: Any) -> Tree:
    return a_definition(_version(), conversion=conversion)


def _keyed(*keys: str) -> Tree:
    items = {"type": "object", "properties": {"k": {"type": "string"}}}
    return _field(
        type="array", items=items, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    )


_ITEMS: Tree = {"type": "array", "maxItems": 3, "items": {"type": "object", "properties": {"x": {"type": "integer"}}}}

DEFINITIONS: dict[str, Tree] = {
    "a column without a name": _column(type="string", jsonPath=".spec.a"),
    "a column without a type": _column(name="A", jsonPath=".spec.a"),
    "a column of an odd type": _column(name="A", type="odd", jsonPath=".spec.a"),
    "a column of an odd format": _column(name="A", type="string", format="odd", jsonPath=".spec.a"),
    "a column of nothing": _column(name="A", type="string"),
    "a column of an odd path": _column(name="A", type="string", jsonPath="spec.a"),
    "a selectable field without a path": _selectable(""),
    "a selectable field that is not there": _selectable(".spec.nope"),
    "a selectable object": _selectable(".spec.o"),
    "a selectable list": _selectable(".spec.l"),
    "a selectable number": _selectable(".spec.f"),
    "a selectable field twice": _selectable(".spec.a", ".spec.n", ".spec.a"),
    "a selectable name": _selectable(".metadata.name"),
    "a selectable field of an odd path": _selectable("spec.a"),
    "a selectable item": _selectable(".spec.l[0]"),
    "a large name": _named(plural="Widgets", kind="Widget"),
    "no names": _named(),
    "odd names": _named(plural="widgets", kind="Widget", shortNames=["W_"], categories=["C C"], singular="Widget"),
    "one name for one and many": _named(plural="widgets", kind="Widget", listKind="Widget"),
    "an odd kind": _named(plural="widgets", kind="wid get"),
    "no group": a_definition(_version(), group=""),
    "a short group": a_definition(_version(), group="x"),
    "no versions": a_definition(_version(), versions=[]),
    "a version twice": a_definition(_version(), _version(storage=False)),
    "an odd version": a_definition(_version(name="V_1")),
    "a warning of what is not deprecated": a_definition(_version(deprecationWarning="x")),
    "a webhook that is not asked": _converted(strategy="None", webhook={"conversionReviewVersions": ["v1"]}),
    "an odd strategy": _converted(strategy="Odd"),
    "no webhook": _converted(strategy="Webhook"),
    "a webhook without versions": _converted(strategy="Webhook", webhook={"clientConfig": {"url": "https://a/"}}),
    "no type": _field(),
    "an odd type": _field(type="odd"),
    "a list of anything": _field(type="array"),
    "a list of several": _field(type="array", items=[{"type": "string"}]),
    "a reference": _field(**{"$ref": "#/x"}),
    "names and no names": _field(type="object", properties={"b": _TEXT}, additionalProperties=_TEXT),
    "unique items": _field(type="array", uniqueItems=True, items=_TEXT),
    "a default of another type": _field(type="string", default=5),
    "a default with more": _field(type="object", default={"z": 1}, properties={"b": _TEXT}),
    "a broken pattern": _field(type="string", pattern="("),
    "a root that may be nothing": _root(nullable=True),
    "a root that is text": _root(type="string"),
    "unknown fields dropped": _field(type="object", **{"x-kubernetes-preserve-unknown-fields": False}),
    "a map without keys": _keyed(),
    "a map with unknown keys": _keyed("z"),
    "an odd list": _field(type="array", items=_TEXT, **{"x-kubernetes-list-type": "odd"}),
    "an odd map": _field(type="object", **{"x-kubernetes-map-type": "odd"}),
    "a set of objects": _field(type="array", items={"type": "object"}, **{"x-kubernetes-list-type": "set"}),
    "more metadata": _root(properties={"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}),
    "a kind that is a number": _root(properties={"kind": {"type": "integer"}}),
    "a rule about an unknown field of items": _ruled(
        {"type": "object", "properties": {"l": _ITEMS}}, {"rule": "self.l.all(i, i.y > 1)"}
    ),
    "a rule about what is only kept": _ruled(
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"rule": "self.foo == 1"}
    ),
    "a rule about more metadata": _root(**{_RULES: [{"rule": "self.metadata.namespace == 'a'"}]}),
    "a rule that is no test": _ruled({"type": "object"}, {"rule": "self"}),
    "rules with odd paths": _ruled(
        {"type": "object", "properties": {"b": _TEXT}},
        *({"rule": "true", "fieldPath": path} for path in (".c", "b", ".b[0]")),
    ),
    "rules with odd messages": _ruled(_TEXT, {"rule": "true", "message": "a\nb"}, {"rule": "true\n&& true"}),
    "rules with odd expressions for messages": _ruled(
        _TEXT, *({"rule": "true", "messageExpression": text} for text in ("1", "odd", "self + 1"))
    ),
    "rules about the past": _ruled(
        _TEXT,
        {"rule": "oldSelf.orValue('') == self", "optionalOldSelf": True},
        {"rule": "oldSelf == self", "optionalOldSelf": True},
        {"rule": "oldSelf.hasValue()"},
    ),
}
