"""Writing an object back as it was read, so that it is stored in the storage version; and pages of such objects.

A write that was refused because somebody else wrote in between is made again from what is read then; an object that is
gone is done. One that nobody answered for says nothing of the object.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from fairlead.core.act import Does, Replace
from fairlead.core.ask import Answers, Ask, Bad, Good, Question, Read
from fairlead.engine.decide.migration import MOST_TRIES, Fate, fate_of
from kubeloop.objects.meta import Ref, Resource


class _Meta(Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    resource_version: str = ""


class _Object(Struct, frozen=True):
    metadata: _Meta


class _ListMeta(Struct, frozen=True, rename={"token": "continue"}):
    token: str = ""


class _Page(Struct, frozen=True):
    items: list[Raw]
    metadata: _ListMeta = _ListMeta()


_OBJECT = msgspec.json.Decoder(_Object)
_PAGE = msgspec.json.Decoder(_Page)


def page_of(resource: Resource, body: bytes) -> tuple[list[Rewrite], str]:
    """The objects of a page and the cursor of the next one, empty behind the last; raises one of UNREADABLE."""
    page = _PAGE.decode(body)
    return [Rewrite.of(resource, item) for item in page.items], page.metadata.token


class RewriteEnd(Struct, frozen=True):
    """What has become of an object."""

    ref: Ref
    fate: Fate
    kind: str = ""
    """Of the last failure, and what it says."""
    text: str = ""


class Rewrite(Struct, frozen=True):
    """An object that is written as it was read, and read again when somebody else wrote it in between."""

    ref: Ref
    body: bytes
    version: str

    @classmethod
    def of(cls, resource: Resource, item: bytes) -> Rewrite:
        metadata = _OBJECT.decode(item).metadata
        return cls(Ref(resource, metadata.namespace, metadata.name), bytes(item), metadata.resource_version)

    def walked(self, answers: Answers) -> Question | RewriteEnd:
        """The next question about it, or what has become of it."""
        body, version = self.body, self.version
        for tries in range(1, MOST_TRIES + 1):
            write = self._write(body, version, tries)
            if (written := answers.known.get(write)) is None:
                return write
            if (end := self._end(written, tries)) is not None:
                return end
            # The same version may be refused again for another reason than its age, so the try is part of the question.
            read = Ask(Read(self.ref, after=f"{version} (try {tries})"))
            if (found := answers.known.get(read)) is None:
                return read
            if isinstance(found, Bad):
                return self._end(found, MOST_TRIES) or RewriteEnd(self.ref, Fate.FAILED, found.kind, found.text)
            body, version = found.value, _OBJECT.decode(found.value).metadata.resource_version
        raise AssertionError("the last try has an end")

    def _write(self, body: bytes, version: str, tries: int) -> Replace:
        stored = self.ref.resource.version
        return Replace(
            ref=self.ref,
            body=body,
            resource_version=version,
            does=Does.REWRITE_OBJECT,
            change_to=stored if tries == 1 else f"{stored} (try {tries})",
            repeatable=True,
        )

    def _end(self, answer: Good | Bad, tries: int) -> RewriteEnd | None:
        if isinstance(answer, Good):
            return RewriteEnd(self.ref, Fate.STORED)
        fate = fate_of(answer.code, tries)
        return None if fate is Fate.READ_AGAIN else RewriteEnd(self.ref, fate, answer.kind, answer.text)
