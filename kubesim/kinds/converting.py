"""Objects of custom resources in the version that somebody wants: a question, and what comes before and after it.

A write or a read that needs a tree in another version says

    trees = yield from converted(kind, [tree], "example.com/v1")

and goes on with the answer; where no webhook has to be asked, nothing is yielded. A failure is raised as a StatusError
at that very place, so that who can do without the answer may catch it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from kubesim.crds.conversion import Conversion
from kubesim.errors import StatusError
from kubesim.kinds.registry import Kind
from kubesim.store.versions import Tree, Version

T = TypeVar("T")


class Convert(Struct, frozen=True):
    """Asks a conversion webhook for trees in the desired version; the answer is a list, in the same order.

    Those that have the version already come back as they are. What is converted is not pruned and has no new defaults:
    it is what the webhook said, with the metadata of the original but for labels and annotations.
    """

    conversion: Conversion
    trees: tuple[Tree, ...]
    desired: str
    """An apiVersion: group and version."""


Converting: TypeAlias = Generator[Convert, list[Tree], T]
Answers: TypeAlias = Callable[[Convert], Awaitable[list[Tree]]]
"""Has a question answered; raises StatusError."""


def converted(kind: Kind, trees: Sequence[Tree], desired: str) -> Converting[list[Tree]]:
    """The trees in the desired apiVersion; one Convert for all of them, and only where a webhook has to be asked.

    Kinds that are built in have one version; their trees come back as they are.
    """
    if kind.custom is None:
        return list(trees)
    direct = kind.custom.conversion.directly(trees, desired)
    return direct if direct is not None else (yield Convert(kind.custom.conversion, tuple(trees), desired))


def shown(kind: Kind, version: Version) -> Converting[Tree]:
    """What is stored, in the version of the kind.

    The version it is stored in fills in its defaults, then it is converted, then the kind's version prunes it.
    """
    custom, tree = kind.custom, version.tree()
    if custom is None or custom.is_plain(version):
        return tree
    custom.conversion.decode(tree)
    if tree["apiVersion"] == kind.resource.api_version:
        return tree
    return (yield from _moved(kind, tree, kind.resource.api_version))


def kept(kind: Kind, tree: Tree) -> Converting[Tree]:
    """A tree of the kind's version as it is stored."""
    custom = kind.custom
    if custom is None or custom.conversion.stored_as == kind.resource.api_version:
        return tree
    return (yield from _moved(kind, copied(tree), custom.conversion.stored_as))


def _moved(kind: Kind, tree: Tree, desired: str) -> Converting[Tree]:
    """Between the store and a version; what is stored does not say its resource version, so no webhook is told it."""
    revision = tree["metadata"].pop("resourceVersion", None)
    [moved] = yield from converted(kind, [tree], desired)
    if kind.custom is not None:
        kind.custom.conversion.shape(moved)
    if revision is not None:
        moved["metadata"]["resourceVersion"] = revision
    return moved


def twin(kind: Kind, version: Version, tree: Tree) -> Tree:
    """Another copy of what is shown of a version; of a kind that is built in, what is stored is just that."""
    return version.tree() if kind.custom is None else copied(tree)


def copied(tree: Tree) -> Tree:
    """A deep copy."""
    return msgspec.json.decode(msgspec.json.encode(tree), type=Tree)


def unasked(asking: Converting[T]) -> T:
    """The result of what needs no webhook."""
    try:
        asked = next(asking)
    except StopIteration as done:
        result: T = done.value
        return result
    raise ValueError(f"a webhook has to be asked for {asked.desired}")


async def answered(asking: Converting[T], answers: Answers) -> T:
    """The result of what asks for conversions alone; without a question nothing is awaited."""
    try:
        asked = next(asking)
        while True:
            try:
                trees = await answers(asked)
            except StatusError as error:
                asked = asking.throw(error)
            else:
                asked = asking.send(trees)
    except StopIteration as done:
        result: T = done.value
        return result
