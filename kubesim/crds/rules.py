"""Defaults and rules of CustomResourceDefinitions.

The server keeps what all versions have in common in one place before it checks, so a fault in a schema that every
version has is told at `spec.validation`, else at the version; the same holds for subresources.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kubesim.crds import columns as crd_columns
from kubesim.crds import conversion_rules as crd_conversion
from kubesim.crds import schema_rules
from kubesim.errors import Cause, required, unsupported, wrong
from kubesim.store.versions import Tree

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_GROUP = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_GROUP_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_PROTECTED = (".k8s.io", ".kubernetes.io")
_APPROVED = "api-approved.kubernetes.io"
_LONGEST_WARNING = 256
_IMMUTABLE = "field is immutable"
_SIMPLE_PATH = re.compile(r"(\.[a-zA-Z_][-a-zA-Z0-9_]*)+")


def fill(tree: Tree) -> None:
    """Fills in the names that follow from others, and the conversion."""
    spec = tree.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind") or ""
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    crd_conversion.fill(spec)


def born_status(tree: Tree) -> Tree:
    """The status of a definition that nobody has looked at."""
    stored = [version.get("name") or "" for version in tree["spec"].get("versions") or [] if version.get("storage")]
    return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored[:1]}


def note_storage(tree: Tree) -> None:
    """Remembers the storage version among those that may be in the store."""
    status = tree.setdefault("status", {})
    stored = status["storedVersions"] = list(status.get("storedVersions") or [])
    for version in tree["spec"].get("versions") or []:
        if version.get("storage") and version["name"] not in stored:
            stored.append(version["name"])


def is_true(tree: Tree, condition: str) -> bool:
    conditions = (tree.get("status") or {}).get("conditions") or []
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def on_create(tree: Tree) -> list[Cause]:
    """Broken rules of a new definition, beyond those of all names."""
    spec, name = tree["spec"], tree["metadata"].get("name") or ""
    wanted = f"{spec['names'].get('plural') or ''}.{spec.get('group') or ''}"
    causes = [] if name == wanted else [wrong("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]
    return causes + on_spec(spec) + crd_conversion.broken(spec) + _stored(tree) + _approval(tree)


def on_update(old: Tree, new: Tree) -> list[Cause]:
    """Broken rules of a changed definition."""
    spec, before = new["spec"], old["spec"]
    established = is_true(old, "Established")
    causes = on_spec(spec, before) + crd_conversion.broken(spec, before, established=established)
    fixed: list[tuple[str, object, object]] = []
    if established:
        fixed.append(("spec.scope", spec.get("scope"), before.get("scope")))
        fixed.append(("spec.names.kind", spec["names"].get("kind"), before["names"].get("kind")))
    fixed.append(("spec.group", spec.get("group"), before.get("group")))
    fixed.append(("spec.names.plural", spec["names"].get("plural"), before["names"].get("plural")))
    causes += [wrong(field, value, _IMMUTABLE) for field, value, known in fixed if value != known]
    return causes + _stored(new)


def _stored(tree: Tree) -> list[Cause]:
    versions = tree["spec"].get("versions") or []
    names = [version.get("name") for version in versions]
    stored = tree["status"].get("storedVersions") or []
    if not stored:
        return [wrong("status.storedVersions", None, "must have at least one stored version")]
    causes = [
        wrong("status.storedVersions", stored, f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version.get("name") not in stored
    ]
    return causes + [
        wrong(
            f"status.storedVersions[{index}]",
            name,
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} from "
            "status.storedVersions",
        )
        for index, name in enumerate(stored)
        if name not in names
    ]


def _approval(tree: Tree) -> list[Cause]:
    group = tree["spec"].get("group") or ""
    if group not in ("k8s.io", "kubernetes.io") and not group.endswith(_PROTECTED):
        return []
    value = (tree["metadata"].get("annotations") or {}).get(_APPROVED)
    if value and value.startswith(("https://", "http://", "unapproved")):
        return []
    text = (
        f'protected groups must have approval annotation "{_APPROVED}", '
        "see https://github.com/kubernetes/enhancements/pull/1111"
    )
    return [required(f"metadata.annotations[{_APPROVED}]", text)]


def on_spec(spec: Tree, before: Tree | None = None) -> list[Cause]:
    """Broken rules of what a definition asks for; a schema that a version had before has been checked."""
    causes, versions = _group(spec.get("group") or ""), spec.get("versions") or []
    scope = spec.get("scope")
    if not scope:
        causes.append(required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        causes.append(unsupported("spec.scope", scope, ("Cluster", "Namespaced")))
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        causes.append(wrong("spec.preserveUnknownFields", True, text))
        if any(schema_rules.has_defaults((each.get("schema") or {}).get("openAPIV3Schema")) for each in versions):
            text = "must be false in order to use defaults in the schema"
            causes.append(wrong("spec.preserveUnknownFields", True, text))
    return causes + _versions(spec.get("versions"), _schemas(before)) + _names(spec["names"])


def _group(group: str) -> list[Cause]:
    if not group:
        return [required("spec.group")]
    if not _GROUP.fullmatch(group):
        return [wrong("spec.group", group, _GROUP_TEXT)]
    if "." not in group:
        return [wrong("spec.group", group, "should be a domain with at least one dot")]
    return []


def _schemas(spec: Tree | None) -> dict[str, Tree | None]:
    """The schemas of versions, by name."""
    versions = (spec or {}).get("versions") or []
    return {version.get("name") or "": version.get("schema") for version in versions}


def _versions(given: list[Tree] | None, known: Mapping[str, Tree | None]) -> list[Cause]:
    versions = given or []
    names = [version.get("name") or "" for version in versions]
    causes: list[Cause] = []
    for index, version in enumerate(versions):
        at = f"spec.versions[{index}]"
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            causes.append(required(f"{at}.schema.openAPIV3Schema"))
        if not _LABEL.fullmatch(names[index]):
            causes.append(wrong(f"{at}.name", names[index], _LABEL_TEXT))
        causes += _warning(version, f"{at}.deprecationWarning")
    for version, at in _places(versions, "schema", "validation"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema and version.get("schema") != known.get(version.get("name") or ""):
            has_status = (version.get("subresources") or {}).get("status") is not None
            causes += schema_rules.causes_of(schema, f"{at}.openAPIV3Schema", has_status=has_status)
    for version, at in _places(versions, "subresources", "subresources"):
        causes += _scale((version.get("subresources") or {}).get("scale"), f"{at}.scale")
    causes += _shown(versions)
    if versions and not _LABEL.fullmatch(names[0]):
        causes.append(wrong("spec.version", names[0], _LABEL_TEXT))
    if len(set(names)) != len(names):
        causes.append(wrong("spec.versions", _written(versions), "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        causes.append(wrong("spec.versions", None if given is None else _written(versions), text))
    return causes


def _shown(versions: list[Tree]) -> list[Cause]:
    """Broken rules of columns and of fields to select by."""
    causes: list[Cause] = []
    for version, at in _places(versions, "additionalPrinterColumns", "additionalPrinterColumns"):
        causes += crd_columns.columns(version.get("additionalPrinterColumns") or [], at)
    for version, at in _places(versions, "selectableFields", "selectableFields"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        causes += crd_columns.selectable(version.get("selectableFields") or [], schema, at)
    return causes


def _written(versions: list[Tree]) -> list[Tree]:
    """Versions under the names of the server's own fields; what all have in common is kept apart from them."""
    names = ("Name", "Served", "Storage", "Deprecated", "DeprecationWarning")
    apart = dict.fromkeys(("Schema", "Subresources", "AdditionalPrinterColumns", "SelectableFields"))
    empty: Tree = {"Name": "", "DeprecationWarning": None}
    return [
        {name: version.get(name[0].lower() + name[1:], empty.get(name, False)) for name in names} | apart
        for version in versions
    ]


