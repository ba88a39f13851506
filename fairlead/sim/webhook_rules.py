"""Defaults and rules of webhook configurations."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from fairlead.sim.errors import Cause, not_allowed, required, unsupported, wrong
from fairlead.sim.store import Tree
from fairlead.sim.webhooks import VERSIONS

KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_EFFECTS = ("None", "NoneOnDryRun")
_CHOICES = (
    ("failurePolicy", ("Fail", "Ignore")),
    ("matchPolicy", ("Equivalent", "Exact")),
    ("reinvocationPolicy", ("IfNeeded", "Never")),
    ("sideEffects", _EFFECTS),
)
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LEAST_SEGMENTS = 3
_LONGEST_SECONDS = 30
_PORT = 443
_FORM = "; desired format: https://host[/path]"
_NO_CONDITIONS = (
    "the embedded cluster does not evaluate matchConditions: leave them out, or narrow the webhook by rules, "
    "namespaceSelector and objectSelector"
)


def fill(tree: Tree) -> None:
    """Fills in the defaults of a configuration, in place."""
    for hook in _dicts(tree.get("webhooks")):
        hook.setdefault("failurePolicy", "Fail")
        hook.setdefault("matchPolicy", "Equivalent")
        hook.setdefault("namespaceSelector", {})
        hook.setdefault("objectSelector", {})
        hook.setdefault("timeoutSeconds", 10)
        if tree["kind"] == KINDS[0]:
            hook.setdefault("reinvocationPolicy", "Never")
        for rule in _dicts(hook.get("rules")):
            rule.setdefault("scope", "*")
        service = hook.setdefault("clientConfig", {}).get("service")
        if isinstance(service, dict):
            service.setdefault("port", _PORT)


def _dicts(items: object) -> Iterator[Tree]:
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            yield item


def broken(tree: Tree) -> list[Cause]:
    """Broken rules of a configuration, defaults filled in."""
    causes: list[Cause] = []
    names: list[str] = []
    for index, hook in enumerate(_dicts(tree.get("webhooks"))):
        at, name = f"webhooks[{index}]", hook.get("name") or ""
        causes += _hook(hook, at)
        if name and name in names:
            causes.append(Cause("FieldValueDuplicate", f'Duplicate value: "{name}"', f"{at}.name"))
        names.append(name)
    return causes


def _hook(hook: Tree, at: str) -> Iterable[Cause]:
    yield from _name(hook.get("name") or "", f"{at}.name")
    for index, rule in enumerate(_dicts(hook.get("rules"))):
        yield from _rule(rule, f"{at}.rules[{index}]")
    for key, allowed in _CHOICES:
        if hook.get(key) is not None and hook[key] not in allowed:
            yield unsupported(f"{at}.{key}", hook[key], allowed)
    if hook.get("sideEffects") is None:
        yield required(f"{at}.sideEffects", f"must specify one of {', '.join(_EFFECTS)}")
    seconds = hook["timeoutSeconds"]
    if not isinstance(seconds, int) or not 1 <= seconds <= _LONGEST_SECONDS:
        yield wrong(f"{at}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
    yield from client(hook["clientConfig"], f"{at}.clientConfig")
    if hook.get("matchConditions"):
        yield not_allowed(f"{at}.matchConditions", _NO_CONDITIONS)
    versions = hook.get("admissionReviewVersions") or []
    if not versions:
        yield required(f"{at}.admissionReviewVersions", f"must specify one of {', '.join(VERSIONS)}")
    elif not any(version in VERSIONS for version in versions):
        text = f"must include at least one of {', '.join(VERSIONS)}"
        yield wrong(f"{at}.admissionReviewVersions", versions, text)


def _name(name: str, at: str) -> Iterable[Cause]:
    if not name:
        yield required(at)
    elif not _DOMAIN.fullmatch(name):
        yield wrong(at, name, _DOMAIN_TEXT)
    elif name.count(".") + 1 < _LEAST_SEGMENTS:
        yield wrong(at, name, "should be a domain with at least three segments separated by dots")


def _rule(rule: Tree, at: str) -> Iterable[Cause]:
    operations = rule.get("operations") or []
    if not operations:
        yield required(f"{at}.operations")
    if len(operations) > 1 and "*" in operations:
        yield wrong(f"{at}.operations", operations, "if '*' is present, must not specify other operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield unsupported(f"{at}.operations[{index}]", operation, _OPERATIONS)
    for key, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        items = rule.get(key) or []
        if not items:
            yield required(f"{at}.{key}")
        if len(items) > 1 and "*" in items:
            yield wrong(f"{at}.{key}", items, f"if '*' is present, must not specify other {words}")
    resources = rule.get("resources") or []
    if not resources:
        yield required(f"{at}.resources")
    if len(resources) > 1 and "*/*" in resources:
        yield wrong(f"{at}.resources", resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and any("/" not in each and each != "*" for each in resources):
        text = "if '*' is present, must not specify other resources without subresources"
        yield wrong(f"{at}.resources", resources, text)
    if rule["scope"] not in _SCOPES:
        yield unsupported(f"{at}.scope", rule["scope"], _SCOPES)


def client(config: Tree, at: str) -> Iterable[Cause]:
    """Broken rules of where a webhook is reached."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(at, "exactly one of url or service is required")
    elif url is not None:
        yield from _address(str(url), f"{at}.url")
    else:
        for key in ("name", "namespace"):
            if not (service or {}).get(key):
                yield required(f"{at}.service.{key}")
        path = (service or {}).get("path") or "/"
        if not path.startswith("/"):
            yield wrong(f"{at}.service.path", path, "must start with a '/'")
    try:
        base64.b64decode(config.get("caBundle") or "", validate=True)
    except (binascii.Error, ValueError, TypeError):
        yield wrong(f"{at}.caBundle", config["caBundle"], "must be base64 of PEM certificates")


def _address(url: str, at: str) -> Iterable[Cause]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(at, f"url must be a valid URL: {error}{_FORM}")
        return
    if parts.scheme != "https":
        yield wrong(at, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not parts.netloc:
        yield wrong(at, parts.netloc, f"host must be specified{_FORM}")
    if "@" in parts.netloc:
        yield wrong(at, parts.netloc.rpartition("@")[0], "user information is not permitted in the URL")
    if parts.fragment:
        yield wrong(at, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield wrong(at, parts.query, "query parameters are not permitted in the URL")
