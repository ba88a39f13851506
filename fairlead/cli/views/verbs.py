"""What a verb did, or would do: lines for people, a document for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from fairlead.core.explain import API_VERSION

if TYPE_CHECKING:
    from fairlead.core.verb import VerbDocument, VerbTable, VerbWrite


class VerbResult(Struct, kw_only=True, rename="camel"):
    """The document of a verb that writes."""

    api_version: str = API_VERSION
    kind: str = "VerbResult"
    verb: str
    part: str
    namespace: str
    rollout: str
    dry_run: bool = False
    changed: bool = False
    said: str = ""
    by: str = ""
    """Who asked for it, as the API server knows them."""
    reason: str = ""
    event: str = ""
    """What the Event says, or would say."""
    writes: list[dict[str, object]] = []
    warnings: tuple[str, ...] = ()


def written_as(write: VerbWrite) -> dict[str, object]:
    ref = write.ref
    place = {"apiVersion": ref.resource.api_version, "kind": ref.resource.kind, "namespace": ref.namespace}
    return {**place, "name": ref.name, "patch": write.patch, "changes": list(write.shown)}


def patches(writes: Sequence[VerbWrite]) -> str:
    """Exactly what would be sent; with the names of the objects where there are several."""
    shown = [msgspec.json.format(msgspec.json.encode(write.patch), indent=2).decode() for write in writes]
    if len(shown) == 1:
        return shown[0]
    return "\n".join(f"{write.ref}:\n{text}" for write, text in zip(writes, shown, strict=True))


def table_document(found: VerbTable, part: str, namespace: str) -> dict[str, object]:
    place = {"part": part, "namespace": namespace, "rollout": found.rollout}
    return {"apiVersion": API_VERSION, "kind": found.kind, **place, "items": list(found.items)}


def document_of(found: VerbDocument, part: str, namespace: str) -> dict[str, object]:
    place = {"part": part, "namespace": namespace, "rollout": found.rollout}
    return {"apiVersion": API_VERSION, "kind": found.kind, **place, **found.item}


def in_form(document: object, form: str) -> str:
    """As `json` or `yaml`."""
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    import yaml

    tree = msgspec.to_builtins(document)
    text: str = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, default_flow_style=False)
    return text.rstrip("\n")
