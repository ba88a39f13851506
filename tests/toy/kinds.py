"""Boxes: what they carry, and their definition."""

from typing import Any

from msgspec import Struct

from kubeloop.objects.meta import Meta, Resource

GROUP = "toy.example"
BOXES = Resource(GROUP, "v1", "boxes", "Box")
OWN_LABELS = {"app.kubernetes.io/name": "toy-operator"}


class Colour(Struct, frozen=True):
    colour: str = ""
    paused: bool = False


class BoxMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0


class Box(Struct, frozen=True):
    metadata: BoxMeta
    spec: Colour
    status: Colour = Colour()


def definitions() -> tuple[dict[str, Any], ...]:
    colour = {"type": "object", "properties": {"colour": {"type": "string"}, "paused": {"type": "boolean"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": colour, "status": colour}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"plural": BOXES.plural, "singular": "box", "kind": BOXES.kind}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    made = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    return (made | {"metadata": {"name": f"{BOXES.plural}.{GROUP}"}},)
