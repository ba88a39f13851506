"""Refusals of the API server, with the codes, reasons and sentences of the real one.

A `StatusError` is raised where a rule is broken and becomes a `Status` body at the edge; clients tell the cases apart
by code, reason and causes, people by the message, so all four are kept exact.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct

from kubeloop.objects.meta import Resource

CHANGED = "the object has been modified; please apply your changes to the latest version and try again"
_MOST_PLACES, _MOST_ZEROS = 6, 4
_ASCII_ENDS, _SHORT_ENDS = 0x80, 0x10000
_ESCAPES = {
    **dict(zip("\a\b\f\n\r\t\v", ("\\a", "\\b", "\\f", "\\n", "\\r", "\\t", "\\v"), strict=True)),
    '"': '\\"',
    "\\": "\\\\",
}
_JSON_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
# Where the server keeps the objects of a kind, if not under its plural.
_STORED_UNDER = {
    "endpoints": "services/endpoints",
    "ingresses": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter."
)


class Cause(Struct, frozen=True):
    """One broken rule: what kind, at which field, in words."""

    reason: str
    message: str
    field: str = ""

    def tree(self) -> dict[str, object]:
        parts = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in parts.items() if value}


class StatusError(Exception):
    """A failure as a client sees it; `details` is the Status' field of that name."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}
        self._shows_details = details is not None
        self.warnings: list[str] = []
        """What whoever asked is told besides."""

    @property
    def retry_after(self) -> int | None:
        """Seconds after which trying again makes sense."""
        seconds = self.details.get("retryAfterSeconds")
        return seconds if isinstance(seconds, int) else None

    def status(self) -> dict[str, object]:
        """The body of the answer."""
        body: dict[str, object] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self._shows_details:
            body["details"] = self.details
        body["code"] = self.code
        return body


def qualified(resource: Resource) -> str:
    """`pods`, `statefulsets.apps`."""
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _qualified_kind(resource: Resource) -> str:
    return f"{resource.kind}.{resource.group}" if resource.group else resource.kind


def _details(group: str, kind: str, name: str) -> dict[str, object]:
    return {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}


def not_found(resource: Resource, name: str) -> StatusError:
    details = _details(resource.group, resource.plural, name)
    return StatusError(404, "NotFound", f"{qualified(resource)} {quoted(name)} not found", details)


def already_exists(resource: Resource, name: str) -> StatusError:
    details = _details(resource.group, resource.plural, name)
    return StatusError(409, "AlreadyExists", f"{qualified(resource)} {quoted(name)} already exists", details)


def being_deleted(resource: Resource, name: str) -> StatusError:
    """The name is not free yet."""
    found = already_exists(resource, name)
    return StatusError(found.code, found.reason, f"object is being deleted: {found.message}", found.details)


def conflict(resource: Resource, name: str, why: str, *, subresource: str = "") -> StatusError:
    plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
    subject = f"{plural}.{resource.group}" if resource.group else plural
    message = f"Operation cannot be fulfilled on {subject} {quoted(name)}: {why}"
    return StatusError(409, "Conflict", message, _details(resource.group, plural, name))


def precondition(resource: Resource, name: str, field: str, wanted: str, found: str) -> StatusError:
    """A deletion that named another UID or resource version than the object has."""
    happened = "deleted and then recreated" if field == "UID" else "modified"
    why = (
        f"the {field} in the precondition ({wanted}) does not match the {field} in record ({found}). "
        f"The object might have been {happened}"
    )
    message = f"Operation cannot be fulfilled on {_qualified_kind(resource)} {quoted(name)}: {why}"
    return StatusError(409, "Conflict", message, _details(resource.group, resource.kind, name))


def uid_precondition(
    resource: Resource, namespace: str, name: str, wanted: str, found: str, *, dry_run: bool
) -> StatusError:
    """A replacement that carries the UID of another incarnation; a dry run does not reach the store, nor its prefix."""
    prefix = _STORED_UNDER.get(resource.plural, resource.plural)
    if resource.group == "apiextensions.k8s.io" or ("." in resource.group and not resource.group.endswith(".k8s.io")):
        prefix = f"{resource.group}/{resource.plural}"
    root = "" if dry_run else "/registry"
    key = root + "".join(f"/{part}" for part in (prefix, namespace, name) if part)
    why = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    )
    return conflict(resource, name, why)


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> StatusError:
    return _invalid(resource.group, resource.kind, name, causes)


def version_required(resource: Resource, name: str) -> StatusError:
    """An update of a kind that must name the version it is based on, and did not."""
    cause = wrong("metadata.resourceVersion", 0, "must be specified for an update")
    return _invalid(resource.group, resource.plural, name, [cause])


def invalid_options(kind: str, causes: Sequence[Cause]) -> StatusError:
    return _invalid("meta.k8s.io", kind, "", causes)


def _invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> StatusError:
    sentences = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    text = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    subject = f"{kind}.{group}" if group else kind
    details = _details(group, kind, name) | {"causes": [cause.tree() for cause in causes]}
    return StatusError(422, "Invalid", f"{subject} {quoted(name)} is invalid: {text}", details)


