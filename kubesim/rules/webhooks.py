"""Defaults and rules of webhook configurations."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from kubesim.cel.strings import old_label
from kubesim.errors import Cause, required, unsupported, wrong
from kubesim.rules import match_conditions, match_rules
from kubesim.rules.labels import selector
from kubesim.rules.webhook_configurations import VERSIONS
from kubesim.schema.values import duplicate, each, port_number, subdomain
from kubesim.store.versions import Tree

KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_EFFECTS = ("None", "NoneOnDryRun")
_CHOICES = (
    ("failurePolicy", ("Fail", "Ignore")),
    ("matchPolicy", ("Equivalent", "Exact")),
    ("reinvocationPolicy", ("IfNeeded", "Never")),
    ("sideEffects", _EFFECTS),
)
_LEAST_SEGMENTS = 3
_LONGEST_SECONDS = 30
_PORT = 443
_FORM = "; desired format: https://host[/path]"


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
            causes.append(duplicate(f"{at}.name", name))
        names.append(name)
    return causes


def _hook(hook: Tree, at: str) -> Iterable[Cause]:
    yield from _name(hook.get("name") or "", f"{at}.name")
    for index, rule in enumerate(_dicts(hook.get("rules"))):
        yield from match_rules.rule(rule, f"{at}.rules[{index}]")
    for key, allowed in _CHOICES:
        if hook.get(key) is not None and hook[key] not in allowed:
            yield unsupported(f"{at}.{key}", hook[key], allowed)
    if hook.get("sideEffects") is None:
        yield required(f"{at}.sideEffects", f"must specify one of {', '.join(_EFFECTS)}")
    seconds = hook["timeoutSeconds"]
    if not isinstance(seconds, int) or not 1 <= seconds <= _LONGEST_SECONDS:
        yield wrong(f"{at}.timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")
    for key in ("namespaceSelector", "objectSelector"):
        yield from selector(hook.get(key), f"{at}.{key}")
    yield from client(hook["clientConfig"], f"{at}.clientConfig")
    yield from match_conditions.causes_of(hook.get("matchConditions") or [], f"{at}.matchConditions")
    yield from _versions(hook.get("admissionReviewVersions") or [], f"{at}.admissionReviewVersions")


def _versions(versions: list[str], at: str) -> Iterable[Cause]:
    if not versions:
        yield required(at, f"must specify one of {', '.join(VERSIONS)}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield wrong(f"{at}[{index}]", version, "duplicate version")
            continue
        yield from each(old_label, version, f"{at}[{index}]")
    if not any(version in VERSIONS for version in versions):
        yield wrong(at, versions, f"must include at least one of {', '.join(VERSIONS)}")


def _name(name: str, at: str) -> Iterable[Cause]:
    if not name:
        yield required(at)
    elif troubles := subdomain(name):
        yield wrong(at, name, ",".join(troubles))
    elif name.count(".") + 1 < _LEAST_SEGMENTS:
        yield wrong(at, name, "should be a domain with at least three segments separated by dots")


def client(config: Tree, at: str) -> Iterable[Cause]:
    """Broken rules of where a webhook is reached."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(at, "exactly one of url or service is required")
    elif url is not None:
        yield from _address(str(url), f"{at}.url")
    else:
        yield from _service(service or {}, f"{at}.service")
    try:
        base64.b64decode(config.get("caBundle") or "", validate=True)
    except (binascii.Error, ValueError, TypeError):
        yield wrong(f"{at}.caBundle", config["caBundle"], "must be base64 of PEM certificates")


def _service(service: Tree, at: str) -> Iterable[Cause]:
    # The server mistakes the two for each other.
    for key, other in (("name", "namespace"), ("namespace", "name")):
        if not service.get(other):
            yield required(f"{at}.{key}")
    port = service.get("port", _PORT)
    if port_number(port, at):
        yield wrong(f"{at}.port", port, "port is not valid: must be between 1 and 65535, inclusive")
    path = service.get("path") or "/"
    if path == "/":
        return
    if path == "//":
        yield wrong(f"{at}.path", path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        yield wrong(f"{at}.path", path, "must start with a '/'")
    for index, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            yield wrong(f"{at}.path", path, f"segment[{index}] may not be empty")
            continue
        yield from (wrong(f"{at}.path", path, f"segment[{index}]: {text}") for text in subdomain(step))


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
