"""`fairlead api …`: the commands there are, a module each with its `COMMAND` (section 2.3)."""

from __future__ import annotations

from fairlead.contracts.apiversions.commands import codes
from fairlead.engine.command import CommandGroup, ListedCommand
from fairlead.engine.contract import Room


def _listed(module: str, summary: str) -> ListedCommand:
    return ListedCommand(summary, Room(f"{__name__}.{module}", "COMMAND"))


API = CommandGroup(
    commands={
        "status": _listed("status", "show which versions are served, stored, named and carried"),
        "convert": _listed("convert", "convert manifests in files to another version"),
        "roundtrip": _listed("roundtrip", "try whether objects come back as they were from every version"),
        "fix-refs": _listed("fix_refs", "make references to old versions name the storage version"),
        "attach": _listed("attach", "have the operator convert the objects of a CRD"),
        "detach": _listed("detach", "have a CRD do without the operator, where that loses nothing"),
        "migrate": _listed("migrate", "store every object in the storage version, and forget the others"),
        "rules check": _listed("rules_check", "tell what is wrong with a rule set, and what it carries"),
        "rules suggest": _listed("rules_suggest", "draft a rule set from the schemas of a CRD"),
        "rules diff": _listed("rules_diff", "tell what two rule sets carry differently"),
        "rules rehub": _listed("rules_rehub", "rewrite a rule set for another hub"),
        "schema-diff": _listed("schema_diff", "tell what differs between definitions, for release notes"),
        "backup": _listed("backup", "keep the objects of a CRD and the CRD itself as files"),
        "restore": _listed("restore", "bring the objects of a backup back as they were"),
        "preflight": _listed("preflight", "tell what a new definition would do before it is applied"),
        "offline-upgrade": _listed("offline_upgrade", "change the storage version without a webhook, and back"),
        "introduce": _listed("introduce", "add a version to a CRD, not served yet"),
        "serve": _listed("serve", "serve a version, once live objects are known to survive it"),
        "set-storage": _listed("set_storage", "store objects in another version from now on"),
        "deprecate": _listed("deprecate", "warn whoever asks for a version"),
        "unserve": _listed("unserve", "stop serving a version that nothing names any more"),
        "remove-version": _listed("remove_version", "remove a version that is neither served nor stored"),
        "delete-unreadable": _listed("delete_unreadable", "delete objects that the API server cannot read, one by one"),
        "certs status": _listed("certs_status", "show the certificate of the operator's webhooks and who trusts it"),
        "certs rotate": _listed("certs_rotate", "have the operator exchange its authority without an outage"),
    },
    codes=codes.MEANINGS,
    precondition=codes.PRECONDITION,
)
