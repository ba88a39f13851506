"""What every object has: where it lives on the API, its name, its owners, its versions.

Structs are narrow and frozen: only fields that some decision reads are declared, so thousands of objects are cheap
to hold and safe to share.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Resource(Struct, frozen=True, cache_hash=True):
    """A kind of object and the path it is served under."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As written in an object's `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version


class ServedVersion(Struct, frozen=True):
    """One version in which a kind is served, as discovery tells it."""

    resource: Resource
    subresources: tuple[str, ...] = ()


class Ref(Struct, frozen=True):
    """Names one object; `uid`, where given, ties the name to one incarnation of it."""

    resource: Resource
    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.resource.kind.lower()}/{self.name}"


class OwnerReference(Struct, frozen=True, rename="camel", gc=False):
    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool = False


class Condition(Struct, frozen=True, rename="camel", gc=False):
    type: str
    status: str
    last_transition_time: datetime | None = None
    message: str = ""


class Meta(Struct, frozen=True, rename="camel"):
    """The metadata that all narrow structs share."""

    name: str
    uid: str
    resource_version: str
    namespace: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: datetime | None = None
    """When the grace period ends, not when deletion was asked for."""
    deletion_grace_period_seconds: int = 0
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def controller_uid(self) -> str:
        """UID of the controlling owner, empty when nobody controls the object."""
        for owner in self.owner_references:
            if owner.controller:
                return owner.uid
        return ""


class LabelSelectorRequirement(Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: dict[str, str]) -> bool:
        """Whether this one requirement holds for the labels."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
            case _:
                return False


class LabelSelector(Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    def matches(self, labels: dict[str, str]) -> bool:
        """Whether every requirement holds; an empty selector matches everything."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )
