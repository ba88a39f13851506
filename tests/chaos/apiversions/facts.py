"""What is read off stored trees: definitions, their conversion and bundles, and who manages which fields.

In words of the API server alone; nothing of the operator's own reading is used.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from functools import lru_cache
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec

from kubesim.store.versions import Tree

DOMAIN = "fairlead.dev"
CARRY = f"carry.{DOMAIN}/"


def versions_of(definition: Tree) -> list[str]:
    return [each["name"] for each in definition["spec"]["versions"]]


def served_of(definition: Tree) -> list[str]:
    return [each["name"] for each in definition["spec"]["versions"] if each["served"]]


def storage_of(definition: Tree) -> str:
    (name,) = [each["name"] for each in definition["spec"]["versions"] if each["storage"]]
    return str(name)


def stored_of(definition: Tree) -> list[str]:
    return list((definition.get("status") or {}).get("storedVersions") or ())


def conversion_of(definition: Tree) -> Tree:
    return dict(definition["spec"].get("conversion") or {"strategy": "None"})


def service_of(definition: Tree) -> str:
    """Who is asked to convert; empty: nobody."""
    conversion = conversion_of(definition)
    if conversion.get("strategy") != "Webhook":
        return ""
    client = conversion["webhook"]["clientConfig"]
    service = client.get("service")
    return f"{service['name']}.{service['namespace']}.svc" if service else str(client.get("url", ""))


def bundle_of(definition: Tree) -> bytes:
    conversion = conversion_of(definition)
    return b64decode(((conversion.get("webhook") or {}).get("clientConfig") or {}).get("caBundle") or "")


@lru_cache(256)
def trusts(bundle: bytes, leaf: bytes) -> bool:
    """Whether one of the authorities has signed the leaf."""
    try:
        authorities = x509.load_pem_x509_certificates(bundle)
    except ValueError:
        return False
    certificate = x509.load_pem_x509_certificate(leaf)
    return any(_signed(each, certificate) for each in authorities)


def _signed(authority: x509.Certificate, leaf: x509.Certificate) -> bool:
    key, how = authority.public_key(), leaf.signature_hash_algorithm
    if authority.subject != leaf.issuer or not isinstance(key, ec.EllipticCurvePublicKey) or how is None:
        return False
    try:
        key.verify(leaf.signature, leaf.tbs_certificate_bytes, ec.ECDSA(how))
    except InvalidSignature:
        return False
    return True


def version_in(tree: Tree) -> str:
    """In which it is stored, or that an entry names."""
    return str(tree["apiVersion"]).rpartition("/")[2]


def managers_of(tree: Tree) -> set[tuple[str, str, str]]:
    """Manager, operation and subresource."""
    entries = tree["metadata"].get("managedFields") or ()
    return {(each["manager"], each["operation"], each.get("subresource", "")) for each in entries}


def named_versions(tree: Tree) -> set[str]:
    """In managed fields, and of what is carried."""
    entries = tree["metadata"].get("managedFields") or ()
    found = {version_in(each) for each in entries}
    for key, value in (tree["metadata"].get("annotations") or {}).items():
        if key.startswith(CARRY):
            found.add(str(_carried(value).get("v", "")))
    return found - {""}


def _carried(text: str) -> Any:
    try:
        raw = zlib.decompress(b64decode(text[2:])).decode() if text.startswith("z:") else text
        found = json.loads(raw)
    except (ValueError, zlib.error):
        return {}
    return found if isinstance(found, dict) else {}


def own_metadata(tree: Tree) -> Tree:
    """What nobody but people may change: without what is carried, and what the server counts."""
    metadata = tree["metadata"]
    annotations = metadata.get("annotations") or {}
    kept = {key: value for key, value in annotations.items() if not key.startswith((CARRY, f"{DOMAIN}/"))}
    names = ("name", "namespace", "uid", "labels", "finalizers", "ownerReferences", "deletionTimestamp")
    return {**{name: metadata.get(name) for name in names}, "annotations": kept}


def without_versions(references: list[Tree] | None) -> list[Tree]:
    return [{key: value for key, value in each.items() if key != "apiVersion"} for each in references or ()]
