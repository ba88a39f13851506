"""Secrets as they travel: sealed, so that nothing that shows or records a value can show a secret.

A seal is text, `sealed:` and a short digest, and whatever prints, compares, encodes or logs it sees that text alone.
The content comes out by one call, `open`, where it is sent or used.

The digest is keyed by whoever seals, with a key of the process: two seals of one process are equal when their contents
are, while a weak password cannot be guessed from a record, as nobody can compute its digest. The price is that seals of
two processes cannot be compared.
"""

from __future__ import annotations

from typing import NoReturn

from msgspec import Struct

PREFIX = "sealed:"


class Shut(Exception):
    """The content of a secret is wanted of which only the seal was written down."""

    def __init__(self) -> None:
        super().__init__("the content of a secret is needed, of which only the seal was written down")


class Sealed(str):
    """A secret; as text it is its seal."""

    __slots__ = ("_content",)

    _content: bytes | None

    def __new__(cls, content: bytes, digest: str) -> Sealed:
        made = super().__new__(cls, f"{PREFIX}{digest}")
        made._content = content
        return made

    @classmethod
    def shut(cls, text: str) -> Sealed:
        """The seal alone, as it was written down: equal to the one that was written, and without its content."""
        if not text.startswith(PREFIX):
            raise ValueError("this is no seal")
        made = super().__new__(cls, text)
        made._content = None
        return made

    def open(self) -> bytes:
        """The secret itself; for whoever sends or uses it, and never for whoever shows it. Raises Shut."""
        if self._content is None:
            raise Shut
        return self._content

    def __repr__(self) -> str:
        return str.__str__(self)

    def __copy__(self) -> Sealed:
        return self

    def __deepcopy__(self, _memo: object) -> Sealed:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a sealed secret stays in its process")


def recordable(value: object) -> str:
    """For encoders of records (`enc_hook`), which know text and not its subclasses."""
    if isinstance(value, Sealed):
        return str.__str__(value)
    raise NotImplementedError(f"{type(value).__name__} has no form to be recorded in")


class Unshown(Struct, frozen=True):
    """A struct with secrets of its own that are used where they are: it is shown by its name alone."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"
