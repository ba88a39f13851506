"""What becomes of a body's fields that its kind does not know, or that it says twice: refused, warned about or passed
over, as the request wishes.

They are dropped in any case. A body of a built-in kind is decoded into its type while it is looked at (`typed`), one of
a custom resource is looked at as its schema has it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubeloop.request import Request
from kubeloop.schemas.structural import prune
from kubesim.crds import embedded
from kubesim.crds.custom import Custom, go_text
from kubesim.errors import StatusError, bad_request, invalid, invalid_options, unsupported, wrong
from kubesim.kinds.registry import Kind
from kubesim.patches.patch import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from kubesim.patches.strategic import Patched
from kubesim.schema import numbers
from kubesim.store.versions import Tree
from kubesim.strategies.subresources import SCALE
from kubesim.typed.faults import Undecodable
from kubesim.typed.repeats import operations_problems, repeated, repeating, says_twice
from kubesim.typed.types import metadata_read, type_of
from kubesim.writes import wordings

_WISHES = ("Ignore", "Strict", "Warn")
_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
_NOTHING = Resource("", "", "", "")
_JSON = ("", "application/json")
# The objects of definitions have a scheme of their own, which lacks the type that it is asked for here.
_NO_SCALE = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
_SENT = {
    "binding": Resource("", "v1", "bindings", "Binding"),
    "eviction": Resource("policy", "v1", "evictions", "Eviction"),
    "scale": SCALE,
    "token": Resource("authentication.k8s.io", "v1", "tokenrequests", "TokenRequest"),
}
"""What is sent to a subresource, where it is not the object itself."""

_NEVER: tuple[set[str], set[str]] = set(), set()
_OWNER = {"apiVersion", "kind", "name", "uid"}
_ENTRIES = {
    "managedFields": (
        set[str](),
        {"apiVersion", "fieldsType", "fieldsV1", "manager", "operation", "subresource", "time"},
    ),
    "ownerReferences": (_OWNER, _OWNER | {"blockOwnerDeletion", "controller"}),
}
"""The fields that items of lists in the metadata always have, and those that they may have."""

Examine = Callable[[Tree], Tree]
"""Looks at a tree that a request sends, or makes by a patch; adds to warnings, or raises.

The answer is the tree to go on with.
"""


def _all_but_type(tree: Tree) -> list[str]:
    return [f'unknown field "{key}"' for key in sorted(tree) if key not in ("apiVersion", "kind")]


def _coerced(tree: Tree) -> tuple[Tree, list[str]]:
    """A custom resource with metadata as their type has them, and what is unknown within lists and maps there."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or not any(_is_uneven(*each) for each in metadata.items()):
        return tree, []
    made, strict = metadata_read(metadata)
    prefix = 'unknown field "'
    return tree | {"metadata": made}, [f"{prefix}metadata.{each.removeprefix(prefix)}" for each in strict]


def _is_uneven(field: str, value: object) -> bool:
    """Whether a field of the metadata has nulls within it, or other fields than it is written with."""
    if isinstance(value, dict):
        return None in value.values()
    if not isinstance(value, list):
        return False
    least, most = _ENTRIES.get(field, _NEVER)
    inner = [each for each in value if isinstance(each, dict)]
    return None in value or any(None in each.values() or not least <= each.keys() <= most for each in inner)


def examiner(request: Request, kind: Kind, subresource: str, warnings: list[str]) -> Examine:
    """How the trees of a request are looked at."""
    wish = dict(request.query).get("fieldValidation") or "Warn"
    if wish not in _WISHES:
        cause = unsupported("fieldValidation", wish, ("", *_WISHES))
        raise invalid_options(_OPTIONS[request.method], [cause])
    shown = _SENT.get(subresource, kind.resource)
    if kind.is_kept and shown is kind.resource:
        return lambda tree: tree
    content = request.content_type.partition(";")[0].strip()
    found = _Examiner(request, content, wish, warnings, shown, kind.custom)
    return found.typed if kind.custom is None or shown is SCALE else found.custom


