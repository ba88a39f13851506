"""Carries out writes on somebody's behalf, and keeps the warnings that the answer to a request shows.

Requests and the controllers within the process have the same questions answered by the same webhooks and policies.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

import msgspec

from kubeloop.request import Request, Response
from kubesim.admission.questions import Admission
from kubesim.admission.reviewing import Asker
from kubesim.auth.rbac import User
from kubesim.store.versions import Tree
from kubesim.writes.asking import Write

_WARNING = re.compile(r'299 - "(?:[^"\\]|\\.)*"')
_MOST_CHARACTERS = 4096
_SHORTENED = 256
_TEXTS = ("fieldManager", "fieldValidation")


class Writer:
    """Works on behalf of one user, for one request or for a program within the cluster."""

    def __init__(self, admission: Admission, user: User, options: Tree | None = None) -> None:
        self.user = user
        self.warnings: list[str] = []
        self.options: Tree = options or {}
        """Those of the request, as reviews show them."""
        self._admission = admission

    async def carried_out(self, write: Write, *, limited: bool = True) -> Tree:
        """The result of the write; nothing is waited for while it concerns nobody."""
        asker = Asker(self.user, self.options)
        return await self._admission.carried_out(write, asker, self.warnings, limited=limited)

    def signed(self, answer: Response) -> Response:
        """The answer with the warnings that came up, each once."""
        if not self.warnings:
            return answer
        return msgspec.structs.replace(answer, headers=with_warnings(answer.headers, self.warnings))


def with_warnings(headers: Mapping[str, str], warnings: list[str]) -> Mapping[str, str]:
    """The headers of an answer that warns."""
    return {**headers, "warning": ", ".join(_headers(warnings))} if warnings else headers


def header_lines(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The headers as HTTP has them: a line for every warning."""
    lines = [(name, value) for name, value in headers.items() if name != "warning"]
    return lines + [("warning", found) for found in _WARNING.findall(headers.get("warning", ""))]


def _headers(warnings: list[str]) -> list[str]:
    """As header values; what is too long in all is shortened text by text, and cut."""
    texts = list(dict.fromkeys(text for text in warnings if text and not _has_controls(text)))
    if sum(len(text) for text in texts) > _MOST_CHARACTERS:
        shortened, length = [], 0
        for text in texts:
            if length >= _MOST_CHARACTERS:
                break
            shortened.append(text[:_SHORTENED])
            length += len(shortened[-1])
        texts = shortened
    return ['299 - "' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts]


def _has_controls(text: str) -> bool:
    return any(unicodedata.category(character) == "Cc" for character in text)


def shown_options(request: Request) -> Tree:
    """The options of a request that creates or changes, as reviews show them."""
    if not request.query:
        return {}
    query = dict(request.query)
    options: Tree = {"dryRun": [query["dryRun"]]} if query.get("dryRun") else {}
    return options | {key: query[key] for key in _TEXTS if query.get(key)}


def shown_deletion(given: Tree) -> Tree:
    """The options of a deletion, wherever they stand in its request, as reviews show them."""
    return given | {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
