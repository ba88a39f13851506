"""Where a reply sends the caller instead, by the same rules for real and simulated calls.

A call that does not ask for it follows nothing: a redirect is its reply. Of one that does, 307 and 308 keep method and
body, whatever the method; 301, 302 and 303 are followed for GET and HEAD only, because repeating anything else as a GET
would pass for success. From https nothing leads to http, and credentials stay with the origin that they are meant for.
What is not followed is a reply like any other.
"""

from __future__ import annotations

from urllib.parse import SplitResult, urljoin, urlsplit

import msgspec

from kubeloop.calls import Call, Caller, NoReply, Reply
from kubeloop.urls import origin_of, shown_url

MOST = 10
MOST_SHOWN = 200
"""Characters of an address that another side names."""
_KEEPING = (307, 308)
_READING = (301, 302, 303)
_SECRET = ("authorization", "cookie", "cookie2", "proxy-authorization", "host")


async def following(send: Caller, call: Call) -> Reply:
    """The reply at the end of all redirects that the call follows."""
    first = call
    for _ in range(MOST + 1):
        reply = await send(call)
        further = next_call(call, reply)
        if further is None:
            return reply
        call = further
    raise NoReply(f"{first.shown}: redirected more than {MOST} times, the last time to {shown_target(call.url)}")


def next_call(call: Call, reply: Reply) -> Call | None:
    """The call to make instead; None when the reply is the answer.

    Raises NoReply for an address that cannot be read.
    """
    follows = reply.status in _KEEPING or (reply.status in _READING and call.method in ("GET", "HEAD"))
    location = _location(reply)
    if not call.follows or not follows or not location:
        return None
    try:
        url = urljoin(call.url, location)
        parts = urlsplit(url)
        here, there = origin_of(call.url), origin_of(url)
    except ValueError:
        raise NoReply(f"{call.shown}: redirected to what is no address ({shown_target(location)})") from None
    if there == here:
        return msgspec.structs.replace(call, url=url)
    if (here.scheme, there.scheme) == ("https", "http"):
        return None
    headers = tuple((name, value) for name, value in call.headers if name.lower() not in _SECRET)
    return msgspec.structs.replace(call, url=_without_user(parts), headers=headers)


def told(call: Call, reply: Reply) -> str:
    """A reply that is no success, for people; one that points elsewhere tells where to, without what may be secret."""
    answered = f"it answered with status {reply.status}"
    location = _location(reply)
    if reply.status not in _KEEPING + _READING or not location or call.shown_as:
        return answered
    try:
        target = urljoin(call.url, location)
    except ValueError:
        target = location
    return f"{answered}, a redirect to {shown_target(target)} that is not followed"


def _location(reply: Reply) -> str:
    return next((value for name, value in reply.headers if name.lower() == "location"), "")


def shown_target(url: str) -> str:
    """An address that another side names, as text that every log can hold: headers may have bytes of any kind."""
    shown = shown_url(url)
    cut = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}..."
    return cut.encode(errors="backslashreplace").decode()


def _without_user(parts: SplitResult) -> str:
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
