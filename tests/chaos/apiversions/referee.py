"""Judges operators and commands of API versions from outside: by what was stored, when, by whom, and what is shown.

What people asked for is kept leaf by leaf (`model`); whatever operators and commands do, every version that is served
shows it (I1, I2, I4, I5). Writes to definitions, objects and what they own are judged as they are carried out (I6, I8,
I10, I14), reviews as they are answered (I3, I9, I17). While people have taken conversion away themselves, nobody can
keep what is written; an object that is written then is judged no more.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import msgspec

from kubeloop.calls import Call, Reply
from kubeloop.request import Request, place_of
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.apiversions import facts
from tests.chaos.apiversions.kinds import NAME, PLURAL
from tests.chaos.apiversions.model import Kept, Leaves
from tests.chaos.judge import Asked, Judge

PEOPLE = "somebody"
SERVICE = "fairlead.default.svc"
REVIEWS = ("selfsubjectreviews", "selfsubjectaccessreviews")
OF_EVERY_REPLICA = ("leases", "events", "pods", *REVIEWS)
SETTLES = 2.0
"""Seconds after a write to the definition in which the API server may not have heard of it."""
CERTIFICATE = "fairlead-webhook-cert"
MIGRATION = f"fairlead-migration-{sha256(NAME.encode()).hexdigest()[:10]}"
ATTACH_MAP = f"fairlead-attach-{sha256(NAME.encode()).hexdigest()[:10]}"


class Referee(Judge):
    def __init__(self, now: Callable[[], float], steps: Callable[[], int], lease: str) -> None:
        super().__init__(now, steps, lease)
        self.kept: dict[str, Kept] = {}
        """By name: what people asked for."""
        self.tainted: set[str] = set()
        """Objects that were written while nobody converted."""
        self.definition: Tree | None = None
        self.stored: dict[str, Tree] = {}
        self.own_writes: list[str] = []
        """Writes of operators that were carried out, but for Leases and Events."""
        self.journals: dict[str, Tree] = {}
        """ConfigMaps by name."""
        self.secret: Tree = {}
        """What webhooks are served with."""
        self.restored: set[str] = set()
        """Objects that a command made."""
        self.leases: dict[str, str] = {}
        """Holders by name."""
        self.exclusive = ""
        """Who holds the Lease of migrations, by the name under which it writes."""
        self.policies: set[str] = set()
        self.operators: dict[str, str] = {}
        """Version by process."""
        self.commands: dict[str, tuple[str, ...]] = {}
        """Words by the name under which they were run."""
        self.people_wrote: dict[str, int] = {}
        """By object, how often."""
        self.is_tampered = False
        """Whether people gave the definition another conversion, and nobody has put it right."""
        self.is_webhook_up = True
        self.highest = ""
        """The highest version that led and wrote."""
        self.changed_at = float("-inf")
        """When the definition was last written."""
        self._unconverted_until = float("-inf")

    # What may be relied on.

    def is_converted(self) -> bool:
        """Whether nothing is lost by a write or a read now, whatever version it is in."""
        definition = self.definition
        if definition is None or self._now() < self._unconverted_until:
            return False
        return self._is_safe(definition)

    def _is_safe(self, definition: Tree) -> bool:
        if facts.service_of(definition) == SERVICE:
            return True
        storage = facts.storage_of(definition)
        return (
            facts.service_of(definition) == ""
            and facts.served_of(definition) == [storage]
            and all(facts.version_in(each) == storage for each in self.stored.values())
        )

    # What operators ask for.

    def begins(self, operator: str) -> None:
        """Nothing is known of it yet."""

    def told(self, operator: str, plural: str, version: int) -> None:
        """What it knows does not matter here: every write is bound to what it was decided on."""

    def read(self, operator: str, body: bytes) -> None:
        """The same."""

    def asks(self, operator: str, request: Request) -> Asked | None:
        place = place_of(request.path)
        self.writes += 1
        if operator in self.operators and place.plural not in OF_EVERY_REPLICA:
            self.note(f"{operator} asks {request.method} {request.target}")
            if operator != self.holder:
                self.broken("I10", f"{operator} sent {request.doing} while {self.holder or 'nobody'} held the Lease")
        is_dry = ("dryRun", "All") in request.query
        if place.plural == PLURAL and request.method in ("PUT", "PATCH") and not is_dry and not _is_bound(request):
            self.broken("3.10", f"{operator} sent {request.doing}, which is bound to no version")
        if operator in self.commands and self._is_dry(operator) and not is_dry and place.plural not in REVIEWS:
            self.broken("I8", f"{' '.join(self.commands[operator])} sent {request.doing}")
        return None

    def refused(self, request: Request) -> None:
        """Says nothing."""

    def failed(self, request: Request) -> None:
        """Says nothing."""

    def answered(self, asked: Asked | None) -> None:
        """Says nothing."""

    def _is_dry(self, command: str) -> bool:
        return "--dry-run" in self.commands[command]

    def _is_command(self, user: str, *names: str) -> bool:
        words = self.commands.get(user, ())
        return bool(words) and words[0] in names

    # What is stored.

    def see(self, entry: Entry) -> None:
        plural, name = entry.resource.plural, entry.name
        if plural == "events":
            return
        if plural != "leases":
            self.note(f"{entry.user} {entry.type} {plural}/{name} {entry.verb} {entry.subresource}")
        if entry.user in self.commands and self._is_dry(entry.user):
            self.broken("I8", f"{' '.join(self.commands[entry.user])} wrote {plural}/{name}")
        if entry.user in self.operators:
            self._see_own(entry)
        gone = entry.type == "DELETED"
        match plural:
            case "leases":
                self._see_lease(entry, gone=gone)
            case "customresourcedefinitions" if name == NAME:
                self._see_definition(entry, gone=gone)
            case _ if plural == PLURAL:
                self._see_object(entry, gone=gone)
            case "configmaps" | "secrets":
                self._see_kept(entry, gone=gone)
            case "validatingadmissionpolicies" | "validatingadmissionpolicybindings":
                (self.policies.discard if gone else self.policies.add)(f"{plural}/{name}")

    def _see_lease(self, entry: Entry, *, gone: bool) -> None:
        holder = "" if gone else entry.new["spec"].get("holderIdentity") or ""
        self.leases[entry.name] = holder
        if entry.name == MIGRATION:
            self.exclusive = entry.user if holder else ""
        if entry.name == self._lease:
            self.holder = holder

    def _see_kept(self, entry: Entry, *, gone: bool) -> None:
        if entry.resource.plural == "configmaps":
            self.journals[entry.name] = entry.new
            if gone:
                del self.journals[entry.name]
        elif entry.name == CERTIFICATE:
            self.secret = {} if gone else entry.new
        else:
            self._see_child(entry)

    def _see_own(self, entry: Entry) -> None:
        plural = entry.resource.plural
        if plural in OF_EVERY_REPLICA:
            return
        self.own_writes.append(f"{entry.verb} {plural}/{entry.name} {entry.subresource}")
        if entry.user != self.holder:
            self.broken("I10", f"{entry.user} wrote {plural}/{entry.name} while {self.holder or 'nobody'} held it")
        version = self.operators[entry.user]
        if version < self.highest:
            self.broken("I10", f"version {version} wrote {plural}/{entry.name} after {self.highest} has led")
        self.highest = max(self.highest, version)

    def _see_definition(self, entry: Entry, *, gone: bool) -> None:
        old, new = self.definition, None if gone else entry.new
        self.definition = new
        if old is None or new is None:
            return
        self.changed_at = self._now()
        was, now = facts.conversion_of(old), facts.conversion_of(new)
        if entry.user == PEOPLE:
            self.is_tampered |= was != now
        elif was != now:
            self.is_tampered = False
        if not self._is_safe(old) or not self._is_safe(new):
            self._unconverted_until = self._now() + SETTLES
        if lost := [each for each in facts.stored_of(old) if each not in facts.stored_of(new)]:
            self._check_pruned(entry, lost)
        if entry.user != PEOPLE:
            self._check_definition(entry, old, new)

    def _check_pruned(self, entry: Entry, lost: list[str]) -> None:
        """I6."""
        for name, tree in self.stored.items():
            if facts.version_in(tree) in lost:
                self.broken("I6", f"{entry.user} took {lost} off storedVersions, and {name} is stored in it")

    def _check_definition(self, entry: Entry, old: Tree, new: Tree) -> None:
        """I14, and what each step in the life of a version asks for (sections 3.6 and 3.13)."""
        by_command = entry.user in self.commands
        versions = (facts.versions_of(old), facts.versions_of(new))
        if removed := [each for each in versions[0] if each not in versions[1]]:
            self._check_removed(entry, old, removed)
        before, after = facts.own_metadata(old), facts.own_metadata(new)
        if before != after:
            self.broken("I14", f"{entry.user} changed {_differences(before, after)} of the definition")
        if not by_command and old["spec"]["versions"] != new["spec"]["versions"]:
            self.broken("I14", f"{entry.user} changed the versions of the definition")
        service = facts.service_of(old), facts.service_of(new)
        if service[0] not in ("", SERVICE) and service[0] != service[1]:
            self.broken("I14", f"{entry.user} took conversion from {service[0]}")
        if service == (SERVICE, "") and not self._is_safe(new):
            self.broken("3.13", f"{entry.user} detached the definition, and objects need a converter")

    def _check_removed(self, entry: Entry, old: Tree, removed: list[str]) -> None:
        for each in removed:
            if each in facts.served_of(old) and not self._is_command(entry.user, "offline-upgrade"):
                self.broken("3.6", f"{entry.user} removed {each}, which was served")
            if each in facts.stored_of(old):
                self.broken("3.6", f"{entry.user} removed {each}, in which objects may be stored")
            for name, tree in self.stored.items():
                if each in facts.named_versions(tree) or facts.version_in(tree) == each:
                    self.broken("3.6", f"{entry.user} removed {each}, which {name} names")

    def _see_object(self, entry: Entry, *, gone: bool) -> None:
        name, old, new = entry.name, self.stored.get(entry.name), entry.new
        if gone:
            self.stored.pop(name, None)
            return
        self.stored[name] = new
        if entry.user == PEOPLE:
            self.people_wrote[name] = self.people_wrote.get(name, 0) + 1
            if old is None:
                self.restored.discard(name)
            if self.policies and not self.is_converted():
                self.broken("3.7", f"somebody wrote {name} in the middle of an upgrade that froze it")
            return
        if old is None:
            self.restored.add(name)
        if not self.is_converted() and not self._is_command(entry.user, "offline-upgrade"):
            self.tainted.add(name)
            return
        if old is None or self._is_command(entry.user, "restore", "offline-upgrade"):
            return
        if self._is_command(entry.user, "migrate") and self.exclusive != entry.user:
            self.broken(
                "3.5", f"{entry.user} migrates {name} while {self.exclusive or 'nobody'} holds the Lease of that"
            )
        if facts.own_metadata(old) != facts.own_metadata(new):
            changed = _differences(facts.own_metadata(old), facts.own_metadata(new))
            self.broken("I3", f"{entry.user} changed {changed} of {name}")
        lost = facts.managers_of(old) - facts.managers_of(new)
        if lost and self.is_webhook_up and not self._is_command(entry.user, "fix-refs"):
            self.broken("3.6", f"{entry.user} lost the managers {sorted(lost)} of {name}")
        if self._is_command(entry.user, "fix-refs"):
            self._check_fixed(entry, old)

    def _check_fixed(self, entry: Entry, old: Tree) -> None:
        name, new = entry.name, entry.new
        if name in self.kept:
            self.kept[name].is_unowned = True  # paths that the storage version has not go from the record of owners
        if facts.version_in(old) == facts.version_in(new) and _body(old) != _body(new):
            self.broken("3.6", f"{entry.user} changed more of {name} than who manages its fields")

    def _see_child(self, entry: Entry) -> None:
        """Of what objects own nothing but the version of its references changes (section 3.6)."""
        if entry.old is None or entry.user == PEOPLE or entry.type == "DELETED" or entry.new.get("type") != "Opaque":
            return
        if not entry.name.startswith("of-"):
            return
        before, after = (msgspec.json.decode(msgspec.json.encode(each)) for each in (entry.old, entry.new))
        for tree in (before, after):
            tree["metadata"]["ownerReferences"] = facts.without_versions(tree["metadata"].get("ownerReferences"))
            for each in ("resourceVersion", "managedFields"):
                tree["metadata"].pop(each, None)
        if before != after:
            self.broken("3.6", f"{entry.user} changed more of {entry.name} than the version of its references")

    # What is shown.

    def shown(self, name: str, version: str, spec: Leaves) -> None:
        """I1, I2, I4 and I5: a version was read."""
        kept = self.kept[name]
        if found := kept.differences(spec, version):
            self.broken("I4", f"{name} in {version}: {'; '.join(found)}")
        kept.learn(spec, version)

    def unreadable(self, what: str, text: str) -> None:
        """I17: nobody was in the way, and a converter was there."""
        self.broken("I17", f"{what}: {text}")

    def reviewed(self, by: str, call: Call, reply: Reply, again: Reply) -> None:
        """I3: what a replica answered, and what it answers to the same question."""
        if reply.status != 200:
            return
        request = msgspec.json.decode(call.body)["request"]
        response = msgspec.json.decode(reply.body)["response"]
        if again.status == 200 and again.body != reply.body:
            self.broken("I3", f"{by} gives two answers to one question")
        if response["result"]["status"] != "Success":
            return
        if len(response["convertedObjects"]) != len(request["objects"]):
            self.broken("I3", f"{by} answers with another number of objects")
        for asked, made in zip(request["objects"], response["convertedObjects"], strict=True):
            was, now = asked.get("metadata") or {}, made["metadata"]
            names = ("name", "namespace", "uid", "labels", "ownerReferences", "finalizers")
            if any(was.get(each) != now.get(each) for each in names) or asked["kind"] != made["kind"]:
                self.broken("I3", f"{by} changed {was.get('name')} beyond its body")

    def untrusted(self, by: str) -> None:
        """I9: whom the API server called showed what nobody trusts."""
        if not self.is_tampered:
            self.broken("I9", f"{by} shows a certificate that the bundle of the definition does not cover")


def _differences(before: Tree, after: Tree) -> list[str]:
    return sorted(each for each in {*before, *after} if before.get(each) != after.get(each))


def _body(tree: Tree) -> Tree:
    return {key: value for key, value in tree.items() if key != "metadata"}


def _is_bound(request: Request) -> bool:
    """Whether the write is for one version of the object and no other."""
    body = msgspec.json.decode(request.body)
    if isinstance(body, list):
        return any(each["path"] == "/metadata/resourceVersion" for each in body)
    return bool((body.get("metadata") or {}).get("resourceVersion"))
