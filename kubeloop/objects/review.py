"""Admission reviews of both versions, as far as handlers read them; objects stay raw until their kind is known."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

VERSIONS = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")
NOTHING = Raw(b"null")


class UserInfo(Struct, frozen=True):
    username: str = ""


class GroupVersionResource(Struct, frozen=True):
    group: str = ""
    version: str = ""
    resource: str = ""


class GroupVersionKind(Struct, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class Review(Struct, frozen=True, rename="camel"):
    """The `request` of an AdmissionReview."""

    uid: str
    kind: GroupVersionKind = GroupVersionKind()
    resource: GroupVersionResource = GroupVersionResource()
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str = ""
    user_info: UserInfo = UserInfo()
    object: Raw = NOTHING
    old_object: Raw = NOTHING
    dry_run: bool | None = None
    options: Raw = NOTHING

    @property
    def is_dry_run(self) -> bool:
        return self.dry_run is True


class Envelope(Struct, frozen=True, rename="camel"):
    """An AdmissionReview as it comes in."""

    api_version: str
    kind: str
    request: Review | None = None


def decode(body: bytes) -> Envelope:
    """Raises msgspec.DecodeError (or UnicodeDecodeError) with a short text when the body is no AdmissionReview."""
    return msgspec.json.decode(body, type=Envelope)
