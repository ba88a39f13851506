"""Offline upgrades by the operator itself: of CRDs whose new definition stands beside its rules (section 3.7).

Only the leader runs them, when no pod of an older version of the operator is left; nobody else's CRDs are touched. An
upgrade that was cut off is gone on with by the next leader, from the directory that all replicas share. What cannot be
done is a warning and is tried again later; the operator works on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairlead import __version__
from fairlead.contracts.apiversions.backing_up import Backer
from fairlead.contracts.apiversions.backup_directory import Backup, DirectoryRecords, opened
from fairlead.contracts.apiversions.decide.offline.backup_format import BadBackup
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import FINAL, UpgradeJournal, UpgradePhase
from fairlead.contracts.apiversions.decide.rule_sets import KIND, RuleSet, RulesRejected, read_rules
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.dependents import search, unasked
from fairlead.contracts.apiversions.kinds import CRD_OWNER, MANAGED_BY
from fairlead.contracts.apiversions.named_rules import expanded
from fairlead.contracts.apiversions.offline_upgrade import Upgrade, carried_on
from fairlead.contracts.apiversions.rule_files import DEFINITION
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.contracts.apiversions.source_files import files_of
from fairlead.contracts.apiversions.told_waits import ToldWaits
from fairlead.contracts.apiversions.upgrade_plans import UpgradePlan, check_rules, kept_files, kept_plan, plan_of
from fairlead.contracts.apiversions.upgrade_records import JOURNAL, told
from fairlead.core.act import EventNote
from fairlead.core.semantic_versions import parse
from fairlead.engine.command import Precondition, Usage
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.decide.storage_migration.names import migration_name
from fairlead.engine.driver.effects import keys_of
from fairlead.engine.driver.request_pace import RequestPace
from fairlead.engine.job_run import JobStopped, RunTerms
from fairlead.engine.object_files import UnreadableFile, objects_in
from fairlead.engine.part import PartContext
from fairlead.engine.run_lease import LostLease, exclusively
from kubeloop import clock
from kubeloop.config_map_records import ConfigMapRecords
from kubeloop.errors import KubeError, NotFound
from kubeloop.objects.core import LEASES, PODS
from kubeloop.objects.meta import Ref

AGAIN_SECONDS = 300.0
LOOK_SECONDS = 2.0
NAME_LABEL, VERSION_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/version"
OVER = ("Succeeded", "Failed")
OPERATOR = "fairlead"


class WantedDefinition(Struct, frozen=True):
    """A definition and the rules that lead to it."""

    definition: Tree
    rules: RuleSet


class DueUpgrade(Struct, frozen=True):
    live: Tree
    """The definition, as it was when this was found to be due."""
    plan: UpgradePlan
    backup: Backup | None = None
    begun: UpgradeJournal | None = None
    """With a backup: where it began."""


class OwnUpgrades:
    """Of one process; `run` is a task of the leader."""

    def __init__(self, context: PartContext, settings: ApiVersionsSettings) -> None:
        self._context, self._settings = context, settings
        self._folder = Path(settings.upgrades.backup_folder)
        self._summaries = ConfigMapRecords(context.client, context.home, MANAGED_BY)

    async def run(self) -> None:
        while True:
            await self.once()
            await asyncio.sleep(AGAIN_SECONDS)

    async def once(self) -> None:
        """Every upgrade that is due, one after the other."""
        for each in await asyncio.to_thread(lambda: tuple(wanted_in(self._settings.rules))):
            crd = each.definition["metadata"]["name"]
            try:
                await self._upgraded(crd, each)
            except (Precondition, Usage, BadBackup, JobStopped, LostLease, KubeError, OSError) as error:
                self._context.log.warning("offline upgrade not done", crd=crd, error=str(error))

    async def _upgraded(self, crd: str, wanted: WantedDefinition) -> None:
        if (due := await self._due(crd, wanted)) is None:
            return
        if await self._older_gone(due.live) and (due := await self._due(crd, wanted)) is None:
            return  # as the older operators have left it
        lease = Ref(LEASES, self._context.home, migration_name(crd))
        client = self._context.replica_client or self._context.client
        await exclusively(client, lease, lambda _: self._carried(due))

    async def _due(self, crd: str, wanted: WantedDefinition) -> DueUpgrade | None:
        try:
            live: Tree = await self._context.client.read(Ref(DEFINITIONS, "", crd), dict[str, Any])
        except NotFound:
            return None
        owner = (live["metadata"].get("annotations") or {}).get(CRD_OWNER)
        if owner != self._context.home:
            self._context.log.info("offline upgrade left to its owner", crd=crd, owner=owner or "nobody")
            return None
        if (under_way := await self._under_way(crd, live)) is not None:
            backup, plan, begun = under_way
            return DueUpgrade(live, plan, backup, begun)
        if _stored(live) == _stored(wanted.definition):
            return None
        plan = plan_of(live, wanted.definition, wanted.rules)
        await asyncio.to_thread(check_rules, plan)
        return DueUpgrade(live, plan)

    async def _under_way(self, crd: str, live: Tree) -> tuple[Backup, UpgradePlan, UpgradeJournal] | None:
        """The upgrade that was begun and is to be gone on with; one of a CRD that was deleted since has ended with it,
        because here nothing was stopped or frozen for it."""
        summary = await told(self._summaries, self._entry(crd))
        if summary is None or summary.state in FINAL:
            return None
        backup = await asyncio.to_thread(opened, Path(summary.directory))
        plan, begun = kept_plan(backup)
        return (backup, plan, begun) if begun.uid == live["metadata"]["uid"] else None

    async def _older_gone(self, live: Tree) -> bool:
        """Until no pod of an older version of the operator is there; whether there was one."""
        told: list[str] = []
        while older := await self._older():
            if older != told:
                told = older
                self._context.log.info("offline upgrade waits for older operators", pods=older)
                text = f"waits until no pod of an older operator is there: {', '.join(older)}"
                self._tell(live, "OfflineUpgradeWaits", text)
            await asyncio.sleep(LOOK_SECONDS)
        return bool(told)

    async def _older(self) -> list[str]:
        listed = await self._context.client.list(
            PODS, dict[str, Any], namespace=self._context.home, labels=f"{NAME_LABEL}={OPERATOR}"
        )
        return [each["metadata"]["name"] for each in listed.items if _is_older(each)]

    async def _carried(self, due: DueUpgrade) -> None:
        plan, live, backup, begun = due.plan, due.live, due.backup, due.begun
        context, given = self._context, self._settings.migration
        if backup is None or begun is None:
            begun = UpgradeJournal(crd=plan.crd, uid=live["metadata"]["uid"], old=plan.old, new=plan.new)
            place = self._folder / f"{plan.crd}-{clock.now():%Y%m%dT%H%M%SZ}"
            backer = Backer(context.client, live, place, page=500, told=lambda *_: None)
            await backer.take(await search(context.client, ()), kept_files(plan, begun))
            backup = await asyncio.to_thread(opened, place)
        directory = DirectoryRecords(backup)
        directory.load()
        through = await search(context.client, ())
        if through.unlisted:
            self._tell(live, "OfflineUpgradeOmits", unasked(through.unlisted), warning=True)
        upgrade = Upgrade(
            plan=plan,
            begun=begun,
            backup=backup,
            directory=directory,
            kinds=through.kinds,
            summaries=self._summaries,
            entry=self._entry(plan.crd),
        )
        terms = RunTerms(
            client=context.client,
            records=upgrade.records,
            pace=RequestPace(given.qps, given.burst),
            audit=lambda line: context.log.debug("offline upgrade wrote", **keys_of(line)),
            heard=ToldWaits(lambda text: context.log.info("offline upgrade waits", crd=plan.crd, why=text)).heard,
        )
        self._tell(live, "OfflineUpgradeStarted", f"objects go from {plan.old} to {plan.new}; backup in {backup.place}")
        journal = await carried_on(upgrade, terms)
        if journal.phase is UpgradePhase.DONE:
            context.log.info("offline upgrade", crd=plan.crd, reason="OfflineUpgradeSucceeded", text=plan.new)
        else:
            named = "; ".join(f"{each.object}: {each.cause}" for each in journal.failures[:3])
            text = f"stopped at {journal.phase.value}: {journal.problem}{': ' if named else ''}{named}"
            self._tell(live, "OfflineUpgradeIncomplete", text, warning=True)

    def _tell(self, live: Tree, reason: str, text: str, *, warning: bool = False) -> None:
        metadata = live["metadata"]
        log = self._context.log.warning if warning else self._context.log.info
        log("offline upgrade", crd=metadata["name"], reason=reason, text=text)
        self._context.tell(EventNote(Ref(DEFINITIONS, "", metadata["name"], metadata["uid"]), warning, reason, text))

    def _entry(self, crd: str) -> str:
        return f"{migration_name(crd)}/{JOURNAL}"


def wanted_in(paths: tuple[str, ...]) -> Iterator[WantedDefinition]:
    """Definitions that stand beside their rules in these files and folders; what cannot be read is told elsewhere."""
    definitions: dict[str, Tree] = {}
    rules: dict[str, RuleSet] = {}
    for file in (each for path in paths for each in files_of(path)):
        try:
            for tree in objects_in(str(file)):
                if isinstance(tree, dict) and tree.get("kind") == DEFINITION:
                    definitions[tree["metadata"]["name"]] = tree
                elif isinstance(tree, dict) and tree.get("kind") == KIND:
                    found = read_rules(expanded(tree))
                    rules.setdefault(found.crd, found)
        except (UnreadableFile, RulesRejected, KeyError, TypeError):
            continue
    for name in sorted(definitions.keys() & rules.keys()):
        yield WantedDefinition(definitions[name], rules[name])


def _stored(definition: Tree) -> str:
    return next((str(each["name"]) for each in definition["spec"]["versions"] if each.get("storage")), "")


def _is_older(pod: Tree) -> bool:
    own, other = parse(__version__), parse((pod["metadata"].get("labels") or {}).get(VERSION_LABEL, ""))
    if own is None or other is None or (pod.get("status") or {}).get("phase") in OVER:
        return False
    return other.precedence < own.precedence
