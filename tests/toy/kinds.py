"""Boxes: what is read of them, and their definition."""

from msgspec import Struct

from fairlead.core.schema_parts import TEXT, Json, definition, object_of
from kubeloop.objects.meta import Meta, Resource

BOXES = Resource("toy.example", "v1", "boxes", "Box")


class Colour(Struct, frozen=True):
    colour: str = ""
    paused: bool = False


class BoxMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0


class Box(Struct, frozen=True):
    metadata: BoxMeta
    spec: Colour
    status: Colour = Colour()


def definitions() -> tuple[Json, ...]:
    painted = object_of("A colour.", colour=TEXT, paused={"type": "boolean"})
    return (definition(BOXES, object_of("A box.", spec=painted, status=painted), {"status": {}}),)
