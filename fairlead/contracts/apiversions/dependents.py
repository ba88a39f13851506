"""Dependents: objects of other kinds that name objects of a CRD as their owners, found page by page (section 2.3).

Only metadata is read. Kinds are those that somebody names, else all that can be listed; of these, one that this user
may not list is left out and named, and so is a group whose server fails.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from msgspec import Struct

from fairlead.contracts.apiversions.decide.offline.backup_format import Dependent
from fairlead.engine.command import Precondition
from kubeloop.client import Client
from kubeloop.discovery import discover, listable
from kubeloop.errors import ApiError, Forbidden, Gone
from kubeloop.objects.meta import OwnerReference, Resource
from kubeloop.request import list_page

PAGE = 500
UNOWNED = ("Event", "ComponentStatus")
"""Events belong to nobody, and the other is no object: it has neither UID nor version."""


class DependentMeta(Struct, frozen=True, rename="camel"):
    name: str
    uid: str
    resource_version: str
    namespace: str = ""
    owner_references: tuple[OwnerReference, ...] = ()


class DependentObject(Struct, frozen=True):
    metadata: DependentMeta


class Search(Struct):
    """What is looked through, and what could not be."""

    client: Client
    kinds: tuple[Resource, ...]
    page: int = PAGE
    unlisted: list[str] = []

    async def found(self, group: str, kind: str) -> AsyncIterator[tuple[Resource, DependentMeta]]:
        """Every object that names one of this kind as an owner, in whatever version."""
        for resource in self.kinds:
            async for each in self._listed(resource):
                if any(_is_of(owner, group, kind) for owner in each.owner_references):
                    yield resource, each

    async def _listed(self, resource: Resource) -> AsyncIterator[DependentMeta]:
        token, limit = "", self.page
        while True:
            asked = list_page(resource, limit=limit, token=token, metadata_only=True)
            try:
                part = await self.client.page(asked, DependentObject)
            except Gone:
                if not token:
                    raise
                token = ""  # from the start: whoever hears of an object twice takes no harm
                continue
            except Forbidden:
                self._leave_out(resource)
                return
            except ApiError as error:
                if error.status not in (404, 405, 406):
                    raise
                self._leave_out(resource)  # of an API server that has gone, or does not give metadata alone
                return
            for each in part.items:
                yield each.metadata
            if not part.token:
                return
            token = part.token

    def _leave_out(self, resource: Resource) -> None:
        self.unlisted.append(f"{resource.group}/{resource.kind}" if resource.group else resource.kind)


async def search(
    client: Client, named: Sequence[tuple[str, str]], page: int = PAGE, *, stored: Resource | None = None
) -> Search:
    """A search through the named kinds, else through all that can be owned; raises Precondition for an unknown one.

    `stored` is a kind in the version that its objects are read and written in without anybody who converts them.
    """
    if not named:
        every = await listable(client)
        kinds = tuple(_as_stored(each, stored) for each in every.kinds if each.kind not in UNOWNED)
        return Search(client, kinds, page, [*every.unasked])
    found = []
    for group, kind in named:
        served = await discover(client, group, kind)
        if not served:
            shown = f"{group}/{kind}" if group else kind
            raise Precondition(f"no kind {shown} is served here: correct --dependents, which is GROUP/KIND")
        found.append(_as_stored(served[0].resource, stored))
    return Search(client, tuple(found), page)


def unasked(groups: Sequence[str]) -> str:
    """What a search says before anything is written that leaves these out."""
    which = ", ".join(groups)
    return f"the server of {which} fails, so objects of its kinds that name these as owners are not looked at"


def _as_stored(resource: Resource, stored: Resource | None) -> Resource:
    if stored is None or (resource.group, resource.plural) != (stored.group, stored.plural):
        return resource
    return stored


def as_dependents(resource: Resource, found: DependentMeta, group: str, kind: str) -> list[Dependent]:
    """As a backup has them, one for each owner of this kind."""
    return [
        Dependent(resource.api_version, resource.kind, resource.plural, found.namespace, found.name, owner.uid)
        for owner in found.owner_references
        if _is_of(owner, group, kind)
    ]


def _is_of(owner: OwnerReference, group: str, kind: str) -> bool:
    return owner.kind == kind and owner.api_version.rpartition("/")[0] == group