class _Examiner(Struct, frozen=True):
    request: Request
    content: str
    """The type of the body, without its parameters."""
    wish: str
    warnings: list[str]
    shown: Resource
    """What the trees are."""
    definition: Custom | None

    def custom(self, tree: Tree) -> Tree:
        """A custom resource."""
        if numbers.are_unusual(self.request.body):
            if number := numbers.impossible(self.request.body):
                raise self._refusal(tree, f"json: cannot unmarshal number {number} into Go value of type float64")
            tree = numbers.read(tree)
        if self.definition is not None and (why := embedded.problem(tree, self.definition.root)):
            raise self._refusal(tree, why)
        made, strange = _coerced(tree)
        if self.wish != "Ignore" and self.definition is not None:
            unknown = [f'unknown field "{path}"' for path in self._unknown(made)]
            self._tell(tree, self._body_problems() + sorted(strange + unknown))
        return made

    def _unknown(self, tree: Tree) -> list[str]:
        """Fields that the schema of the tree's own version does not have; of a version that is none, all but a few."""
        assert self.definition is not None  # noqa: S101  which the caller has looked at
        version = tree.get("apiVersion") or self.shown.api_version
        root = (
            self.definition.root
            if version == self.shown.api_version
            else self.definition.conversion.schemas.get(version)
        )
        if root is None:
            return sorted(key for key in tree if key not in ("apiVersion", "kind", "metadata"))
        return prune(copy.deepcopy(tree), root)

    def typed(self, tree: Tree) -> Tree:
        """An object of a built-in kind; one that says to be something else is refused elsewhere."""
        shown = self.shown
        said = tree.get("kind") or shown.kind, tree.get("apiVersion") or shown.api_version
        if said != (shown.kind, shown.api_version):
            return tree
        problems: list[str] = []
        if self.request.method == "PATCH":
            problems = [] if self.wish == "Ignore" else self._body_problems()
        elif self.wish != "Ignore" and self.content in _JSON and says_twice(self.request.body, tree):
            tree = repeating(self.request.body)
        kind = type_of(shown.api_version, shown.kind)
        try:
            if self.content == STRATEGIC_PATCH:
                made, unknown = kind.restore(tree)
            elif self.request.method == "PATCH" and not tree.get("apiVersion"):
                # Of no version, it is read as what the server has inside, where fields have other names.
                made, unknown = kind.read({})[0], _all_but_type(tree)
            else:
                made, unknown = kind.read(tree, is_patched=self.request.method == "PATCH")
        except Undecodable as error:
            raise self._refusal(tree, str(error)) from None
        self._tell(tree, problems + unknown)
        heard = wordings.listen(shown.kind)
        if heard is not None:
            made.wording = heard(self.request, tree, made)
        return made

    def _body_problems(self) -> list[str]:
        """What is wrong with the body itself: keys that it says twice, and parts that no step of a JSON patch has.

        YAML that says a key twice is refused or warned about where it is read.
        """
        if self.content == JSON_PATCH:
            return operations_problems(self.request.body)
        return repeated(self.request.body) if self.content in (*_JSON, MERGE_PATCH, STRATEGIC_PATCH) else []

    def _tell(self, tree: Tree, problems: list[str]) -> None:
        if self.wish == "Warn":
            self.warnings.extend(problems)
        elif problems and self.wish == "Strict":
            raise self._refusal(tree, f"strict decoding error: {', '.join(problems)}")

    def _refusal(self, tree: Tree, why: str) -> StatusError:
        if self.request.method == "PATCH":
            patch = go_text(tree.patch) if isinstance(tree, Patched) else msgspec.json.encode(tree).decode()
            return invalid(_NOTHING, "", [wrong("patch", patch, why)])
        if self.shown is SCALE and self.definition is not None:
            return bad_request(_NO_SCALE)
        name = self.shown.kind
        return bad_request(f'{name} in version "{self.shown.version}" cannot be handled as a {name}: {why}')
