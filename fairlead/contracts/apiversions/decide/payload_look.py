"""Whether all objects of a kind have the fields of the version that they are stored in (section 3.13).

Objects that nobody converted may claim one version and have the fields of another; once a webhook takes their claim for
true, what it makes of them is wrong. So before it is put in force all of them are looked at, a page in each round, with
a journal of how far that came.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.claimed_versions import as_hub
from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.detaching import storage_version
from fairlead.contracts.apiversions.decide.field_evidence import payload_of
from fairlead.contracts.apiversions.decide.payload import judged
from fairlead.contracts.apiversions.decide.pruned_leaves import is_union_safe
from fairlead.contracts.apiversions.decide.trees import Tree, same
from fairlead.core.amounts import counted
from fairlead.core.ask import Answers, Ask, Bad, Listing, Need, ReadRecord, SwapRecord
from fairlead.engine.decide.conversion_probe import resource_of
from kubeloop.unreadable import UNREADABLE

PAGE = 100
MOST_NAMED = 10
TIMEOUT_SECONDS = 30.0
HOLDS = timedelta(minutes=1)
"""After which objects have to be looked at again: others write them meanwhile."""


class PayloadLook(Struct, frozen=True):
    """How far a look has come."""

    of: str = ""
    """What it is about: the UID of the definition and the version that objects are stored in."""
    cursor: str = ""
    seen: int = 0
    foreign: int = 0
    """Objects with fields of another version, or of several, or where nobody can tell."""
    named: tuple[str, ...] = ()
    """The first of them."""
    done: datetime | None = None

    def serves(self, of: str, now: datetime) -> bool:
        return self.of == of and (self.done is None or timedelta() <= now - self.done < HOLDS)


class Looking(Struct, frozen=True):
    """There is more to look at."""

    seen: int


class LookFailed(Struct, frozen=True):
    text: str


def looked(
    definition: Tree, kind: KindConversion, answers: Answers, now: datetime
) -> PayloadLook | Looking | LookFailed | Need:
    """The look when it is done; else what must be asked, or waited for, first."""
    name, storage = str(definition["metadata"]["name"]), storage_version(definition)
    record, of = f"payload-look/{name}", f"{definition['metadata'].get('uid', '')} {storage}"
    read = Ask(ReadRecord(record))
    if todo := answers.lacking((read,)):
        return Need(todo)
    found = answers[read]
    if isinstance(found, Bad):
        return LookFailed(found.text or found.kind)
    held = _decoded(found.value)
    look = held if held.serves(of, now) else PayloadLook(of)
    if look.done is not None:
        return look
    page = Ask(Listing(resource_of(definition, storage), "", limit=PAGE, cursor=look.cursor), timeout=TIMEOUT_SECONDS)
    if todo := answers.lacking((page,)):
        return Need(todo)
    listed = answers[page]
    if isinstance(listed, Bad):
        if listed.kind != "expired":
            return LookFailed(listed.text or listed.kind)
        after = PayloadLook(of) if not listed.cursor else structs.replace(look, cursor=listed.cursor)
    else:
        page_of = _Page(kind, storage, lossless=is_union_safe(definition))
        after = page_of.after(look, msgspec.json.decode(listed.value), now)
    write = Ask(SwapRecord(record, found.version, msgspec.json.encode(after)), effect=True)
    if todo := answers.lacking((write,)):
        return Need(todo)
    written = answers[write]
    if isinstance(written, Bad):
        return LookFailed(written.text or written.kind)
    return after if after.done is not None else Looking(after.seen)


def is_foreign_payload(tree: Tree, kind: KindConversion, storage: str, *, lossless: bool) -> bool:
    """Whether a converter that takes the object for one of its storage version would be wrong.

    `lossless` says that versions know all fields of one another. Then no field tells a version and only its last writer
    does, who may have been converted at the time: what both versions mean alike is no reason against the object. Where
    fields were pruned, the writer of another version is one, whatever is left.
    """
    payload = judged(tree, kind)
    harmless = payload.evidence == 5  # every version means the same by these fields
    if harmless or payload.versions == (storage,):
        return False
    return not (lossless and payload.version and _mean_alike(tree, kind, payload.version, storage))


def _mean_alike(tree: Tree, kind: KindConversion, version: str, storage: str) -> bool:
    one, other = as_hub(tree, kind, version), as_hub(tree, kind, storage)
    return one is not None and other is not None and same(payload_of(one), payload_of(other))


def told(look: PayloadLook) -> str:
    """The sentence about objects that stand in the way."""
    more = look.foreign - len(look.named)
    names = ", ".join(look.named) + (f" and {more} more" if more > 0 else "")
    have = "has" if look.foreign == 1 else "have"
    of = f"{look.foreign} of {counted(look.seen, 'object')}"
    return f"{of} {have} fields of another version, or nobody can tell: {names}"


class _Page(Struct, frozen=True):
    """What the objects of a page are held against."""

    kind: KindConversion
    storage: str
    lossless: bool

    def after(self, look: PayloadLook, page: dict[str, Any], now: datetime) -> PayloadLook:
        items: list[Tree] = page.get("items") or []
        foreign = [_name(each) for each in items if self._is_foreign(each)]
        cursor = str(page["metadata"].get("continue") or "")
        return PayloadLook(
            of=look.of,
            cursor=cursor,
            seen=look.seen + len(items),
            foreign=look.foreign + len(foreign),
            named=(*look.named, *foreign)[:MOST_NAMED],
            done=None if cursor else now,
        )

    def _is_foreign(self, item: Tree) -> bool:
        whole = _whole(item, self.kind, self.storage)
        return is_foreign_payload(whole, self.kind, self.storage, lossless=self.lossless)


def _whole(tree: Tree, kind: KindConversion, storage: str) -> Tree:
    """Items of a list need not say what they are."""
    return {"apiVersion": f"{kind.group}/{storage}", "kind": kind.kind, **tree}


def _name(tree: Tree) -> str:
    metadata = tree["metadata"]
    return "/".join(filter(None, (metadata.get("namespace", ""), metadata["name"])))


def _decoded(value: bytes) -> PayloadLook:
    try:
        return msgspec.json.decode(value, type=PayloadLook) if value else PayloadLook()
    except UNREADABLE:
        return PayloadLook()
