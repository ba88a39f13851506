"""Random configurations and changes for server-side apply, by three managers, on kinds with every type of list."""

from __future__ import annotations

import random
from typing import Any

from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubeloop.request import APPLY, JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH, path_of
from tests.e2e.definitions import GROUP, a_definition, a_version

Tree = dict[str, Any]
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
SERVICES = Resource("", "v1", "services", "Service")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
BOXES = Resource(GROUP, "v1", "boxes", "Box")
BOXES_BETA = Resource(GROUP, "v1beta1", "boxes", "Box")
TIME = "2030-01-01T00:00:00Z"
MANAGERS = ("m1", "m2", "m3")

BOX: Tree = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "plain": {"type": "object", "additionalProperties": {"type": "integer"}},
        "named": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "value": {"type": "integer"},
                    "inner": {"type": "object", "properties": {"q": {"type": "integer"}, "r": {"type": "boolean"}}},
                },
            },
        },
        "pairs": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                    "note": {"type": "string"},
                },
            },
        },
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "numbers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
        "atomic": {"type": "array", "items": {"type": "integer"}},
        "whole": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"k": {"type": "integer"}, "l": {"type": "integer"}},
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "either": {"x-kubernetes-int-or-string": True},
        "nothing": {"type": "string", "nullable": True},
        "filled": {"type": "object", "properties": {"by": {"type": "string", "default": "server"}}},
    },
}
BOX_STATUS: Tree = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "selector": {"type": "string"},
        "phase": {"type": "string"},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
            },
        },
    },
}


def a_box_definition() -> Tree:
    properties = {"spec": BOX, "status": BOX_STATUS}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    versions = a_version(schema=schema), a_version("v1beta1", storage=False, schema=schema)
    return a_definition(*versions, plural="boxes", kind="Box")


def a_box(name: str, **spec: Any) -> Tree:
    return {"apiVersion": BOXES.api_version, "kind": "Box", "metadata": {"name": name}, "spec": spec}


class Step(Struct, frozen=True):
    """One request to an object; `tree` is what it sends, made from the object itself when it is replaced."""

    method: str
    path: str
    content_type: str
    tree: Any
    query: tuple[tuple[str, str], ...]


