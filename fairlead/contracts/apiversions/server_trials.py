"""Converted objects tried on the server, as a creation that is only rehearsed: it knows expressions and formats.

A creation, because an update lets pass what was wrong before. The name is taken, which the server says only after it
has found the object valid. Only versions can be tried that are served with the schema that is to come, and only so many
objects: each is a request.
"""

from __future__ import annotations

import msgspec

from fairlead.contracts.apiversions.decide.convert import KindConversion, convert
from fairlead.contracts.apiversions.decide.crd_versions import resource_of, served_versions, storage_version
from fairlead.contracts.apiversions.decide.preflight.objects import NOWHERE, Trials, as_new
from fairlead.contracts.apiversions.decide.trees import Tree
from kubeloop.client import Client
from kubeloop.errors import AlreadyExists, ApiError, Invalid
from kubeloop.request import create, dry


class ServerTrials:
    """Of one definition; `wanted` is as it is to be."""

    def __init__(self, client: Client, live: Tree, wanted: Tree, kind: KindConversion | None, *, most: int) -> None:
        self._client, self._live, self._kind = client, live, kind
        self._left = most
        tried = [] if kind is None else [each for each in _as_they_stay(live, wanted) if each in kind.versions]
        self._versions = tuple(each for each in tried if each != storage_version(live))

    async def of(self, tree: Tree) -> Trials:
        """By version that it could be tried in: what was refused."""
        if not self._versions or self._left <= 0:
            return {}
        self._left -= 1
        found = {version: await self._tried(tree, version) for version in self._versions}
        return {version: refused for version, refused in found.items() if refused is not None}

    async def _tried(self, tree: Tree, version: str) -> tuple[tuple[str, str], ...] | None:
        """None where the server was not asked, or says nothing about whether it is valid."""
        if self._kind is None:
            return None
        try:
            there = convert(tree, version, self._kind).tree
        except Exception:  # noqa: BLE001  (rules in Python may raise anything, which is a finding of its own)
            return None
        namespace = tree["metadata"].get("namespace") or ""
        asked = create(resource_of(self._live, version), namespace, msgspec.json.encode(as_new(there)))
        try:
            await self._client.call(dry(asked))
        except Invalid as error:
            return error.causes or ((NOWHERE, error.message),)
        except AlreadyExists:
            return ()
        except ApiError:
            self._versions = tuple(each for each in self._versions if each != version)  # it would be the same again
            return None
        return ()


def _as_they_stay(live: Tree, wanted: Tree) -> list[str]:
    """Versions that are served now with the schema that is to come.

    None that is deprecated: the server would remember that somebody asked for it.
    """
    served = served_versions(live)
    now, then = ({each["name"]: each for each in tree["spec"]["versions"]} for tree in (live, wanted))
    usable = [each for each in served if each in then and not now[each].get("deprecated")]
    return [each for each in usable if now[each].get("schema") == then[each].get("schema")]
