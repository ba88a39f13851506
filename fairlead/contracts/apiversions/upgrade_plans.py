"""What an offline upgrade is about, worked out from files and the cluster before anything is written."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.backing_up import yaml_of
from fairlead.contracts.apiversions.backup_directory import Backup
from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.offline.backup_format import NEW_DEFINITION, PLAN, RULES, BadBackup
from fairlead.contracts.apiversions.decide.offline.object_parts import Parts, parts_of
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import StoppedWorkload, UpgradeJournal
from fairlead.contracts.apiversions.decide.offline.upgraded_definitions import introduced
from fairlead.contracts.apiversions.decide.preflight.definitions import compared
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet, RulesRejected, kind_of, read_rules
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.rule_files import code_of, definitions_in, rules_in
from fairlead.engine.command import Precondition, Usage
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.object_files import UnreadableFile, objects_in
from kubeloop import request
from kubeloop.client import Client
from kubeloop.discovery import discover
from kubeloop.errors import NotFound
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON, Request

SOLVED = frozenset({"NoneWouldPrune", "ServedVersionGone", "NoConversionPath", "MigrationPending"})
"""Findings that this path is for."""
WORKLOADS = {"deployment": DEPLOYMENTS, "statefulset": STATEFULSETS}
CALLER = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class UpgradePlan(Struct, frozen=True, kw_only=True):
    before: Tree
    wanted: Tree
    rules: RuleSet
    kind: KindConversion
    old: str
    new: str

    @property
    def crd(self) -> str:
        return str(self.before["metadata"]["name"])

    @property
    def both(self) -> Tree:
        """The definition in which both versions are."""
        return introduced(self.before, self.before, self.wanted, self.new)

    @property
    def parts(self) -> tuple[Parts, Parts]:
        return parts_of(self.both, self.old), parts_of(self.both, self.new)

    @property
    def unserved(self) -> list[str]:
        """Versions that are served now and will not be."""
        return [
            each["name"] for each in self.before["spec"]["versions"] if each.get("served") and each["name"] != self.new
        ]


def planned(live: Tree, file: str, rules: str) -> UpgradePlan:
    """Raises Usage for files that are not what they should be, and Precondition where there is nothing to upgrade."""
    name = live["metadata"]["name"]
    try:
        definitions = {each["metadata"]["name"]: each for each in definitions_in(file)}
        sets = {each.crd: each for each in rules_in(rules)}
    except (UnreadableFile, RulesRejected) as error:
        raise Usage(str(error)) from None
    if name not in definitions:
        raise Usage(f"{file} does not define {name}: it defines {', '.join(definitions)}")
    if name not in sets:
        raise Usage(f"{rules} has no rules for {name}: it has them for {', '.join(sets)}")
    return plan_of(live, definitions[name], sets[name])


def plan_of(before: Tree, wanted: Tree, rules: RuleSet) -> UpgradePlan:
    """Raises Precondition where this path does not lead from the one to the other."""
    name = before["metadata"]["name"]
    old, new = _storage(before), _storage(wanted)
    if not new:
        raise Usage(f"the new definition of {name} has no storage version: set `storage: true` on one")
    if old == new:
        raise Precondition(f"{old} is the storage version of {name} already, so there is nothing to upgrade")
    for definition, which in ((before, "now"), (wanted, "in the new definition")):
        if (definition["spec"].get("conversion") or {}).get("strategy", "None") != "None":
            raise Precondition(
                f"{name} is converted by a webhook {which}: this path is for CRDs without one;"
                f" with one, `fairlead api set-storage` and `fairlead api migrate` are enough"
            )
    both = introduced(before, before, wanted, new)
    blocking = [
        each for each in compared(before, both).findings if each.severity == "block" and each.code not in SOLVED
    ]
    if blocking:
        raise Precondition(f"{name} cannot become the new definition: {blocking[0].code}: {blocking[0].message}")
    try:
        kind = kind_of(rules, both, code_of(rules))
    except RulesRejected as error:
        raise Precondition(f"the rules cannot be used: {error}") from None
    for version in (old, new):
        if version not in kind.versions:
            raise Precondition(f"the rules say nothing of {version}, which is a storage version of {name}")
    return UpgradePlan(before=before, wanted=wanted, rules=rules, kind=kind, old=old, new=new)


def check_rules(plan: UpgradePlan) -> None:
    """Raises Precondition for rules that lose something of made-up objects."""
    if problem := next(self_test.problems_of(plan.rules, plan.kind), ""):
        raise Precondition(f"the rules cannot be used: {problem}")


def kept_files(plan: UpgradePlan, begun: UpgradeJournal) -> Mapping[str, bytes]:
    """What goes into the backup beside the objects, so that the upgrade goes on with the text it began with."""
    return {
        NEW_DEFINITION: yaml_of(plan.wanted),
        RULES: yaml_of(msgspec.to_builtins(plan.rules)),
        PLAN: msgspec.json.encode(begun),
    }


def kept_plan(backup: Backup) -> tuple[UpgradePlan, UpgradeJournal]:
    """The plan of an upgrade as it began; raises BadBackup for a backup of something else."""
    if PLAN not in backup.manifest.files:
        raise BadBackup(f"{backup.place} is a backup but not that of an upgrade: give the one that the upgrade made")
    (wanted,) = objects_in(str(backup.place / NEW_DEFINITION))
    (rules,) = objects_in(str(backup.place / RULES))
    begun = msgspec.json.decode(backup.content(PLAN), type=UpgradeJournal)
    return plan_of(backup.definition, wanted, read_rules(rules)), begun  # type: ignore[arg-type]


async def try_definition(client: Client, plan: UpgradePlan) -> None:
    """Raises errors of the cluster where it would not take the definition; nothing is changed."""
    body = msgspec.json.encode(plan.both)
    await client.call(request.dry(request.replace(Ref(DEFINITIONS, "", plan.crd), body)))


async def caller_of(client: Client) -> str:
    """Who asks, as policies know them; raises Precondition where the server does not tell."""
    try:
        answer = await client.call(Request("POST", CALLER, body=b"{}", content_type=JSON))
    except NotFound:
        raise Precondition("the API server does not tell who asks, so --freeze cannot be used: leave it out") from None
    user: str = msgspec.json.decode(answer.body)["status"]["userInfo"]["username"]
    return user


async def check_freezable(client: Client) -> None:
    """Raises Precondition where the server has no such policies."""
    served = await discover(client, "admissionregistration.k8s.io", "ValidatingAdmissionPolicy")
    if "v1" not in {each.resource.version for each in served}:
        raise Precondition(
            "this API server has no ValidatingAdmissionPolicy in v1 (it comes with 1.30), so objects cannot be frozen:"
            " leave out --freeze and stop all writers yourself"
        )


async def workload_of(client: Client, text: str) -> StoppedWorkload:
    """The operator that `--operator` names, with its replicas; raises Usage and Precondition."""
    parts = text.split("/")
    resource = WORKLOADS.get(parts[1].lower()) if len(parts) == 3 else None
    if resource is None or not all(parts):
        raise Usage(f'--operator needs NAMESPACE/KIND/NAME such as shop/Deployment/operator, not "{text}"')
    ref = Ref(resource, parts[0], parts[2])
    try:
        found = await client.read(ref, Tree)
    except NotFound:
        raise Precondition(f"there is no {resource.kind} {ref.name} in namespace {ref.namespace}") from None
    replicas = found["spec"].get("replicas", 1)
    return StoppedWorkload(ref, replicas)


def _storage(definition: Tree) -> str:
    return next((str(each["name"]) for each in definition["spec"]["versions"] if each.get("storage")), "")
