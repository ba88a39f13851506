"""What the server makes of a webhook's reply, and of one that does not come."""

from __future__ import annotations

import json

import msgspec

from kubeloop.calls import Call, NoReply, Reply, TooLate
from kubesim.bodies import go_json, yaml_text
from kubesim.errors import quoted
from kubesim.store.versions import Tree

_NOT_TOLD = "unknown"
_OWN_WORDS = (403, 406, 415)
# What the server makes of an answer without content it understands.
_CODES = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class Unreadable(Exception):
    """A reply is no object; the text says why."""


def unanswered(call: Call, error: NoReply) -> str:
    """That nobody has answered, and why."""
    reason = "context deadline exceeded" if isinstance(error, TooLate) else str(error).removeprefix(f"{call.shown}: ")
    return f"{call.method.capitalize()} {quoted(call.url)}: {reason}"


def content(reply: Reply) -> Tree:
    """The object in a reply, which may be written in YAML; as such nearly everything is text."""
    try:
        found = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            found, _ = yaml_text.read(reply.body)
        except yaml_text.YamlError as error:
            raise Unreadable(str(error)) from None
    if not isinstance(found, dict | None):
        raise Unreadable(f"couldn't get version/kind; json parse error: {go_json.not_an_object(found)}")
    return found or {}


def succeeded(reply: Reply) -> bool:
    return 200 <= reply.status <= 206


def why(reply: Reply) -> str:
    """What a reply with a failure status says."""
    try:
        status = json.loads(reply.body)
    except ValueError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and status.get("message"):
        return str(status["message"])
    kinds = [value for name, value in reply.headers if name.lower() == "content-type"]
    is_text = bool(kinds) and kinds[0].startswith("text/")
    told = reply.body.decode(errors="replace").strip() if is_text else _NOT_TOLD
    if reply.status in _OWN_WORDS:
        return told
    if reply.status in _CODES:
        return _CODES[reply.status]
    if reply.status >= 500:
        return f"an error on the server ({quoted(told)}) has prevented the request from succeeding"
    return f"the server responded with the status code {reply.status} but did not return more information"
