"""Server-side apply by several managers in several versions, with other writes in between."""

from __future__ import annotations

import random
from typing import Any

from msgspec.structs import replace

from kubeloop.objects.meta import Resource
from kubeloop.request import path_of
from tests.e2e import configurations
from tests.e2e.configurations import BOXES, CONFIG_MAPS, DEPLOYMENTS, MANAGERS, SERVICES, Steps, Tree, a_box_definition
from tests.e2e.conversions import versions
from tests.e2e.definitions import GROUP, a_definition
from tests.exchanges.case import JSON_PATCH, MERGE, Step, applied, delete, get, patch, post, put, unordered
from tests.fuzz.playing import Scenario

LENGTH = 12
NAME = "it"
GADGETS = "/apis/shop.example.com/{version}/namespaces/{{ns}}/gadgets"
_CONVERSION = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"$hook": "convert"}, "conversionReviewVersions": ["v1"]},
}
DEFINITIONS = (
    a_box_definition(),
    a_definition(*versions(), plural="gadgets", kind="Gadget", conversion=_CONVERSION),
)
_KINDS = (DEPLOYMENTS, SERVICES, CONFIG_MAPS, BOXES, BOXES)


def a_scenario(draw: random.Random) -> Scenario:
    if draw.random() < 0.25:
        return Scenario(tuple(map(unordered, _of_gadgets(draw))))
    steps, resource = Steps(draw, "{ns}"), draw.choice(_KINDS)
    path = _placed(path_of(resource, "{ns}", NAME))
    drawn = [_step(steps.first(resource, NAME))]
    while len(drawn) < LENGTH:
        if draw.random() < 0.2:
            drawn.append(_other(draw, resource, path, is_second=len(drawn) == 1))
        else:
            drawn.append(_step(steps.next(resource, NAME, {"metadata": {"resourceVersion": "<<version>>"}})))
    drawn.append(get(path))
    return Scenario(tuple(unordered(_varied(draw, step)) for step in drawn))


def _placed(path: str) -> str:
    return path.replace("%7Bns%7D", "{ns}")


def _step(step: configurations.Step) -> Step:
    return Step(
        method=step.method,
        path=_placed(step.path),
        query=step.query,
        body=step.tree,
        content_type=step.content_type,
    )


def _varied(draw: random.Random, step: Step) -> Step:
    """Now and then only tried, without a manager, or with a wish about unknown fields."""
    if step.method == "GET" or draw.random() > 0.1:
        return step
    query = draw.choice(
        (
            (*step.query, ("dryRun", "All")),
            (*step.query, ("fieldValidation", draw.choice(("Strict", "Warn", "Ignore")))),
            tuple(each for each in step.query if each[0] != "fieldManager"),
        )
    )
    return replace(step, query=query)


def _other(draw: random.Random, resource: Resource, path: str, *, is_second: bool) -> Step:
    """What is rarely done to an object that somebody applies."""
    entries: list[Any] = [[{}], [], None]
    match draw.randrange(7):
        case 0:
            return delete(path)
        case 1:
            return patch(path, {"metadata": {"managedFields": draw.choice(entries)}}, MERGE)
        case 2:
            value = draw.choice(entries)
            operation = {"op": draw.choice(("add", "replace")), "path": "/metadata/managedFields", "value": value}
            return patch(path, [operation], JSON_PATCH, fieldManager=draw.choice(MANAGERS))
        case 3:
            # Of several entries it depends on the second in which they were made which one is the first.
            entry = f"/metadata/managedFields/{0 if is_second else 9}"
            return patch(path, [{"op": "remove", "path": entry}], JSON_PATCH, fieldManager="m1")
        case 4:  # gives up everything
            tree = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": NAME}}
            return applied(path, tree, draw.choice(MANAGERS), force="true")
        case 5:
            return get(path.replace("/v1/", "/v1beta1/") if resource == BOXES else path)
        case _:
            return applied(path, _odd(draw, resource), draw.choice(MANAGERS))


def _odd(draw: random.Random, resource: Resource) -> Any:
    """A configuration with a mistake."""
    metadata: Tree = {"name": NAME}
    tree: Tree = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    values: list[Any] = [5, "x", True, None, [], {}, [1], ["a", "a"], [{"name": "a"}, {"name": "a"}], {"a": {"b": 1}}]
    fields = {
        DEPLOYMENTS: ("replicas", "selector", "template", "strategy", "odd"),
        SERVICES: ("ports", "selector", "type", "externalIPs", "odd"),
        CONFIG_MAPS: ("odd",),
        BOXES: ("replicas", "plain", "named", "pairs", "set", "numbers", "atomic", "whole", "free", "either", "odd"),
    }[resource]
    match draw.randrange(6):
        case 0:
            return tree | {
                "metadata": metadata | {"resourceVersion": draw.choice(("1", "<<version>>", "<<version1>>"))}
            }
        case 1:
            return tree | {"metadata": metadata | {"managedFields": draw.choice(([], [{}]))}}
        case 2:
            return tree | {"metadata": metadata | {draw.choice(("labels", "annotations")): draw.choice(values)}}
        case 3:
            return tree | {"metadata": metadata | {"name": "other"}, "apiVersion": draw.choice(("v1", "x/v2"))}
        case _:
            field = "data" if resource == CONFIG_MAPS and draw.random() < 0.7 else "spec"
            value = draw.choice(values)
            return tree | {field: {draw.choice(fields): value} if field == "spec" else value}


# A kind that a webhook converts


def _of_gadgets(draw: random.Random) -> list[Step]:
    steps = [_a_gadget_write(draw) for _ in range(LENGTH - 1)]
    return [applied(_at("v1"), _gadget(draw, "v1"), "m1"), *steps, get(_at(draw.choice(("v1", "v2"))))]


def _at(version: str, name: str = f"/{NAME}") -> str:
    return GADGETS.format(version=version) + name


def _gadget(draw: random.Random, version: str) -> Tree:
    colour, size = draw.choice(("red", "blue")), draw.randrange(3)
    spec: Tree = {"size": size} if draw.random() < 0.6 else {}
    if draw.random() < 0.7:
        spec |= {"colour": colour} if version == "v1" else {"paint": {"colour": colour}}
    if version == "v2" and draw.random() < 0.3:
        spec["paint"] = {**spec.get("paint", {}), "finish": "matt"}
    metadata: Tree = {"name": NAME}
    if draw.random() < 0.4:
        metadata["labels"] = {draw.choice("ab"): draw.choice("12")}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Gadget", "metadata": metadata, "spec": spec}


def _a_gadget_write(draw: random.Random) -> Step:
    version, manager = draw.choice(("v1", "v2")), draw.choice(MANAGERS)
    tree = _gadget(draw, version)
    force = {"force": "true"} if draw.random() < 0.4 else {}
    match draw.randrange(8):
        case 0:
            metadata = tree["metadata"] | {"resourceVersion": "<<version>>"}
            return put(_at(version), tree | {"metadata": metadata}, fieldManager=manager)
        case 1:
            return patch(_at(version), {"spec": tree["spec"]}, MERGE, fieldManager=manager)
        case 2:
            return get(_at(version, draw.choice(("", f"/{NAME}"))))
        case 3:
            return delete(_at(version)) if draw.random() < 0.3 else post(_at(version, ""), tree, fieldManager=manager)
        case _:
            return applied(_at(version), tree, manager, **force)
