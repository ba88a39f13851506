"""What a definition says about the versions of its objects, and how objects go from one to another.

Objects are kept in the version they were written in. With the strategy None only their `apiVersion` changes on the way
to another version; with a webhook, the webhook says what they are there (`conversion_reviews`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from kubeloop.schemas import structural
from kubeloop.schemas.structural import Node
from kubesim.errors import StatusError, internal
from kubesim.rules.webhook_configurations import ClientConfig
from kubesim.store.versions import Tree


class Webhook(Struct, frozen=True):
    """Who converts."""

    client: ClientConfig
    review_versions: tuple[str, ...]


class Conversion(Struct, frozen=True, eq=False):
    """All versions of a definition, served or not."""

    schemas: Mapping[str, Node]
    """By apiVersion."""
    stored_as: str
    """The apiVersion in which objects are written to the store."""
    webhook: Webhook | None = None
    """None: the strategy None."""

    def directly(self, trees: Sequence[Tree], desired: str) -> list[Tree] | None:
        """The trees under the desired apiVersion, where nobody needs to be asked; None where the webhook must be.

        Raises for versions that the definition does not have. Nothing is pruned and no default is filled in.
        """
        if desired not in self.schemas:
            raise internal(f"request to convert CR to an invalid group/version: {desired}")
        for tree in trees:
            if tree["apiVersion"] not in self.schemas:
                raise invalid_source(tree)
        if self.webhook is not None and any(needs_webhook(tree, desired) for tree in trees):
            return None
        return [tree if tree["apiVersion"] == desired else tree | {"apiVersion": desired} for tree in trees]

    def decode(self, tree: Tree) -> None:
        """Makes of a tree that was stored what its own version makes of it: pruned, with defaults; in place."""
        node = self.schemas.get(tree["apiVersion"])
        if node is None:
            raise invalid_source(tree)
        structural.take_in(tree, node)

    def shape(self, tree: Tree) -> None:
        """Removes what the version of a converted tree does not know, in place; it gets no defaults."""
        node = self.schemas[tree["apiVersion"]]
        structural.prune(tree, node)
        structural.drop_nulls(tree, node)


def needs_webhook(tree: Tree, desired: str) -> bool:
    """Whether a webhook is asked to bring a tree to a version; not where it says nothing but its type."""
    return bool(tree["apiVersion"] != desired and tree.keys() != {"apiVersion", "kind"})


def invalid_source(tree: Tree) -> StatusError:
    """An object that says to be of a version which its definition does not have."""
    return internal(f"request to convert CR from an invalid group/version: {tree['apiVersion']}")
