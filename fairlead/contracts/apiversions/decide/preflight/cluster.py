"""What the cluster says about a change: who converts, who may, whose certificate, who still names a version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain

from msgspec import Struct

from fairlead.contracts.apiversions.decide.convert import TOO_LARGE
from fairlead.contracts.apiversions.decide.crd_versions import (
    name_of,
    owner_of,
    served_versions,
    strategy_of,
    target_of,
    versions_of,
)
from fairlead.contracts.apiversions.decide.lifecycle import Converters
from fairlead.contracts.apiversions.decide.preflight.definitions import named_still
from fairlead.contracts.apiversions.decide.preflight.findings import SHOWN_OBJECTS, Finding
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.version_uses import Uses
from fairlead.core.amounts import counted
from fairlead.engine.decide.conversion_probe import FAILED, Unconverted, unconverted

EXPIRES_SOON = timedelta(days=30)


class Permission(Struct, frozen=True):
    """One thing that commands need to be allowed (section 2.7)."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""

    @property
    def shown(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {what}{f'.{self.group}' if self.group else ''}{where}"


class WebhookCertificate(Struct, frozen=True, kw_only=True):
    """What is known of the certificate of a conversion webhook."""

    bundle_ends: tuple[datetime, ...] = ()
    """When each published authority ends."""
    leaf_end: datetime | None = None
    """None where the served certificate could not be read."""
    names: tuple[str, ...] = ()
    is_trusted: bool | None = None
    """Whether a published authority has issued it."""


def permissions(new: Tree, journal: str) -> list[Permission]:
    """All that migrating and changing this kind takes."""
    group, plural = new["spec"]["group"], new["spec"]["names"]["plural"]
    crds = "customresourcedefinitions"
    extensions = "apiextensions.k8s.io"
    return [
        *(Permission(verb, extensions, crds) for verb in ("get", "list", "patch", "update")),
        Permission("patch", extensions, crds, "status"),
        *(Permission(verb, group, plural) for verb in ("get", "list", "patch", "update")),
        *(Permission(verb, "coordination.k8s.io", "leases", "", journal) for verb in ("get", "create", "update")),
        *(Permission(verb, "", "configmaps", "", journal) for verb in ("get", "create", "update")),
    ]


def of_permissions(crd: str, refused: Iterable[Permission]) -> Iterator[Finding]:
    for each in refused:
        yield Finding(
            code="PermissionMissing",
            severity="block",
            crd=crd,
            message=f"you may not {each.shown}",
            fix=f"kubectl auth can-i {each.verb} {_can_i(each)}",
        )


def _can_i(permission: Permission) -> str:
    what = permission.resource + (f".{permission.group}" if permission.group else "")
    if permission.subresource:
        what += f" --subresource={permission.subresource}"
    return f"{what} -n {permission.namespace}" if permission.namespace else what


def of_converters(
    new: Tree, converters: Converters, problems: Sequence[str], live: Tree | None = None
) -> Iterator[Finding]:
    """`problems` are those of the rule set with the new text."""
    crd, versions = name_of(new), [*versions_of(new)]
    for each in problems:
        yield Finding(
            code="NoConversionPath",
            severity="block",
            crd=crd,
            message=f"the rules cannot be used with the new definition: {each}",
            fix="fairlead api rules check RULES --crd FILE",
        )
    if strategy_of(new) != "Webhook" or len(versions) < 2:
        return
    if converters.rules is not None:
        for version in versions:
            if version not in converters.rules:
                yield Finding(
                    code="NoConversionPath",
                    severity="block",
                    crd=crd,
                    version=version,
                    message=f"no rules lead to {version}: give it a spoke in the rule set",
                    fix=f"fairlead api rules suggest {crd}",
                )
    # A replica speaks of versions that there are: one that it could convert is told of by none before it is there.
    spoken = {*(versions if live is None else versions_of(live)), *chain(*converters.replicas.values())}
    for name, known in converters.replicas.items():
        if lacking := [each for each in versions if each not in known and each in spoken]:
            yield Finding(
                code="NoConversionPath",
                severity="block",
                crd=crd,
                version=lacking[0],
                message=f"replica {name} cannot convert {', '.join(lacking)}",
                fix=f"fairlead api attach {crd} --rules FILE",
            )
    early = [each for each in served_versions(new) if each not in spoken]
    if converters.replicas and early and not (live is not None and owner_of(live)):  # who owns it waits for replicas
        yield Finding(
            code="NoConversionPath",
            severity="warn",
            crd=crd,
            version=early[0],
            message=f"no replica converts {', '.join(early)} before there is such a version, and who asks for it"
            " before all of them do is refused: introduce it, attach the rules, and serve it then",
            fix=f"fairlead api introduce {crd} -f FILE",
        )
    if converters.rules is None and not converters.replicas:
        yield Finding(
            code="ForeignConversion",
            severity="warn",
            crd=crd,
            path="/spec/conversion",
            message=f"{target_of(new)} converts, and does not say which versions: give --rules to check them here",
        )


def of_probes(live: Tree, failures: Mapping[str, str]) -> Iterator[Finding]:
    """What the server said when it was asked for one object in each version."""
    for version, message in failures.items():
        if found := unconverted(message):
            yield from _unconverted(live, version, found)
        elif FAILED in message:
            yield Finding(
                code="WebhookUnreachable",
                severity="block",
                crd=name_of(live),
                version=version,
                message=f"the API server cannot convert to {version} by {target_of(live)}: {message}",
                fix="fairlead api certs status",
            )


def _unconverted(live: Tree, version: str, found: Sequence[Unconverted]) -> Iterator[Finding]:
    """The webhook was reached, and names objects that it cannot convert."""
    by_code: dict[str, list[Unconverted]] = {}
    for each in found:
        by_code.setdefault("CarryTooLarge" if TOO_LARGE in each.cause else "RoundTripLoss", []).append(each)
    for code, objects in by_code.items():
        said = "; ".join(f"{each.name}: {each.cause}" for each in objects)
        yield Finding(
            code=code,
            severity="block",
            crd=name_of(live),
            version=version,
            message=f"objects cannot be read in {version}: {said}",
            fix=f"fairlead api roundtrip {name_of(live)} --live",
            count=len(objects),
            objects=tuple(each.name for each in objects),
        )


def of_certificate(live: Tree, server_name: str, found: WebhookCertificate, now: datetime) -> Iterator[Finding]:
    crd = name_of(live)
    is_named = server_name in found.names
    is_its_own = is_named or found.is_trusted is True  # else it is the certificate of another webhook
    ends = [*((end, "an authority in caBundle") for end in found.bundle_ends)]
    if found.leaf_end is not None and is_its_own:
        ends.append((found.leaf_end, "the certificate of the webhook"))
    for end, what in ends:
        if end - now < EXPIRES_SOON:
            said = "has expired" if end <= now else f"expires at {end:%Y-%m-%d %H:%M} UTC"
            yield Finding(
                code="CertExpiring", severity="warn", crd=crd, message=f"{what} {said}", fix="fairlead api certs rotate"
            )
    if is_its_own and not is_named and found.names and server_name:
        yield Finding(
            code="CertSANMissing",
            severity="block",
            crd=crd,
            message=f"the certificate of the webhook is not for {server_name} but for {', '.join(found.names)}",
            fix="fairlead api certs rotate",
        )
    if is_its_own and found.is_trusted is False:
        yield Finding(
            code="CaBundleMismatch",
            severity="block",
            crd=crd,
            path="/spec/conversion/webhook/clientConfig/caBundle",
            message="no authority in caBundle has issued the certificate of the webhook",
            fix="fairlead api certs status",
        )


def of_uses(gone: Mapping[str, Finding], uses: Uses, admission: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Versions that go, as they are or, where something still names them, as what blocks.

    `admission` has the names of configurations whose rules name a version.
    """
    for version, finding in gone.items():
        reasons = [
            (found.objects, f"{before}{counted(found.objects, *what)}", tuple(found.names[:SHOWN_OBJECTS]))
            for counts, before, what in (
                (uses.managed, "managedFields of ", ("object name", "objects name")),
                (uses.owned, "", ("owner reference names", "owner references name")),
            )
            if (found := counts.get(version)) is not None
        ]
        if names := admission.get(version):
            rules = counted(len(names), "rule of admission names", "rules of admission name")
            reasons.append((len(names), rules, tuple(names[:SHOWN_OBJECTS])))
        if not reasons:
            yield finding
        for count, what, objects in reasons:
            yield named_still(finding, count, what, objects)


def admission_names(configurations: Iterable[Tree], group: str, plural: str) -> dict[str, list[str]]:
    """By version: the admission configurations of which a rule names it for this kind."""
    found: dict[str, list[str]] = {}
    for each in configurations:
        for version in _named_versions(each, group, plural):
            found.setdefault(version, []).append(f"{each.get('kind')} {each['metadata']['name']}")
    return found


def _named_versions(configuration: Tree, group: str, plural: str) -> set[str]:
    spec = configuration.get("spec") or {}
    rules = [rule for hook in configuration.get("webhooks") or () for rule in hook.get("rules") or ()]
    rules += (spec.get("matchConstraints") or {}).get("resourceRules") or []
    return {
        version
        for rule in rules
        if group in (rule.get("apiGroups") or ()) or "*" in (rule.get("apiGroups") or ())
        if any(each.partition("/")[0] in (plural, "*") for each in rule.get("resources") or ())
        for version in rule.get("apiVersions") or ()
        if version != "*"
    }
