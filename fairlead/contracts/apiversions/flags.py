"""The flags of API versions, under the names of section 2.2 and with its defaults."""

from __future__ import annotations

from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.core.flag_kinds import COUNT, FILES, PORT, PORT_OR_ANY, one_of
from fairlead.core.flags import Flag, FlagKind
from fairlead.core.option_kinds import CHOICE, DURATION, NUMBER, option

USUAL = ApiVersionsSettings()
_NAME = option("NAME")
_FOLDER = option("DIR")
_PORT: FlagKind[int] = FlagKind("PORT", PORT_OR_ANY, str, PORT.written)

ENABLED = Flag("enable-webhook", CHOICE, True, "serve conversion and admission; on with part apiversions")
CONVERSION = Flag("conversion", one_of(("webhook", "none")), "", "strategy of own definitions: webhook or none")
PORT_FLAG = Flag("webhook-port", _PORT, 9443, "port of all webhooks (default 9443 with part apiversions)")
SERVICE = Flag("webhook-service-name", _NAME, "", "Service by which API servers find the webhooks")
SERVICE_NAMESPACE = Flag("webhook-service-namespace", _NAME, "", "its namespace")
SERVICE_PORT = Flag("webhook-service-port", PORT, USUAL.service_port, "its port (default 443)")
SOURCE = Flag(
    "webhook-cert-source",
    one_of(("self-signed", "cert-manager", "secret")),
    "",
    "who makes the certificate: self-signed (default), cert-manager or secret",
)
SECRET = Flag("webhook-secret", _NAME, "", "Secret with ca.crt, tls.crt and tls.key")
FOLDER = Flag("webhook-cert-dir", _FOLDER, "", "folder with these files, read instead of the Secret")
MANAGES_CERTIFICATES = Flag("manage-webhook-certs", CHOICE, True, "false is --webhook-cert-source=secret")
VALIDITY = Flag("cert-validity", DURATION, "8760h", "how long a certificate is valid (default 8760h)")
ROTATE_BEFORE = Flag("cert-rotate-before", DURATION, "24h", "how long before its end it is renewed (default 24h)")
AUTHORITY_VALIDITY = Flag("ca-cert-validity", DURATION, "87600h", "how long an authority is valid (default 87600h)")
AUTHORITY_ROTATE_BEFORE = Flag(
    "ca-cert-rotate-before", DURATION, "8760h", "how long before its end it is replaced (default 8760h)"
)
RELOAD = Flag("cert-reload-interval", DURATION, "10s", "between two looks at Secret or files (default 10s)")
OVERLAP = Flag("ca-overlap", DURATION, "1h", "how long an authority that was left stays trusted (default 1h)")
MANAGES = Flag("manage-crds", CHOICE, True, "register and update own definitions (default true)")
TAKES_OVER = Flag("take-over-conversion", CHOICE, False, "overwrite a conversion that names another webhook")
MIGRATES = Flag("migrate-storage", one_of(("auto", "off")), "auto", "move what is stored: auto (default) or off")
MIGRATION_QPS = Flag("migration-qps", NUMBER, 5.0, "calls per second of that (default 5)")
MIGRATION_BURST = Flag("migration-burst", COUNT, 10, "calls that may exceed the rate at once (default 10)")
ELECTS = Flag("enable-leader-election", CHOICE, True, "act only while holding the Lease (default true)")
IDENTITY = Flag("leader-election-identity", _NAME, "", "who holds the Lease; unique to the process")
DOWNGRADES = Flag("allow-downgrade", CHOICE, False, "lead although a newer version has led")
ON_NEWER = Flag(
    "on-newer", one_of(("ignore", "handle")), "ignore", "objects of a newer operator: ignore (default) or handle"
)
ADOPT = Flag(
    "adopt",
    one_of(("compatible", "never", "always")),
    "compatible",
    "objects of an older operator: compatible (default), never or always",
)
NORMALIZES = Flag("normalize-payload", CHOICE, False, "rewrite objects whose fields are of another version")
OFFLINE = Flag("offline-upgrade", one_of(("off", "auto")), "off", "upgrade without a webhook: auto or off (default)")
BACKUPS = Flag("backup-dir", _FOLDER, "", "folder for the backup that this takes")
LEGACY = Flag("legacy-controller-version-annotation", CHOICE, False, "write the version under ECK's key as well")
RULES = Flag("conversion-rules", FILES, (), "file or folder with rule sets; may be repeated")
LARGEST = Flag("max-review-bytes", COUNT, USUAL.reviews.largest, "bytes of a review (default 67108864)")
TIMEOUT = Flag("convert-timeout", DURATION, "20s", "time for a review, below 30s (default 20s)")
CONCURRENT = Flag("max-concurrent-conversions", COUNT, USUAL.reviews.concurrent, "reviews at once (default 8)")

SHARED = (ENABLED, PORT_FLAG, SECRET, FOLDER, ELECTS, IDENTITY, DOWNGRADES, ON_NEWER, ADOPT, LEGACY)
"""They speak of the process, whatever it serves."""
FLAGS = (
    ENABLED,
    CONVERSION,
    PORT_FLAG,
    SERVICE,
    SERVICE_NAMESPACE,
    SERVICE_PORT,
    SOURCE,
    SECRET,
    FOLDER,
    MANAGES_CERTIFICATES,
    VALIDITY,
    ROTATE_BEFORE,
    AUTHORITY_VALIDITY,
    AUTHORITY_ROTATE_BEFORE,
    RELOAD,
    OVERLAP,
    MANAGES,
    TAKES_OVER,
    MIGRATES,
    MIGRATION_QPS,
    MIGRATION_BURST,
    ELECTS,
    IDENTITY,
    DOWNGRADES,
    ON_NEWER,
    ADOPT,
    NORMALIZES,
    OFFLINE,
    BACKUPS,
    LEGACY,
    RULES,
    LARGEST,
    TIMEOUT,
    CONCURRENT,
)
