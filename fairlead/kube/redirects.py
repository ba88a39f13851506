"""Where a reply sends the caller instead, by the same rules for real and simulated calls.

307 and 308 keep method and body, whatever the method; 301, 302 and 303 are followed for GET and HEAD only, because
repeating anything else as a GET would pass for success. What is not followed is a reply like any other.
"""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import msgspec

from fairlead.api.urls import shown_url
from fairlead.kube.calls import Call, Caller, NoReply, Reply

MOST = 10
_KEEPING = (307, 308)
_READING = (301, 302, 303)
_SECRET = ("authorization", "cookie", "host")


async def following(send: Caller, call: Call) -> Reply:
    """The reply at the end of all redirects."""
    first = call
    for _ in range(MOST + 1):
        reply = await send(call)
        further = next_call(call, reply)
        if further is None:
            return reply
        call = further
    last = shown_url(call.url)
    raise NoReply(f"{first.shown}: redirected more than {MOST} times, the last time to {last}")


def next_call(call: Call, reply: Reply) -> Call | None:
    """The call to make instead; None when the reply is the answer. Credentials do not go to another host.

    Raises NoReply for an address that cannot be read.
    """
    follows = reply.status in _KEEPING or (reply.status in _READING and call.method in ("GET", "HEAD"))
    location = next((value for name, value in reply.headers if name.lower() == "location"), "")
    if not follows or not location:
        return None
    headers = call.headers
    try:
        url = urljoin(call.url, location)
        elsewhere = urlsplit(url).netloc.lower() != urlsplit(call.url).netloc.lower()
    except ValueError:
        raise NoReply(f"{call.shown}: redirected to what is no address ({shown_url(location)})") from None
    if elsewhere:
        headers = tuple((name, value) for name, value in headers if name.lower() not in _SECRET)
    return msgspec.structs.replace(call, url=url, headers=headers)
