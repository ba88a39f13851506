from __future__ import annotations

import msgspec
import pytest

from kubeloop import errors
from kubeloop.errors import ApiError, error_of, error_of_event
from kubeloop.request import Response

DOING = "delete pods/cart-0 in namespace shop"


def a_status(code: int, reason: str, message: str = "", **details: object) -> bytes:
    tree = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    return msgspec.json.encode(tree)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.Throttled),
        (415, "UnsupportedMediaType", ApiError),
        (500, "InternalError", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServerError),
        (504, "Timeout", errors.ServerError),
    ],
)
def test_every_status_has_its_error(code: int, reason: str, kind: type[ApiError]) -> None:
    error = error_of(Response(code, a_status(code, reason, "because")), DOING)

    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (code, reason, "because")
    assert str(error) == f"{DOING}: because"


def test_the_header_says_when_to_come_back_before_the_body_does() -> None:
    body = a_status(429, "TooManyRequests", retryAfterSeconds=7)

    by_header = error_of(Response(429, body, {"retry-after": "3"}), DOING)
    by_body = error_of(Response(429, body), DOING)
    by_date = error_of(Response(429, b"", {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}), DOING)
    silent = error_of(Response(429, a_status(429, "TooManyRequests", retryAfterSeconds=0)), DOING)

    assert by_header.retry_after == 3
    assert by_body.retry_after == 7
    assert by_date.retry_after is None
    assert silent.retry_after is None


def test_what_the_server_warns_of_is_kept_beside_the_failure() -> None:
    warned = error_of(Response(404, b"", {"warning": '299 - "v1 is deprecated"'}), DOING)
    silent = error_of(Response(404, b""), DOING)

    assert (warned.warning, silent.warning) == ('299 - "v1 is deprecated"', "")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"<html>\n<body>Bad gateway</body>", "<html>"),
        (b"", "the server answered 502"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b'"a string"', '"a string"'),
        (b'{"message": null, "details": null}', "the server answered 502"),
    ],
)
def test_a_body_that_is_no_status_is_told_by_its_first_line(body: bytes, text: str) -> None:
    error = error_of(Response(502, body), DOING)

    assert isinstance(error, errors.ServerError)
    assert str(error) == f"{DOING}: {text}"


def test_an_expired_list_may_say_how_to_go_on() -> None:
    body = b'{"kind":"Status","code":410,"reason":"Expired","metadata":{"continue":"a token"}}'

    assert error_of(Response(410, body), "").token == "a token"
    assert error_of(Response(410, b'{"kind":"Status","metadata":{}}'), "").token == ""


def test_an_error_event_of_a_watch_carries_its_own_code() -> None:
    gone = error_of_event(a_status(410, "Expired", "too old resource version"), "watch pods")
    unclear = error_of_event(b"{}", "watch pods")

    assert isinstance(gone, errors.Gone)
    assert str(gone) == "watch pods: too old resource version"
    assert isinstance(unclear, errors.ServerError)


def test_all_errors_have_one_base() -> None:
    for error in (errors.TransportError, errors.ConfigError, errors.NotLeader, errors.RateLimited, ApiError):
        assert issubclass(error, errors.KubeError)
