"""What is asked in an exchange: cases made of steps, and short ways to write them.

A case has a namespace of its own, `{ns}` in its texts, and whatever it makes at cluster scope carries that name too, so
that cases can run beside one another. `<<1.metadata.uid>>` in a text is what the answer to the first step holds there.
`{"$hook": "deny"}` in a body is the `clientConfig` by which that handler of `handlers` is reached.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

Tree = dict[str, Any]


class Step(Struct, frozen=True, kw_only=True):
    """One request, and what of its answer counts."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    """A tree, or text or bytes that are sent as they are; None sends no body."""
    content_type: str = ""
    accept: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    user: str = ""
    """Known by a client certificate; the administrator unless given."""
    groups: tuple[str, ...] = ()
    until: int = 0
    """The step is set-up: repeated until it is answered with this status, and not recorded."""
    containing: str = ""
    """With `until`: what the answer's body must contain besides."""
    lines: int | None = None
    """A watch that is left after so many lines; 0 reads to the end that the server sets."""
    during: tuple[Step, ...] = ()
    """Sent while the watch is open, not recorded."""
    any_order: bool = False
    """The causes of a refusal come in any order."""
    compared: tuple[str, ...] = ("status", "headers", "body")

    @property
    def request(self) -> str:
        """The request for people, in one line."""
        target = f"{self.path}?{urlencode(self.query, safe='/{}<>,=!()[] ')}" if self.query else self.path
        return f"{self.method} {target}" + (f" as {self.user}" if self.user else "")


class Case(Struct, frozen=True):
    name: str
    """A sentence; the namespace is made from it."""
    steps: tuple[Step, ...]

    @property
    def namespace(self) -> str:
        words = "".join(letter if letter.isalnum() else "-" for letter in self.name.lower())
        return "-".join(filter(None, words.split("-")))

    @property
    def recorded(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if not step.until)


def case(name: str, *steps: Step) -> Case:
    made = Case(name, steps)
    if len(made.namespace) > 50:
        raise ValueError(f"the name of the case is too long for a namespace: {name}")
    return made


def digest(step: Step) -> str:
    """Tells whether a recorded answer is of this step."""
    text = json.dumps(_plain(step), sort_keys=True, default=lambda raw: raw.hex())
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _plain(step: Step) -> Tree:
    return {name: getattr(step, name) for name in step.__struct_fields__} | {"during": [*map(_plain, step.during)]}


def _pairs(query: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in query.items())


def get(path: str, accept: str = "", **query: Any) -> Step:
    return Step(method="GET", path=path, accept=accept, query=_pairs(query))


def post(path: str, body: Any, content_type: str = JSON, **query: Any) -> Step:
    return Step(method="POST", path=path, body=body, content_type=content_type, query=_pairs(query))


def put(path: str, body: Any, content_type: str = JSON, **query: Any) -> Step:
    return Step(method="PUT", path=path, body=body, content_type=content_type, query=_pairs(query))


def patch(path: str, body: Any, content_type: str = MERGE, **query: Any) -> Step:
    return Step(method="PATCH", path=path, body=body, content_type=content_type, query=_pairs(query))


def applied(path: str, body: Any, manager: str = "first", **query: Any) -> Step:
    """Server-side apply."""
    return patch(path, body, APPLY, fieldManager=manager, **query)


def delete(path: str, body: Any = None, **query: Any) -> Step:
    content_type = "" if body is None else JSON
    return Step(method="DELETE", path=path, body=body, content_type=content_type, query=_pairs(query))


def watch(path: str, lines: int = 0, *during: Step, accept: str = "", **query: Any) -> Step:
    """A watch of one second, or until so many lines have come."""
    asked = {"watch": "true", "timeoutSeconds": 10 if lines else 1} | query
    return Step(method="GET", path=path, accept=accept, query=_pairs(asked), lines=lines, during=during)


def ready(step: Step, status: int = 200, containing: str = "") -> Step:
    """Set-up that the real server needs a moment for: repeated until it is answered so."""
    return replace(step, until=status, containing=containing)


def quiet(step: Step) -> Step:
    """The step, of whose answer only the status counts."""
    return replace(step, compared=("status",))


def by(user: str, step: Step, *groups: str) -> Step:
    """The step as somebody else, known by a certificate."""
    return replace(step, user=user, groups=groups)


def acting(step: Step, *headers: tuple[str, str]) -> Step:
    """The step with headers, such as those of impersonation."""
    return replace(step, headers=headers)


def unordered(step: Step) -> Step:
    """The step, whose refusal tells its causes in any order."""
    return replace(step, any_order=True)
