"""What can go wrong between us and the API server.

KubeError
├── TransportError        no answer: connection, TLS, time-out; the request may or may not have been carried out
├── ConfigError           kubeconfig or in-cluster configuration cannot be used
├── NotLeader             the write gate is closed: the lease is not held, nothing was sent
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

Terminal                  raised by a reconciler: give up until something changes
"""

from __future__ import annotations

from fairlead.kube.request import Response


class KubeError(Exception):
    """Base of all errors of this package."""


class TransportError(KubeError):
    pass


class ConfigError(KubeError):
    pass


class NotLeader(KubeError):
    pass


class RateLimited(KubeError):
    pass


class Terminal(Exception):
    pass


class ApiError(KubeError):
    """The server answered with a failure; `status` is the HTTP code, `reason` and `message` come from its Status."""

    def __init__(
        self, status: int, reason: str = "", message: str = "", *, doing: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(f"{doing}: {message or reason or status}" if doing else message or reason or str(status))
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after


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


def error_of(response: Response, doing: str) -> ApiError:
    """The error for a response whose status is 400 or more; `doing` says what was being done, to which object."""
    raise NotImplementedError
