"""What an operator runs for versions of APIs."""

from __future__ import annotations

from fairlead.contracts.apiversions.attach_controller import AttachedDefinitions
from fairlead.contracts.apiversions.conversion_listener import owner_of, webhook_of
from fairlead.contracts.apiversions.conversion_service import ConversionService
from fairlead.contracts.apiversions.convertible import ConvertibleNote
from fairlead.contracts.apiversions.kept_rules_controller import rules_controller
from fairlead.contracts.apiversions.kinds import PART
from fairlead.contracts.apiversions.kubelet_nudge import KubeletNudge
from fairlead.contracts.apiversions.metrics import ConversionMetrics
from fairlead.contracts.apiversions.migration_metrics import MigrationMetrics
from fairlead.contracts.apiversions.missing_rights import missing_rights
from fairlead.contracts.apiversions.own_migrations import OwnMigrations
from fairlead.contracts.apiversions.own_upgrades import OwnUpgrades
from fairlead.contracts.apiversions.rule_book import RuleBook
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.contracts.apiversions.webhook_certificates import WebhookCertificates, told_about
from fairlead.engine.decide.owned_definitions import is_ours
from fairlead.engine.part import Part, PartContext, Task


def part(context: PartContext, given: ApiVersionsSettings) -> Part:
    metrics = context.metrics.of(ConversionMetrics)
    book = RuleBook(context, given.rules, shown=metrics.show)
    stored = context.metrics.of(MigrationMetrics)
    migrations = OwnMigrations(context, given.migration, stored) if given.migration.at_start else None
    moves: tuple[Task, ...] = () if migrations is None else (migrations.run,)
    jobs = {} if migrations is None else migrations.jobs
    if given.upgrades.offline == "auto":
        moves = (*moves, OwnUpgrades(context, given).run)
    webhook, owner = webhook_of(given, context.home), owner_of(given, context.home)
    kept = rules_controller(book, context.home, lambda tree: given.serves and is_ours(tree, webhook, owner))
    rights = missing_rights(context, book, migrations, told_about(context, given))
    if not given.serves:
        return Part(name=PART, controllers=(kept, rights), replica_tasks=(book.run,), leader_tasks=moves, jobs=jobs)
    service = ConversionService(book, given.reviews, metrics, context.log)
    certificates = WebhookCertificates(context, given)
    if context.conversion is not None:
        context.conversion.bundle = certificates.bundle
    attached = AttachedDefinitions(book, given, context.home, certificates.bundle, metrics.show_probes)
    return Part(
        name=PART,
        controllers=(kept, rights, attached.controller, *certificates.controllers),
        shared_routes=(service.routes(),),
        certificates=certificates.shown,
        before_leading=(certificates.prepare,),
        replica_tasks=(book.run, ConvertibleNote(context, given, book).run, KubeletNudge(context, given).run),
        leader_tasks=moves,
        jobs=jobs,
        leads=attached.leads,
        obstacle=lambda: certificates.obstacle() or service.obstacle(),
    )