class Steps:
    """Draws steps; the same draws give the same steps."""

    def __init__(self, draw: random.Random, namespace: str) -> None:
        self._draw = draw
        self._namespace = namespace

    def resource(self) -> Resource:
        return self._draw.choice((DEPLOYMENTS, SERVICES, CONFIG_MAPS, BOXES, BOXES))

    def first(self, resource: Resource, name: str) -> Step:
        """Creates the object, one way or another."""
        if self._draw.random() < 0.5:
            return self._apply(resource, name, force=True)
        query = (("fieldManager", self._manager()),)
        return Step("POST", path_of(resource, self._namespace), JSON, self._config(resource, name, "v1"), query)

    def next(self, resource: Resource, name: str, live: Tree) -> Step:
        draw = self._draw.random()
        if draw < 0.4:
            return self._apply(resource, name, force=False)
        if draw < 0.6:
            return self._apply(resource, name, force=True)
        if draw < 0.7:
            return self._replace(resource, name, live)
        if draw < 0.8 and resource in (DEPLOYMENTS, BOXES):
            return self._draw.choice((self._scale, self._status))(resource, name)
        return self._patch(resource, name)

    def _manager(self) -> str:
        return self._draw.choice(MANAGERS)

    def _some(self, tree: Tree, share: float = 0.6) -> Tree:
        return {key: value for key, value in tree.items() if self._draw.random() < share}

    def _at(self, resource: Resource, name: str, subresource: str = "") -> str:
        return path_of(resource, self._namespace, name, subresource)

    def _apply(self, resource: Resource, name: str, *, force: bool) -> Step:
        if resource == BOXES and self._draw.random() < 0.3:
            resource = BOXES_BETA
        query = [("fieldManager", self._manager())]
        if force:
            query.append(("force", "true"))
        version = resource.version
        return Step("PATCH", self._at(resource, name), APPLY, self._config(resource, name, version), tuple(query))

    def _replace(self, resource: Resource, name: str, live: Tree) -> Step:
        """The object with another content; what the server filled in stays where it was."""
        new = self._config(resource, name, "v1")
        metadata = {**new["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}
        query = (("fieldManager", self._manager()),)
        return Step("PUT", self._at(resource, name), JSON, new | {"metadata": metadata}, query)

    def _patch(self, resource: Resource, name: str) -> Step:
        new = self._config(resource, name, "v1")
        del new["metadata"]["name"]
        kinds = [MERGE_PATCH] if resource == BOXES else [MERGE_PATCH, STRATEGIC_MERGE_PATCH]
        kind, query = self._draw.choice(kinds), (("fieldManager", self._manager()),)
        if resource == SERVICES and kind == STRATEGIC_MERGE_PATCH:
            del new["spec"]["ports"]  # they are merged by the port alone, which is not what tells them apart
        return Step("PATCH", self._at(resource, name), kind, new, query)

    def _scale(self, resource: Resource, name: str) -> Step:
        spec = {"replicas": self._draw.randrange(1, 4)}
        query = [("fieldManager", self._manager())]
        path = self._at(resource, name, "scale")
        if self._draw.random() < 0.5:
            return Step("PATCH", path, MERGE_PATCH, {"spec": spec}, tuple(query))
        if self._draw.random() < 0.5:
            query.append(("force", "true"))
        tree = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": spec}
        return Step("PATCH", path, APPLY, tree, tuple(query))

    def _status(self, resource: Resource, name: str) -> Step:
        times = {} if resource == BOXES else {"lastTransitionTime": TIME, "lastUpdateTime": TIME}
        conditions = [
            {"type": kind, "status": self._draw.choice(("True", "False")), **times}
            for kind in self._draw.sample(("Progressing", "Available"), self._draw.randrange(3))
        ]
        status: Tree = {"replicas": self._draw.randrange(1, 3), "conditions": conditions}
        path, query = self._at(resource, name, "status"), [("fieldManager", self._manager())]
        labels = {"labels": self._some({"a": "1"})}
        if self._draw.random() < 0.5:
            return Step("PATCH", path, MERGE_PATCH, {"status": status, "metadata": labels}, tuple(query))
        if self._draw.random() < 0.5:
            query.append(("force", "true"))
        tree = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name} | labels}
        return Step("PATCH", path, APPLY, tree | {"status": status}, tuple(query))

    # Contents

    def _config(self, resource: Resource, name: str, version: str) -> Tree:
        api_version = f"{resource.group}/{version}" if resource.group else version
        content = {
            DEPLOYMENTS: self._deployment,
            SERVICES: self._service,
            CONFIG_MAPS: self._config_map,
        }.get(resource, self._box)
        return {"apiVersion": api_version, "kind": resource.kind, "metadata": self._metadata(name), **content()}

    def _metadata(self, name: str) -> Tree:
        draw = self._draw
        found = {
            "labels": self._some({"a": str(draw.randrange(2)), "b": "1"}),
            "annotations": self._some({"x": str(draw.randrange(2)), "y": "1<2"}),
            "finalizers": draw.sample(("e.x/1", "e.x/2"), draw.randrange(3)),
        }
        return {"name": name, **self._some(found, 0.4)}

    def _container(self, name: str) -> Tree:
        draw = self._draw
        env: list[Tree] = [
            {"name": "A", "value": str(draw.randrange(2))},
            {"name": "B", "value": "b"},
            {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ]
        ports: list[Tree] = [
            {"containerPort": 80},
            {"containerPort": 80, "protocol": "UDP"},
            {"containerPort": 81, "name": "x"},
        ]
        rest = {
            "env": draw.sample(env, draw.randrange(4)),
            "ports": draw.sample(ports, draw.randrange(1, 3)),
            "args": ["a", str(draw.randrange(2))],
            "resources": {"limits": self._some({"cpu": "1", "memory": f"{draw.randrange(1, 3)}Mi"})},
            "volumeMounts": [{"name": "v", "mountPath": f"/v{draw.randrange(2)}"}],
            "envFrom": [{"prefix": draw.choice("pq"), "configMapRef": {"name": "x"}}],
            "securityContext": {"runAsUser": draw.randrange(2), "capabilities": {"add": [draw.choice("ab")]}},
        }
        return {"name": name, "image": f"i:{draw.randrange(3)}", **self._some(rest, 0.4)}

    def _deployment(self) -> Tree:
        draw = self._draw
        containers = [self._container(name) for name in draw.sample(("c", "d", "e"), draw.randrange(3))]
        pod: Tree = {"volumes": [{"name": "v", "emptyDir": {}}]}
        if containers:
            pod["containers"] = containers
        pod |= self._some(
            {
                "nodeSelector": self._some({"a": "b", "c": "d"}),
                "tolerations": [{"key": f"k{draw.randrange(2)}", "operator": "Exists"}],
                "terminationGracePeriodSeconds": draw.randrange(2),
                "securityContext": self._some({"fsGroup": 1}),
            },
            0.3,
        )
        labels = {"app": "x", **self._some({"l1": str(draw.randrange(2)), "l2": "2"})}
        spec = self._some(
            {
                "replicas": draw.randrange(3),
                "paused": True,
                "strategy": {"rollingUpdate": {"maxSurge": draw.choice((1, "10%"))}},
            },
            0.4,
        )
        template = {"metadata": {"labels": labels}, "spec": pod}
        return {"spec": spec | {"selector": {"matchLabels": {"app": "x"}}, "template": template}}

    def _service(self) -> Tree:
        draw = self._draw
        ports: list[Tree] = [
            {"port": 80, "name": "a"},
            {"port": 80, "protocol": "UDP", "name": "u"},
            {"port": 81, "name": "b", "targetPort": draw.choice((1, "x"))},
            {"port": 82, "name": "c"},
        ]
        spec = {"selector": self._some({"a": "b", "c": "d"}), "sessionAffinity": "None"}
        return {"spec": {"ports": draw.sample(ports, draw.randrange(1, 4)), **self._some(spec)}}

    def _config_map(self) -> Tree:
        draw = self._draw
        data = self._some({"k": str(draw.randrange(3)), "l": "1", "m.n": "x"})
        return self._some({"data": data, "binaryData": self._some({"b": "AAAA"})}, 0.8)

    def _box(self) -> Tree:
        draw = self._draw
        named = [
            {
                "name": name,
                **self._some({"value": draw.randrange(3), "inner": self._some({"q": draw.randrange(2), "r": True})}),
            }
            for name in draw.sample("abcd", draw.randrange(5))
        ]
        pairs = [
            {"port": port, **self._some({"protocol": draw.choice(("TCP", "UDP")), "note": str(draw.randrange(2))})}
            for port in draw.sample((1, 2, 3), draw.randrange(4))
        ]
        spec = {
            "replicas": draw.randrange(3),
            "plain": self._some({"x": 1, "y": draw.randrange(3), "z": 3}),
            "named": named,
            "pairs": pairs,
            "set": draw.sample(("s1", "s2", "s<3"), draw.randrange(4)),
            "numbers": draw.sample((1, 2, 10), draw.randrange(4)),
            "atomic": [draw.randrange(3)],
            "whole": self._some({"k": draw.randrange(2), "l": 1}),
            "free": self._some({"f": draw.randrange(2), "l": [1], "m": {"n": draw.choice((1, "1", None, {}))}}),
            "either": draw.choice((1, "1")),
            "nothing": None,
            "filled": {},
        }
        return {"spec": self._some(spec, 0.5)}
