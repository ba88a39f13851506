"""Rights that the API server says are missing: by verb and resource, from the refusal to the first sign of the right.

A refusal by admission is a 403 as well and says nothing about rights. A right may be granted for some namespaces or
names only, so each is remembered with the place where it was missed last, and is there again when that is answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from kubeloop.errors import ApiError, Forbidden
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
PERMITTED = (404, 409, 422)
"""Answered to whoever has the right."""
MOST = 100
"""Rights that are remembered; whoever lacks more lacks them all."""


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
    """Where a right was missed last."""

    right: Right
    namespace: str = ""
    """Empty: in the whole cluster."""
    name: str = ""
    """Of the object; empty: of all."""


class MissedRights:
    """Of one process; `heard` is what its clients call."""

    def __init__(self) -> None:
        self._missed: dict[Right, Missed] = {}
        self._handlers: list[Callable[[Missed], None]] = []

    def __contains__(self, missed: Missed) -> bool:
        return self._missed.get(missed.right) == missed

    def all(self) -> tuple[Missed, ...]:
        return tuple(self._missed[each] for each in sorted(self._missed))

    def of(self, name: str) -> Missed | None:
        """Of the right with this name."""
        return next((each for right, each in self._missed.items() if right.name == name), None)

    def subscribe(self, handler: Callable[[Missed], None]) -> None:
        """Called when a right was missed that was not, and when one is there again."""
        self._handlers.append(handler)

    def heard(self, request: Request, refusal: ApiError | None) -> None:
        """A request was answered; None: it was carried out."""
        if isinstance(refusal, Forbidden):
            if (missed := missed_by(request, refusal.message)) is not None:
                self._miss(missed)
        elif self._missed and (refusal is None or refusal.status in PERMITTED):
            self.granted(_place(request))

    def granted(self, missed: Missed) -> None:
        """The right is there, where it was missed."""
        if missed in self:
            del self._missed[missed.right]
            self._tell(missed)

    def forget(self) -> None:
        """Whoever stops to do what needed them hears no more of them; what it goes on with misses them again."""
        self._missed.clear()

    def _miss(self, missed: Missed) -> None:
        if missed in self or (missed.right not in self._missed and len(self._missed) >= MOST):
            return
        is_known = missed.right in self._missed
        self._missed[missed.right] = missed
        if not is_known:
            self._tell(missed)

    def _tell(self, missed: Missed) -> None:
        for handler in self._handlers:
            handler(missed)


def missed_by(request: Request, message: str) -> Missed | None:
    """What the request lacked; None where it was refused for another reason."""
    found, place = _LACKS.match(message), _place(request)
    if found is None or found["group"] == REVIEWS:
        return None
    # An apply of what is not there is refused as its creation.
    return Missed(Right(found["verb"], found["group"], found["resource"]), place.namespace, place.name)


def _place(request: Request) -> Missed:
    place = place_of(request.path)
    resource = "/".join(filter(None, (place.plural, place.subresource)))
    return Missed(Right(request.verb, place.group, resource), place.namespace, place.name or _selected(request))


def _selected(request: Request) -> str:
    """The one object that a list or a watch is of: the right for it may be granted by its name."""
    fields = dict(request.query).get("fieldSelector", "")
    return fields.removeprefix(NAMED) if fields.startswith(NAMED) and "," not in fields else ""
