"""How the objects of a CustomResourceDefinition are served in one of its versions."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from kubeloop.schemas import structural
from kubeloop.schemas.structural import Node
from kubesim.cel import rules as cel_rules
from kubesim.cel.rules import Rules
from kubesim.crds import embedded
from kubesim.crds.conversion import Conversion
from kubesim.errors import Cause, StatusError, bad_request, internal_error, shown, wrong
from kubesim.schema import conformance
from kubesim.store.versions import Tree, Version
from kubesim.tables.printing import Printer

Path = tuple[str, ...]
_MOST_REPLICAS = 2**31 - 1
_BLOCKING = (
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
)
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
_TYPES = {
    bool: "bool",
    dict: "map[string]interface {}",
    float: "float64",
    int: "int64",
    list: "[]interface {}",
    str: "string",
    type(None): "<nil>",
}


def path_of(text: str) -> Path:
    """`.spec.replicas` as its parts."""
    return tuple(text.removeprefix(".").split("."))


class ScalePaths(Struct, frozen=True):
    """Where a Scale finds its numbers."""

    spec: str
    status: str
    selector: str = ""


class Custom(Struct, frozen=True, eq=False):
    """The schema of a version and what else its definition says about it."""

    root: Node
    conversion: Conversion
    opening: bytes
    """How the body of an object begins that is kept under this version."""
    since: int
    """Objects written before this revision may lack defaults or have fields that the schema does not know."""
    printer: Printer
    """How its objects are shown as rows of a table."""
    published: Tree
    """What is published of it: `names` and `version`, as the definition has them."""
    warning: str = ""
    """What everybody is told who uses a version that is deprecated."""
    scale: ScalePaths | None = None
    remembered: dict[int, bytes] = field(default_factory=dict)
    """What lists and watches have shown of stored versions, by revision; the server has a cache for each version."""
    rules: Rules | None = None
    """Rules in CEL; None where there are none."""
    terminating: bool = False
    """The definition is being deleted: nothing new may be made."""

    def take_in(self, tree: Tree) -> list[str]:
        """Prunes the tree and fills in its defaults, in place; answers with the paths of unknown fields."""
        return structural.take_in(tree, self.root)

    def is_plain(self, version: Version) -> bool:
        """Whether the stored bytes are what clients of this version see."""
        return version.revision >= self.since and version.body.startswith(self.opening)

    def on_create(self, tree: Tree) -> list[Cause]:
        """Broken rules of a new object."""
        checker = conformance.Checker()
        checker.check(tree, self.root)
        causes = checker.different + self._scale_causes(tree, spec=True)
        causes += embedded.causes_of(tree, self.root) + conformance.list_causes(tree, self.root)
        return causes + self._rule_causes(tree, UNSET, causes)

    def on_update(self, old: Tree, new: Tree, subresource: str) -> list[Cause]:
        """Broken rules of a change; what did not change is not complained about."""
        if subresource == "status":
            causes = self._status_causes(old, new) + self._scale_causes(new, spec=False)
        else:
            checker = conformance.Checker()
            checker.check(new, self.root, "", old)
            causes = checker.different + self._scale_causes(new, spec=True)
            causes += embedded.causes_of(new, self.root)
        repeated = conformance.list_causes(new, self.root)
        if repeated and not conformance.list_causes(old, self.root):
            causes += repeated
        return causes + self._rule_causes(new, old, causes)

    def _rule_causes(self, new: Tree, old: Tree | UnsetType, known: list[Cause]) -> list[Cause]:
        """Rules are not evaluated on what is not even of the right type."""
        if self.rules is None:
            return []
        if any(cause.reason in _BLOCKING for cause in known):
            return [wrong("<nil>", None, _UNCHECKED)]
        return cel_rules.causes_of(self.rules, new, old)

    def _status_causes(self, old: Tree, new: Tree) -> list[Cause]:
        node = self.root.properties.get("status")
        if node is None or "status" not in new:
            return []
        checker = conformance.Checker("status")
        checker.check(new["status"], node, "", old.get("status"))
        return checker.different

    def _scale_causes(self, tree: Tree, *, spec: bool) -> list[Cause]:
        if self.scale is None:
            return []
        causes = _replica_causes(tree, self.scale.spec) if spec else []
        causes += _replica_causes(tree, self.scale.status)
        if self.scale.selector:
            value = _found(tree, self.scale.selector)
            if value is not UNSET and not isinstance(value, str):
                causes.append(wrong(self.scale.selector, "", _mistaken(self.scale.selector, value, "string")))
        return causes

    def scale_numbers(self, tree: Tree) -> tuple[int | None, int, str]:
        """Replicas asked for (None: the field is absent), replicas there are, selector."""
        paths = self.scale or ScalePaths("", "")
        wanted, found = _lookup(tree, paths.spec), _lookup(tree, paths.status)
        return wanted, found or 0, (_lookup(tree, paths.selector) or "") if paths.selector else ""

    def set_replicas(self, tree: Tree, replicas: int) -> None:
        """Puts the number where the definition says."""
        *parents, last = path_of((self.scale or ScalePaths("", "")).spec)
        for part in parents:
            tree = tree.setdefault(part, {})
        tree[last] = replicas

    def no_replicas(self) -> StatusError:
        """A Scale was asked for of an object without the field."""
        paths = self.scale or ScalePaths("", "")
        return internal_error(f"the spec replicas field {shown(paths.spec)} does not exist")

    def empty_replicas(self) -> StatusError:
        """A Scale was written that gives no number, over an object without one."""
        paths = self.scale or ScalePaths("", "")
        return bad_request(f"the spec replicas field {shown(paths.spec)} cannot be empty")


def _lookup(tree: Tree, path: str) -> Any:
    value = _found(tree, path)
    return None if value is UNSET else value


def _found(tree: Tree, path: str) -> Any:
    """What lies at a path; UNSET where there is nothing, not even null."""
    value: Any = tree
    for part in path_of(path):
        value = value.get(part, UNSET) if isinstance(value, dict) else UNSET
    return value


def _mistaken(path: str, value: object, expected: str) -> str:
    return f"{path} accessor error: {go_text(value)} is of the type {_TYPES[type(value)]}, expected {expected}"


def go_text(value: object) -> str:
    """As Go prints a value it knows nothing about."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(go_text(item) for item in value)}]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else shown(value)


def _replica_causes(tree: Tree, path: str) -> list[Cause]:
    value = _found(tree, path)
    if value is UNSET:
        return []
    if not isinstance(value, int) or isinstance(value, bool):
        return [wrong(path, 0, _mistaken(path, value, "int64"))]
    if value < 0:
        return [wrong(path, value, "should be a non-negative integer")]
    if value > _MOST_REPLICAS:
        return [wrong(path, value, f"should be less than or equal to {_MOST_REPLICAS}")]
    return []
