"""Records that are kept in several places, by their names."""

from __future__ import annotations

from collections.abc import Mapping

from kubeloop.records import Recorded, Records


class RoutedRecords:
    """Those that are named, each in its place, and all others in one."""

    def __init__(self, named: Mapping[str, Records], others: Records) -> None:
        self._named, self._others = named, others

    async def get(self, key: str) -> Recorded:
        return await self._named.get(key, self._others).get(key)

    async def swap(self, key: str, version: str, value: bytes, lasts: int = 0) -> str:
        return await self._named.get(key, self._others).swap(key, version, value, lasts)