def _warning(version: Tree, at: str) -> list[Cause]:
    text = version.get("deprecationWarning")
    if text is None:
        return []
    if not version.get("deprecated"):
        return [wrong(at, text, "can only be set for deprecated versions")]
    causes = [] if len(text.encode()) <= _LONGEST_WARNING else [wrong(at, text, "must be <= 256 characters long")]
    if not text:
        causes.append(wrong(at, text, "must not be an empty string"))
    for index, sign in enumerate(text):
        if not sign.isprintable():
            why = f"must only contain printable UTF-8 characters; non-printable character found at index {index}"
            causes.append(wrong(at, text, why))
            break
    return causes


def _places(versions: list[Tree], key: str, common: str) -> list[tuple[Tree, str]]:
    """Each version with the path of a part of it; one for all where they are alike."""
    if versions and all(version.get(key) == versions[0].get(key) for version in versions):
        return [(versions[0], f"spec.{common}")]
    return [(version, f"spec.versions[{index}].{key}") for index, version in enumerate(versions)]


def _scale(scale: Tree | None, at: str) -> list[Cause]:
    if scale is None:
        return []
    causes: list[Cause] = []
    for key, roots, where in (
        ("specReplicasPath", (".spec.",), ".spec"),
        ("statusReplicasPath", (".status.",), ".status"),
        ("labelSelectorPath", (".spec.", ".status."), "either .spec or .status"),
    ):
        path = scale.get(key) or ""
        if not path:
            causes += [] if key == "labelSelectorPath" else [required(f"{at}.{key}")]
        elif not _SIMPLE_PATH.fullmatch(path):
            causes.append(wrong(f"{at}.{key}", path, "must be a simple json path starting with ."))
        elif not path.startswith(roots):
            causes.append(wrong(f"{at}.{key}", path, f"should be a json path under {where}"))
    return causes


def _names(names: Tree) -> list[Cause]:
    causes = [required(f"spec.names.{key}") for key in ("plural", "singular", "kind", "listKind") if not names.get(key)]
    given = [key for key in ("plural", "singular") if names.get(key)]
    causes += [wrong(f"spec.names.{key}", names[key], _LABEL_TEXT) for key in given if not _LABEL.fullmatch(names[key])]
    for key in ("kind", "listKind"):
        if names.get(key) and not _LABEL.fullmatch(names[key].lower()):
            text = f"may have mixed case, but should otherwise match: {_LABEL_TEXT}"
            causes.append(wrong(f"spec.names.{key}", names[key], text))
    for key in ("shortNames", "categories"):
        causes += [
            wrong(f"spec.names.{key}[{index}]", name, _LABEL_TEXT)
            for index, name in enumerate(names.get(key) or [])
            if not _LABEL.fullmatch(name)
        ]
    if names.get("kind") and names["kind"] == names.get("listKind"):
        causes.append(wrong("spec.names.listKind", names["listKind"], "kind and listKind may not be the same"))
    return causes
