"""What can go wrong between us and the API server.

KubeError
├── TransportError        no answer: connection, TLS, time-out; the request may or may not have been carried out
│   └── Garbled           an answer that nobody can read: a proxy's page, half a body, bytes that are no text
├── ConfigError           kubeconfig or in-cluster configuration cannot be used
├── NotLeader             the write gate is closed: the lease is not held, nothing was sent
├── WentBack              the server shows an earlier state than before: its data was restored from a backup
├── RateLimited           the client-side limit would outlast the deadline; nothing was sent
└── ApiError              an answer with a Status
    ├── BadRequest        400
    ├── Unauthorized      401
    ├── Forbidden         403
    ├── NotFound          404
    ├── Conflict          409 (AlreadyExists is a Conflict with that reason)
    │   └── AlreadyExists
    ├── Gone              410: the resource version or continue token is too old
    ├── Invalid           422
    ├── Throttled         429: `retry_after` says when
    └── ServerError       5xx
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from kubeloop.request import Response
from kubeloop.unreadable import UNREADABLE

LONGEST_PAUSE = 3600.0
"""Seconds that a server can ask for at most."""
LONGEST_MESSAGE = 16_384
MOST_CAUSES = 200
MOST_SHOWN = 300
"""Bytes of an answer that is no Status, such as a proxy's page."""


class KubeError(Exception):
    """Base of all errors of this package."""


class TransportError(KubeError):
    pass


class Garbled(TransportError):
    pass


class ConfigError(KubeError):
    pass


class NotLeader(KubeError):
    pass


class RateLimited(KubeError):
    pass


class WentBack(KubeError):
    pass


class ApiError(KubeError):
    """The server answered with a failure; `status` is the HTTP code, `reason` and `message` come from its Status."""

    def __init__(
        self,
        status: int,
        reason: str = "",
        message: str = "",
        *,
        doing: str = "",
        retry_after: float | None = None,
        token: str = "",
        warning: str = "",
        causes: tuple[tuple[str, str], ...] = (),
    ) -> None:
        text = message or reason or f"the server answered {status}"
        super().__init__(f"{doing}: {text}" if doing else text)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.token = token
        """With which a list whose pages have expired can be gone on with, at the price of its consistency."""
        self.warning = warning
        """What the server warned of beside the failure, as its header has it."""
        self.causes = causes
        """Of what is invalid: each field, and what is wrong with it."""


class BadRequest(ApiError):
    pass


class Unauthorized(ApiError):
    pass


class Forbidden(ApiError):
    pass


class NotFound(ApiError):
    pass


class Conflict(ApiError):
    pass


class AlreadyExists(Conflict):
    pass


class Gone(ApiError):
    pass


class Invalid(ApiError):
    pass


class Throttled(ApiError):
    pass


class ServerError(ApiError):
    pass


class _Cause(Struct):
    field: str = ""
    message: str = ""


class _Details(Struct, rename="camel"):
    retry_after_seconds: float = 0
    causes: list[_Cause] | None = None


class _ListMeta(Struct, rename={"token": "continue"}):
    token: str = ""


class _Status(Struct):
    reason: str | None = None
    message: str | None = None
    code: int | None = None
    details: _Details | None = None
    metadata: _ListMeta | None = None


OF_STATUS: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: Throttled,
}


def error_of(response: Response, doing: str) -> ApiError:
    """The error for a response whose status is 400 or more; `doing` says what was being done, to which object."""
    status = _decoded(response.body)
    header, warning = response.headers.get("retry-after", ""), response.headers.get("warning", "")
    if not (header.isascii() and header.replace(".", "", 1).isdigit()):
        return _error(response.status, status, doing, _retry_after(status), warning)
    return _error(response.status, status, doing, min(float(header), LONGEST_PAUSE), warning)


def error_of_event(body: bytes, doing: str) -> ApiError:
    """The error for the object of a watch's ERROR event, a Status that carries its own code."""
    status = _decoded(body)
    return _error(status.code or 500, status, doing, _retry_after(status))


def _error(code: int, status: _Status, doing: str, retry_after: float | None, warning: str = "") -> ApiError:
    kind = OF_STATUS.get(code, ServerError if code >= 500 else ApiError)
    if status.reason == "AlreadyExists":
        kind = AlreadyExists
    token = status.metadata.token if status.metadata else ""
    message = (status.message or "")[:LONGEST_MESSAGE]
    reason = (status.reason or "")[:MOST_SHOWN]
    found = (status.details.causes if status.details else None) or []
    causes = tuple((each.field, each.message[:MOST_SHOWN]) for each in found[:MOST_CAUSES])
    return kind(
        code,
        reason,
        message,
        doing=doing,
        retry_after=retry_after,
        token=token,
        warning=warning,
        causes=causes,
    )


def _retry_after(status: _Status) -> float | None:
    """None where it asks for no pause; whatever it asks for, somebody looks again within an hour."""
    seconds = status.details.retry_after_seconds if status.details else 0.0
    return min(seconds, LONGEST_PAUSE) if seconds > 0 else None


def _decoded(body: bytes) -> _Status:
    """The Status in a body; a proxy's page or an empty body is a Status whose message is its first line."""
    try:
        return msgspec.json.decode(body, type=_Status)
    except UNREADABLE:
        lines = body[:MOST_SHOWN].decode(errors="replace").strip().splitlines()
        return _Status(message=lines[0] if lines else None)
