"""Rules about what webhooks and policies are asked about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesim.errors import Cause, required, unsupported, wrong
from kubesim.store.versions import Tree

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")


def rule(found: Tree, at: str) -> Iterator[Cause]:
    """Broken rules of one rule of a webhook or policy, defaults filled in."""
    operations = found.get("operations") or []
    if not operations:
        yield required(f"{at}.operations")
    if len(operations) > 1 and "*" in operations:
        yield wrong(f"{at}.operations", operations, "if '*' is present, must not specify other operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield unsupported(f"{at}.operations[{index}]", operation, _OPERATIONS)
    for key, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        items = found.get(key) or []
        if not items:
            yield required(f"{at}.{key}")
        if len(items) > 1 and "*" in items:
            yield wrong(f"{at}.{key}", items, f"if '*' is present, must not specify other {words}")
        if key == "apiVersions":
            yield from (required(f"{at}.{key}[{index}]") for index, item in enumerate(items) if not item)
    yield from _resources(found.get("resources") or [], f"{at}.resources")
    if found.get("scope") is not None and found["scope"] not in _SCOPES:
        yield unsupported(f"{at}.scope", found["scope"], _SCOPES)


def _resources(resources: Sequence[str], at: str) -> Iterator[Cause]:
    if not resources:
        yield required(at)
    all_parts: list[str] = []
    """Resources whose subresources are all meant."""
    everywhere: list[str] = []
    """Subresources that are meant of all resources."""
    plain = False
    for index, text in enumerate(resources):
        if not text:
            yield required(f"{at}[{index}]")
            continue
        resource, slash, part = text.partition("/")
        if not slash:
            plain = text != "*"
            continue
        if resource in all_parts:
            yield wrong(f"{at}[{index}]", text, f"if '{resource}/*' is present, must not specify {text}")
        if part in everywhere:
            yield wrong(f"{at}[{index}]", text, f"if '*/{part}' is present, must not specify {text}")
        if part == "*":
            all_parts.append(resource)
        if resource == "*":
            everywhere.append(part)
    if len(resources) > 1 and "*/*" in resources:
        yield wrong(at, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and plain:
        yield wrong(at, resources, "if '*' is present, must not specify other resources without subresources")
