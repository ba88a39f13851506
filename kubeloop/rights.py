"""Rights that the API server says are missing: by verb and resource, and the place where they were missed.

A refusal by admission is a 403 as well and says nothing about rights.
"""

from __future__ import annotations

import re

from msgspec import Struct

from kubeloop.request import Request, place_of

_TEXT = r'"(?:[^"\\]|\\.)*"'
_LACKS = re.compile(
    rf'\S+(?: {_TEXT})? is forbidden: User {_TEXT} cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)"'
    r' in API group "(?P<group>[^"]*)"'
)
"""In the server's own words, from the beginning: admission by others may quote what somebody else lacks."""
NAMED = "metadata.name="
REVIEWS = "authorization.k8s.io"
"""The group in which rights are asked about; that this is refused says nothing more."""


class Right(Struct, frozen=True, order=True):
    verb: str
    group: str
    resource: str
    """With its subresource, as `widgets/status`."""

    @property
    def name(self) -> str:
        """As one word without slashes, which people choose by."""
        return ".".join(filter(None, (self.verb, self.resource.replace("/", ":"), self.group)))

    @property
    def of(self) -> str:
        """The resource with its group, as people name it."""
        return ".".join(filter(None, (self.resource, self.group)))


class Missed(Struct, frozen=True):
    """Where a right was missed."""

    right: Right
    namespace: str = ""
    """Empty: in the whole cluster."""
    name: str = ""
    """Of the object; empty: of all."""


def missed_by(request: Request, message: str) -> Missed | None:
    """What the request lacked; None where it was refused for another reason."""
    found, place = _LACKS.match(message), place_in(request)
    if found is None or found["group"] == REVIEWS:
        return None
    # An apply of what is not there is refused as its creation.
    return Missed(Right(found["verb"], found["group"], found["resource"]), place.namespace, place.name)


def lacks_right(message: str) -> bool:
    """Whether a refusal is for want of a right, and not by admission: a quota, or a namespace that goes."""
    return _LACKS.match(message) is not None


def place_in(request: Request) -> Missed:
    place = place_of(request.path)
    resource = "/".join(filter(None, (place.plural, place.subresource)))
    return Missed(Right(request.verb, place.group, resource), place.namespace, place.name or _selected(request))


def _selected(request: Request) -> str:
    """The one object that a list or a watch is of: the right for it may be granted by its name."""
    fields = dict(request.query).get("fieldSelector", "")
    return fields.removeprefix(NAMED) if fields.startswith(NAMED) and "," not in fields else ""
