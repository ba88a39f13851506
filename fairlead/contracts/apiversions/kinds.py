"""Names of what API versions keep on objects (section 2.4)."""

from __future__ import annotations

from fairlead.core.domain import DOMAIN, short_hash

PART = "apiversions"
CARRY_PREFIX = f"carry.{DOMAIN}/"
"""Of annotations, each with one leaf that another version holds and this one cannot."""
MANAGER, CA_MANAGER = "fairlead", "fairlead-ca"
"""Field managers: of what is written of definitions, and of their bundles of authorities alone."""
CRD_REVISION = f"{DOMAIN}/crd-revision"
"""The revision of a definition's text, as the operator that wrote it had it."""
CRD_OWNER = f"{DOMAIN}/crd-owner"
"""The namespace of the installation that writes a definition."""
CONVERTIBLE = f"{DOMAIN}/convertible"
"""On pods of the operator: by definition, the versions that this replica can convert."""
RULES_LABEL = f"{DOMAIN}/conversion-rules"
"""Exactly `true` on ConfigMaps that hold rule sets."""
ATTACH_ANYWAY = f"{DOMAIN}/attach-anyway"
"""Exactly `true` on a ConfigMap whose set is to convert objects although some have fields of another version."""
MOST_ANNOTATIONS = 262_144
"""Bytes of all annotations of an object with their keys, which the API server takes."""
PAYLOAD_VERSION = f"{DOMAIN}/payload-version"
"""The version that the operator last knew the fields of an object to be of."""
PAYLOAD_HASH = f"{DOMAIN}/payload-hash"
"""Of the spec at that time: tells whether somebody has written it since."""
INSTALLED_FOR = f"{DOMAIN}/apiversions-namespace"
"""Label of what an installation has outside of its namespace: tells whose it is."""
CERTIFICATE_SECRET, FORMER_SECRET = "fairlead-webhook-cert", "fairlead-webhooks"
"""Secrets with the certificate of webhooks: that of this contract, and that of operators without it."""
CERTIFICATE_CHANGED = f"{DOMAIN}/certificate-changed"
"""On pods that read certificate files: when the Secret behind them has changed, so that the kubelet looks at once."""
OWN_LABELS = {"app.kubernetes.io/name": "fairlead"}
"""Of what the operator makes for itself, so that whoever removes it finds that."""
CERTIFICATE_LABELS = {**OWN_LABELS, "app.kubernetes.io/managed-by": "fairlead"}
"""Of the Secret that the operator makes."""
KEPT_RULES_LABEL = f"{DOMAIN}/kept-rules"
"""Of ConfigMaps in which the leader keeps the rule sets that were good last."""
HOME = "fairlead-system"
"""Where journals are of CRDs that no installation owns."""
MANAGED_BY = {"app.kubernetes.io/managed-by": "fairlead"}
MIGRATION_NOUN, UPGRADE_NOUN, ROTATION_NOUN = "migration", "upgrade", "rotation"
"""What documents call them."""
RIGHT_NOUN = "right"
"""What documents call something that the operator lacks."""


def kept_rules_name(crd: str) -> str:
    """Of the ConfigMap with the text of its last good rule set (section 2.5)."""
    return f"fairlead-rules-{short_hash(crd)}"
