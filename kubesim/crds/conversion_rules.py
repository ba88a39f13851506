"""The conversion that a definition asks for: its defaults, its rules, and what is made of it."""

from __future__ import annotations

import base64
import binascii
import re
import ssl

import msgspec

from kubesim.crds.conversion import Webhook
from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules.webhook_configurations import ClientConfig
from kubesim.rules.webhooks import client
from kubesim.store.versions import Tree

_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")
_PORT = 443
_AT = "spec.conversion"
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_NO_WEBHOOK = "should not be set when strategy is not set to Webhook"
_NO_CERTIFICATE = "unable to load root certificates: unable to parse bytes as PEM block"


def fill(spec: Tree) -> None:
    """Without a word on conversion nothing but the version changes; a service is reached at its usual port."""
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    service = _client(conversion).get("service")
    if isinstance(service, dict):
        service.setdefault("port", _PORT)


def _client(conversion: Tree) -> Tree:
    return (conversion.get("webhook") or {}).get("clientConfig") or {}


def broken(spec: Tree, before: Tree | None = None, *, established: bool = False) -> list[Cause]:
    """Broken rules of what a definition says; `before` is what it said, if it is there already."""
    conversion = spec.get("conversion") or {}
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    causes: list[Cause] = []
    if not strategy:
        causes.append(required(f"{_AT}.strategy"))
    elif strategy not in _STRATEGIES:
        causes.append(unsupported(f"{_AT}.strategy", strategy, _STRATEGIES))
    if strategy != "Webhook":
        said = (("webhookClientConfig", "clientConfig"), ("conversionReviewVersions", "conversionReviewVersions"))
        return causes + [not_allowed(f"{_AT}.{field}", _NO_WEBHOOK) for field, key in said if webhook.get(key)]
    at = f"{_AT}.webhookClientConfig"
    if webhook.get("clientConfig") is None:
        causes.append(required(at, "required when strategy is set to Webhook"))
    else:
        causes += client(webhook["clientConfig"], at)
        was_bad = before is not None and has_bad_bundle(before)
        if established and not was_bad and has_bad_bundle(spec):
            causes.append(wrong(f"{at}.caBundle", webhook["clientConfig"]["caBundle"], _NO_CERTIFICATE))
    return causes + _reviews(webhook.get("conversionReviewVersions") or [])


def _reviews(versions: list[str]) -> list[Cause]:
    at = f"{_AT}.conversionReviewVersions"
    if not versions:
        return [required(at)]
    causes: list[Cause] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            causes.append(wrong(f"{at}[{index}]", version, "duplicate version"))
        elif not _LABEL.fullmatch(version):
            causes.append(wrong(f"{at}[{index}]", version, _LABEL_TEXT))
    if not any(version in _REVIEWS for version in versions):
        causes.append(wrong(at, versions, f"must include at least one of {', '.join(_REVIEWS)}"))
    return causes


def has_bad_bundle(spec: Tree) -> bool:
    """Whether the certificates that are to be trusted cannot be read; no certificates at all are none."""
    bundle = _client(spec.get("conversion") or {}).get("caBundle")
    if not bundle:
        return False
    try:
        text = base64.b64decode(bundle, validate=True).decode()
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (binascii.Error, UnicodeDecodeError, ValueError, ssl.SSLError):
        return True
    return False


def webhook_of(spec: Tree) -> Webhook | None:
    """The webhook of a definition without broken rules."""
    conversion = spec["conversion"]
    if conversion["strategy"] != "Webhook":
        return None
    config = msgspec.convert(_client(conversion), ClientConfig)
    if not config.authority.strip():
        config = msgspec.structs.replace(config, ca_bundle="")
    return Webhook(config, tuple(conversion["webhook"]["conversionReviewVersions"]))