def invalid_kind(resource: Resource, kind: str, name: str) -> StatusError:
    """A custom resource that says to be of another kind than its path serves."""
    return _invalid(resource.group, kind, name, [wrong("kind", kind, f"must be {resource.kind}")])


def invalid_version(resource: Resource, kind: str, version: str, name: str) -> StatusError:
    """A custom resource that a patch has made one of another version."""
    cause = wrong("apiVersion", version, f"must be {resource.api_version}")
    return _invalid(version.rpartition("/")[0], kind, name, [cause])


def invalid_patch(patched: str, why: str) -> StatusError:
    """A patch that makes something of the object that it cannot be."""
    return _invalid("", "", "", [wrong("patch", patched, why)])


def unprocessable() -> StatusError:
    """A JSON patch that does not apply, for whatever reason."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    details = _details(resource.group, resource.plural, name)
    if causes:
        details["causes"] = [cause.tree() for cause in causes]
    subject = f"{qualified(resource)} {quoted(name)}" if name else qualified(resource)
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {why}", details)


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def method_not_supported(resource: Resource, verb: str) -> StatusError:
    """The same for a custom resource, which another part of the server refuses."""
    message = f"{verb} is not supported on resources of kind {quoted(qualified(resource))}"
    return StatusError(405, "MethodNotAllowed", message, _details(resource.group, resource.plural, ""))


def no_such_resource() -> StatusError:
    """A path below a served version that names nothing."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def unsupported_media(message: str) -> StatusError:
    return StatusError(415, "UnsupportedMediaType", message)


def unsupported_patch() -> StatusError:
    return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def too_large(why: str) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {why}")


def unknown_format(accepted: Sequence[str]) -> StatusError:
    types = ", ".join(accepted)
    message = f"the body of the request was in an unknown format - accepted media types include: {types}"
    return unsupported_media(message)


def expired(message: str) -> StatusError:
    """The history that was asked for is gone."""
    return StatusError(410, "Expired", message)


def too_large_version(wanted: int, current: int) -> StatusError:
    """A read at a version that has not come yet."""
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    details: dict[str, object] = {"causes": [cause.tree()], "retryAfterSeconds": 1}
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return StatusError(504, "Timeout", message, details)


def internal(message: str) -> StatusError:
    return StatusError(500, "", message)


def internal_error(why: str) -> StatusError:
    """Something that the server depends on failed."""
    details: dict[str, object] = {"causes": [{"message": why}]}
    return StatusError(500, "InternalError", f"Internal error occurred: {why}", details)


def timeout(why: str) -> StatusError:
    return StatusError(504, "Timeout", f"Timeout: {why}", {})


def budget_exhausted(why: str, *, retry_after: int = 0) -> StatusError:
    """An eviction that a disruption budget does not allow."""
    details: dict[str, object] = {"causes": [Cause("DisruptionBudget", why).tree()]}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    text = "Cannot evict pod as it would violate the pod's disruption budget."
    return StatusError(429, "TooManyRequests", text, details)


def quoted(text: str) -> str:
    """As Go's %q prints it."""
    if text.isprintable():
        return json.dumps(text, ensure_ascii=False)
    return f'"{"".join(map(_written, text))}"'


def _written(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign.isprintable():
        return sign
    code = ord(sign)
    if code < _ASCII_ENDS:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _SHORT_ENDS else f"\\U{code:08x}"


def shown(value: object) -> str:
    """A value as the server prints it in a sentence: what is more than a word or a number, as Go writes JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _go_float(value)
    if isinstance(value, str):
        return quoted(value)
    return _as_json(value)


def _as_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).translate(_JSON_ESCAPES)


def _go_float(value: float) -> str:
    """The fewest digits that tell the number, with an exponent where there are more than six places or than four zeros.

    1.5, 100000, 1e+06, 1.2345678e+07, 0.0001, 1e-05
    """
    _, digits, places = Decimal(repr(value)).normalize().as_tuple()
    exponent = len(digits) + int(places) - 1
    if not value or -_MOST_ZEROS <= exponent < _MOST_PLACES:
        return str(int(value)) if value.is_integer() else repr(value)
    rest = "".join(map(str, digits[1:]))
    mantissa = f"{'-' if value < 0 else ''}{digits[0]}{'.' if rest else ''}{rest}"
    return f"{mantissa}e{exponent:+03d}"


def _with(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", _with("Required value", detail), field)


def wrong(field: str, value: object, detail: str = "") -> Cause:
    return Cause("FieldValueInvalid", _with(f"Invalid value: {shown(value)}", detail), field)


def not_allowed(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", _with("Forbidden", detail), field)


def unsupported(field: str, value: object, supported: Sequence[str], *, named: bool = True) -> Cause:
    """A choice that there is not; a text whose type has a name of its own is written as JSON."""
    values = ", ".join(quoted(text) for text in supported)
    told = _as_json(value) if named else shown(value)
    text = f"Unsupported value: {told}: supported values: {values}"
    return Cause("FieldValueNotSupported", text, field)
