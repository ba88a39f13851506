"""Custom resources: schemas, subresources, versions and their conversion, rules in CEL."""

from __future__ import annotations

from typing import Any

from tests.e2e.conversions import versions as gadget_versions
from tests.exchanges.case import (
    JSON_PATCH,
    METADATA_LIST,
    STRATEGIC,
    TABLE,
    Case,
    Step,
    applied,
    case,
    get,
    patch,
    post,
    quiet,
    ready,
    unordered,
    watch,
)
from tests.exchanges.cases.samples import DEFINITIONS
from tests.exchanges.cases.widgets import (
    GROUP,
    NAME,
    NUMBER,
    ONE,
    TEXT,
    WIDGETS,
    a_definition,
    a_version,
    a_widget,
    defined,
    on_widgets,
    refused,
    with_rules,
    with_spec,
)


def _tried(name: str, *specs: dict[str, Any]) -> Case:
    return on_widgets(
        name, *[unordered(post(WIDGETS, a_widget(f"w{index}", **spec))) for index, spec in enumerate(specs)]
    )


_SCHEMAS = (
    _tried(
        "numbers in a schema", {"size": 11}, {"size": -1}, {"ratio": 1}, {"half": 0.3}, {"size": "one"}, {"size": 1.5}
    ),
    _tried(
        "texts in a schema",
        {"code": "a"},
        {"code": "abcde"},
        {"code": "A1"},
        {"color": "blue"},
        {"since": "yesterday"},
        {"note": None},
    ),
    _tried(
        "lists in a schema",
        {"tags": []},
        {"tags": ["a", "b", "c", "d"]},
        {"kinds": ["a", "a"]},
        {"tags": "a"},
        {"parts": [{"count": 1}]},
        {"parts": [{"name": "a"}, {"name": "a"}]},
    ),
    _tried(
        "objects in a schema",
        {"labels": {}},
        {"labels": {"a": "bc"}},
        {"either": {}},
        {"either": {"left": 1, "right": 2}},
        {"template": {"kind": "X"}},
    ),
    _tried("what is needed in a schema", {"size": None}, {"either": {"left": 1}}),
    _tried(
        "what is filled in",
        {},
        {"parts": [{"name": "a"}]},
        {"color": None},
        {"free": {"any": {"thing": [1]}}, "limit": "5%"},
    ),
    on_widgets(
        "an unknown field of a custom resource",
        post(WIDGETS, a_widget(bogus=1)),
        post(WIDGETS, a_widget("two", bogus=1), fieldValidation="Strict"),
        post(WIDGETS, a_widget("three", bogus=1), fieldValidation="Ignore"),
    ),
    on_widgets("several faults at once", unordered(post(WIDGETS, a_widget(size=99, color="blue", code="A", tags=[])))),
    on_widgets(
        "an old fault is not held against a change",
        post(WIDGETS, a_widget(color="green")),
        patch(
            f"{DEFINITIONS}/{NAME}",
            [
                {
                    "op": "add",
                    "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/minimum",
                    "value": 5,
                }
            ],
            JSON_PATCH,
        ),
        ready(post(WIDGETS, a_widget("probe"), dryRun="All"), 422),
        patch(ONE, {"spec": {"color": "red"}}),
        patch(ONE, {"spec": {"size": 2}}),
    ),
    on_widgets(
        "bodies of custom resources",
        post(WIDGETS, {"metadata": {"name": "one"}}),
        post(WIDGETS, a_widget() | {"apiVersion": f"{GROUP}/v9"}),
        post(WIDGETS, a_widget() | {"kind": "Gizmo"}),
        post(WIDGETS, "nonsense"),
        post(WIDGETS, [1]),
        post(WIDGETS, a_widget("Bad_Name")),
        post(WIDGETS, a_widget() | {"metadata": "x"}),
    ),
    on_widgets(
        "patches of custom resources",
        quiet(post(WIDGETS, a_widget())),
        patch(ONE, {"spec": {"size": 3}}),
        patch(ONE, [{"op": "replace", "path": "/spec/size", "value": 4}], JSON_PATCH),
        patch(ONE, {"spec": {"size": 5}}, STRATEGIC),
        patch(ONE, {"spec": {"bogus": 5}}, fieldValidation="Strict"),
        patch(ONE, {"spec": {"size": "x"}}),
    ),
    on_widgets(
        "the status of a custom resource",
        post(WIDGETS, a_widget() | {"status": {"phase": "Good"}}),
        patch(f"{ONE}/status", {"spec": {"size": 9}, "status": {"phase": "Good", "replicas": 2}}),
        patch(ONE, {"status": {"phase": "Bad"}}),
        patch(f"{ONE}/status", {"status": {"phase": "Ugly"}}),
    ),
    on_widgets(
        "the scale of a custom resource",
        quiet(post(WIDGETS, a_widget())),
        get(f"{ONE}/scale"),
        patch(f"{ONE}/scale", {"spec": {"replicas": 3}}),
        patch(f"{ONE}/scale", {"spec": {"replicas": -1}}),
        get(ONE),
    ),
    on_widgets(
        "applying custom resources",
        applied(ONE, a_widget(parts=[{"name": "a"}])),
        applied(ONE, a_widget(size=2, parts=[{"name": "b"}]), "second"),
        applied(ONE, a_widget(parts=[{"name": "b"}]), "second"),
        applied(ONE, a_widget(bogus=1), "third"),
        applied(ONE, a_widget(size="x"), "third"),
    ),
    on_widgets(
        "selectable fields",
        *[quiet(post(WIDGETS, a_widget(name, color=color))) for name, color in (("a", "red"), ("b", "green"))],
        get(WIDGETS, METADATA_LIST, fieldSelector="spec.color=red"),
        get(WIDGETS, METADATA_LIST, fieldSelector="spec.color!=red"),
        get(WIDGETS, METADATA_LIST, fieldSelector="spec.code=x"),
        selectableFields=[{"jsonPath": ".spec.color"}],
    ),
    on_widgets(
        "printer columns",
        quiet(post(WIDGETS, a_widget(tags=["x", "y"], on=True, since="2026-01-02T03:04:05Z"))),
        get(WIDGETS, TABLE, includeObject="None"),
        additionalPrinterColumns=[
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Tags", "type": "string", "jsonPath": ".spec.tags", "priority": 1},
            {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
            {"name": "First", "type": "string", "jsonPath": ".spec.tags[0]"},
            {"name": "None", "type": "string", "jsonPath": ".spec.code"},
            {"name": "Made", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    ),
    on_widgets(
        "generation of custom resources",
        post(WIDGETS, a_widget()),
        patch(ONE, {"metadata": {"labels": {"a": "b"}}}),
        patch(ONE, {"spec": {"size": 2}}),
        patch(f"{ONE}/status", {"status": {"replicas": 1}}),
    ),
    on_widgets(
        "a deprecated version", post(WIDGETS, a_widget()), get(WIDGETS), get(f"{WIDGETS}/missing"), deprecated=True
    ),
    on_widgets(
        "a version with a warning of its own", get(WIDGETS), deprecated=True, deprecationWarning="use something else"
    ),
)

_V2 = WIDGETS.replace("/v1/", "/v2/")
_TWO = (
    a_version(schema=with_spec(a=TEXT, old=TEXT)),
    a_version("v2", with_spec(a=TEXT, new=TEXT | {"default": "n"}), storage=False),
)
_GADGETS, _GADGETS_V2 = (f"/apis/{GROUP}/{version}/namespaces/{{ns}}/gadgets" for version in ("v1", "v2"))


def _gadget(version: str = "v1", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Gadget", "metadata": {"name": "one"}, "spec": spec}


def _converted(name: str, handler: str, *steps: Step) -> Case:
    """Gadgets that a webhook converts; v1 is stored."""
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"$hook": handler}}
    conversion = {"strategy": "Webhook", "webhook": webhook}
    definition = a_definition(*gadget_versions(), plural="gadgets", kind="Gadget", conversion=conversion)
    return case(name, *defined(definition), *steps)


def _reading(handler: str) -> Case:
    made = quiet(post(_GADGETS, _gadget(colour="red")))
    return _converted(f"reading through {handler}", handler, made, get(f"{_GADGETS_V2}/one"), get(_GADGETS_V2))


_VERSIONS = (
    case(
        "two versions without conversion",
        *defined(a_definition(*_TWO)),
        post(WIDGETS, a_widget(size=None, a="x", old="y")),
        get(f"{_V2}/one"),
        patch(f"{_V2}/one", {"spec": {"a": "z", "new": "w"}}),
        get(ONE),
        get(_V2),
    ),
    case(
        "a version that is not served",
        *defined(a_definition(a_version(), a_version("v2", storage=False) | {"served": False})),
        get(_V2),
    ),
    case(
        "stored versions",
        *defined(a_definition(*_TWO)),
        patch(
            f"{DEFINITIONS}/{NAME}",
            {
                "spec": {
                    "versions": [a_version(schema=with_spec(a=TEXT), storage=False), a_version("v2", with_spec(a=TEXT))]
                }
            },
        ),
        patch(f"{DEFINITIONS}/{NAME}/status", {"status": {"storedVersions": ["v2"]}}),
        patch(f"{DEFINITIONS}/{NAME}/status", {"status": {"storedVersions": ["v1"]}}),
    ),
    _converted(
        "conversion by a webhook",
        "convert",
        post(_GADGETS, _gadget(colour="red", size=1)),
        get(f"{_GADGETS_V2}/one"),
        patch(f"{_GADGETS_V2}/one", {"spec": {"paint": {"colour": "blue"}}}),
        get(f"{_GADGETS}/one"),
        get(_GADGETS_V2),
        watch(_GADGETS_V2, 1, resourceVersion="0"),
    ),
    _converted(
        "creating in another version",
        "convert",
        post(_GADGETS_V2, _gadget("v2", paint={"colour": "red", "finish": "matt"})),
        get(f"{_GADGETS}/one"),
    ),
    _converted(
        "applying in two versions",
        "convert",
        applied(f"{_GADGETS}/one", _gadget(colour="red")),
        applied(f"{_GADGETS_V2}/one", _gadget("v2", paint={"colour": "blue"}), "second"),
        applied(f"{_GADGETS_V2}/one", _gadget("v2", paint={"colour": "red"}), "second"),
    ),
    _converted(
        "what another version cannot hold",
        "convert",
        applied(f"{_GADGETS_V2}/one", _gadget("v2", paint={"colour": "blue", "finish": "matt"})),
        applied(f"{_GADGETS}/one", _gadget(), "second", force="true"),
        patch(f"{_GADGETS_V2}/one", {"spec": {"size": 2, "paint": {"colour": "red"}}}),
        applied(f"{_GADGETS_V2}/one", _gadget("v2", paint={"colour": "red", "finish": "matt"})),
    ),
    *map(
        _reading,
        (
            "convert-fails",
            "convert-drops",
            "convert-uid",
            "convert-renames",
            "convert-relabels",
            "convert-wrong-version",
            "error-500",
            "not-json",
            "wrong-kind",
        ),
    ),
)


def _ruling(name: str, schema: dict[str, Any], *specs: dict[str, Any]) -> Case:
    """Values that are tried one after the other, each in an object of its own."""
    tried = [unordered(post(WIDGETS, a_widget(f"w{index}", size=None, **each))) for index, each in enumerate(specs)]
    return case(name, *defined(a_definition(a_version(schema=schema))), *tried)


def _changing(name: str, schema: dict[str, Any], first: dict[str, Any], *others: dict[str, Any]) -> Case:
    """One object whose values are changed."""
    made = quiet(post(WIDGETS, a_widget(size=None, **first)))
    changes = [unordered(patch(ONE, {"spec": each})) for each in others]
    return case(name, *defined(a_definition(a_version(schema=schema))), made, *changes)


_LIMITED = {"type": "array", "maxItems": 10, "items": TEXT | {"maxLength": 20}}
_RULES = (
    _ruling("a whole number with a fraction", with_rules("self.a != 2", a=NUMBER), {"a": 1.0}, {"a": 1}, {"a": 2}),
    _ruling(
        "a rule",
        with_rules("self.least <= self.most", least=NUMBER, most=NUMBER),
        {"least": 2, "most": 1},
        {"least": 1, "most": 2},
    ),
    _ruling(
        "a rule with a message",
        with_rules({"rule": "self.a > 3", "message": "must be above three"}, a=NUMBER),
        {"a": 1},
    ),
    _ruling(
        "a rule with a computed message",
        with_rules({"rule": "self.a != 'x'", "messageExpression": "'not ' + self.a"}, a=TEXT | {"maxLength": 10}),
        {"a": "x"},
    ),
    _ruling(
        "a rule with a reason and a path",
        with_rules(
            {"rule": "self.a > 3", "reason": "FieldValueForbidden", "fieldPath": ".a", "message": "no"}, a=NUMBER
        ),
        {"a": 1},
    ),
    _changing(
        "a rule about a change",
        with_spec(a=TEXT | {"x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is fixed"}]}),
        {"a": "x"},
        {"a": "x"},
        {"a": "y"},
    ),
    _ruling(
        "a rule about what may be missing", with_rules("has(self.a) || has(self.b)", a=TEXT, b=TEXT), {}, {"a": "x"}
    ),
    _ruling("a rule about a missing field", with_rules("self.a == 'x'", a=TEXT, b=TEXT), {"b": "x"}),
    _ruling(
        "a rule about lists",
        with_rules("self.tags.all(t, t.startsWith('a')) && self.tags.exists_one(t, t == 'ab')", tags=_LIMITED),
        {"tags": ["ab", "ac"]},
        {"tags": ["ab", "b"]},
        {"tags": ["ab", "ab"]},
    ),
    _ruling(
        "a rule with functions",
        with_rules(
            "self.q.matches('^[0-9]+Mi$') && quantity(self.q).isGreaterThan(quantity('5Mi'))",
            q=TEXT | {"maxLength": 20},
        ),
        {"q": "6Mi"},
        {"q": "4Mi"},
        {"q": "x"},
    ),
    _changing(
        "a rule with an optional old value",
        with_spec(
            a=NUMBER
            | {"x-kubernetes-validations": [{"rule": "oldSelf.hasValue() || self > 3", "optionalOldSelf": True}]}
        ),
        {"a": 5},
        {"a": 1},
    ),
    refused(
        "rules that cannot be compiled",
        a_definition(a_version(schema=with_rules("self.a +", a=NUMBER))),
        a_definition(a_version(schema=with_rules("self.a + 1", a=NUMBER))),
        a_definition(a_version(schema=with_rules("self.nothing == 1", a=NUMBER))),
        a_definition(a_version(schema=with_rules("nothing(self)", a=NUMBER))),
    ),
    refused(
        "rules with wrong parts",
        a_definition(a_version(schema=with_rules({"rule": ""}, a=NUMBER))),
        a_definition(a_version(schema=with_rules({"rule": "true", "reason": "Because"}, a=NUMBER))),
        a_definition(a_version(schema=with_rules({"rule": "true", "fieldPath": ".none"}, a=NUMBER))),
        a_definition(a_version(schema=with_rules({"rule": "true", "messageExpression": "1"}, a=NUMBER))),
    ),
)

CASES: tuple[Case, ...] = (*_SCHEMAS, *_VERSIONS, *_RULES)
