"""What people are told in Events about things of the whole cluster, which has those of earlier scenarios as well."""

from __future__ import annotations

from typing import Any

from kubeloop.objects.core import EVENTS
from tests.e2e.clusters import Site
from tests.e2e.history import Tree


class Tellings:
    """Events that came since it began."""

    def __init__(self, site: Site, known: frozenset[str]) -> None:
        self._site = site
        self._known = known

    async def all(self, reason: str = "") -> list[Tree]:
        """Those of the reason, where one is given."""
        found = [each for each in await _events(self._site) if each["metadata"]["uid"] not in self._known]
        return [each for each in found if reason in ("", each["reason"])]

    async def has(self, *reasons: str) -> bool:
        return {*reasons} <= {each["reason"] for each in await self.all()}


async def tellings(site: Site) -> Tellings:
    """From now on."""
    return Tellings(site, frozenset(each["metadata"]["uid"] for each in await _events(site)))


async def _events(site: Site) -> tuple[Tree, ...]:
    return tuple((await site.client.list(EVENTS, dict[str, Any])).items)
