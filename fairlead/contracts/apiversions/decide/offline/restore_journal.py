"""What a restore remembers between its steps, and what it is told of the world (section 3.7.6)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import TypeAlias

from msgspec import Struct

from fairlead.contracts.apiversions.decide.offline.backup_format import Dependent
from fairlead.contracts.apiversions.decide.offline.object_parts import Parts
from fairlead.engine.decide.job import JobSnapshot
from kubeloop.schemas.structural import Node

PAGE = 200


class RestoreWorld(Struct, frozen=True):
    paths: tuple[str, ...]
    """Of the objects of the backup; owners come before what they own."""
    parts: Parts
    dependents: tuple[Dependent, ...]
    replaces_others: bool = False
    """Whether an object of the same name but another UID is written over."""
    dry_run: bool = False
    page: int = PAGE
    schemas: Mapping[str, Node] = {}
    """By version: what objects go through on their way into the store."""
    depths: Mapping[str, int] = {}
    """By path, of objects that others of the backup own: how many stand above them."""
    uids: frozenset[str] = frozenset()
    """Of the objects of the backup."""
    versions: frozenset[str] = frozenset()
    """That the definition has now."""

    def objects_from(self, begins: int) -> tuple[str, ...]:
        """The next page: none of them owns another."""
        page = self.paths[begins : begins + self.page]
        return tuple(takewhile(lambda each: self.depths.get(each, 0) == self.depths.get(page[0], 0), page))


class RestoredObject(Struct, frozen=True):
    """What has become of an object, for people."""

    name: str
    text: str


class RestoreJournal(Struct, frozen=True):
    next: int = 0
    """Place of the next object, and behind the last that of the next dependent."""
    same: int = 0
    changed: int = 0
    created: int = 0
    pointed: int = 0
    recreated: dict[str, tuple[str, str]] = {}
    """Version and UID of objects that have another UID than before, by each that they had."""
    skipped: tuple[RestoredObject, ...] = ()
    failed: tuple[RestoredObject, ...] = ()
    skipped_count: int = 0
    failed_count: int = 0
    orphaned: tuple[RestoredObject, ...] = ()
    """That are there without an owner which they had."""
    orphaned_count: int = 0
    problem: str = ""
    """Why it could not go on."""


RestoreSnapshot: TypeAlias = JobSnapshot[RestoreJournal, RestoreWorld]
