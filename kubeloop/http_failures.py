"""What aiohttp raises, in the words of the system: what happened, without the address that was asked.

Who asked, and what would help, is said by whoever catches it.
"""

from __future__ import annotations

import os
import socket
import ssl

import aiohttp


def cause_of(error: BaseException) -> str:
    """Why a request failed, with what caused the error where that names nothing itself."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"status {error.status}: {error.message}"  # its own text holds the whole address
    inner = getattr(error, "os_error", None) or error
    if isinstance(inner, ssl.SSLError):  # its number is one of OpenSSL's
        return (inner.reason or str(inner)).replace("_", " ").lower()
    if isinstance(inner, OSError) and inner.errno and not isinstance(inner, socket.gaierror):
        return os.strerror(inner.errno).lower()  # asyncio's own text names sockets, not what happened
    return getattr(inner, "strerror", None) or str(inner) or type(inner).__name__


def distrust_of(error: BaseException) -> str:
    """Why a certificate is not trusted."""
    inner = getattr(error, "certificate_error", error)
    return getattr(inner, "verify_message", "") or str(inner)
