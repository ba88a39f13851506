"""Environments that are stored in an old version are written in that of today (section 3.14).

It begins at once: until an object of `v1alpha1` is stored anew, its hashes are worked out with every read, and an edit
in that time may be taken for completed. The cluster's own migration is not asked for, since their role does not grant
that.
"""

from __future__ import annotations

from fairlead.contracts.environments.kinds import MATERIALIZES, OWN_LABELS
from fairlead.contracts.environments.metrics import EnvironmentMetrics
from fairlead.core.act import Does
from fairlead.core.audit import AuditLine
from fairlead.core.decision import Decision
from fairlead.engine.decide.job import Passage
from fairlead.engine.decide.migration import is_mixed, stored_in
from fairlead.engine.decide.registration import DEFINITIONS, Tree
from fairlead.engine.decide.storage_migration.journal import FINAL, StorageJournal, StorageView
from fairlead.engine.decide.storage_migration.steps import decide_of
from fairlead.engine.driver.effects import keys_of
from fairlead.engine.kinds.migrations import Migrations, MigrationTerms, MixedDefinition, RunEnd
from fairlead.engine.part import PartContext
from kubeloop.objects.meta import Ref

ENVIRONMENTS = f"{MATERIALIZES.plural}.{MATERIALIZES.group}"
"""The name of their definition."""
NAME = "environments/storage-migration"
VIEW = StorageView(early=True, built_in=False)
FIRST_DELAY, LONGEST_DELAY = 5.0, 300.0
"""Seconds between two runs, doubling."""
MOST_NAMED = 10
"""Objects of one run of which a failure is told each; of the others their number is."""
DONE = {Does.REWRITE_OBJECT.value: "object rewritten", Does.FORGET_VERSIONS.value: "stored versions forgotten"}


def unconverted(definition: Tree) -> str:
    """Why environments are not written; the definition is repaired, and is another one then."""
    strategy = (definition["spec"].get("conversion") or {}).get("strategy")
    return "" if strategy == "Webhook" else "nobody converts its objects; the operator puts its webhook back"


decide = decide_of(unconverted)


class StoredEnvironments:
    """What is known of how environments are stored; `migrations` is what the leader does about it."""

    def __init__(self, context: PartContext, metrics: EnvironmentMetrics) -> None:
        self._log = context.log
        self._metrics = metrics
        self._mixed: tuple[MixedDefinition, ...] = ()
        self._unconverted = ""
        """Why none is written, as the definition was seen last."""
        self.terms = MigrationTerms(
            name=NAME,
            decide=decide,
            mixed=lambda: self._mixed,
            rests=rests,
            view=VIEW,
            spoiled=lambda _: self._unconverted,
            labels=OWN_LABELS,
            heard=self._heard,
            ended=self._ended,
            audit=self._audit,
        )
        self.migrations = Migrations(context, self.terms)

    @property
    def is_mixed(self) -> bool:
        """Whether environments may be stored in several versions, as the definition was seen last."""
        return bool(self._mixed)

    def heed(self, name: str, definition: Tree) -> None:
        """Sees a definition as it is now."""
        if name != ENVIRONMENTS:
            return
        metadata = definition["metadata"]
        ref = Ref(DEFINITIONS, "", name, metadata["uid"])
        found = MixedDefinition(ref, metadata.get("generation", 0), stored_in(definition))
        self._mixed = (found,) if is_mixed(definition) else ()
        self._unconverted = unconverted(definition)
        self.migrations.wake()

    def _heard(self, found: MixedDefinition, step: Passage[StorageJournal], decision: Decision) -> None:
        plan = step.after.plan if step.after is not None else None
        if decision.rule in ("check", "resume") and plan is not None:
            self._log.info("storage migration begins", stored=found.stored, storage=plan.resource.version)

    def _ended(self, end: RunEnd, again: float) -> None:
        journal = end.journal
        if journal is not None and journal.plan is not None and journal.phase in FINAL:
            self._count(journal)
        for each in journal.failures[:MOST_NAMED] if journal is not None else ():
            self._log.warning("object not migrated", object=each.object, error=each.cause)
        if end.problem:
            self._log.warning("storage migration not finished", error=end.problem, again_in=again)
        elif journal is not None and journal.plan is not None:
            written = journal.rewritten
            self._log.info("storage migration finished", stored=written.done, gone=written.skipped)

    def _count(self, journal: StorageJournal) -> None:
        written = journal.rewritten
        counts = {"stored": written.done, "gone": written.skipped, "failed": journal.counts.failed}
        for result, count in counts.items():
            self._metrics.migrated.labels(result).inc(count)

    def _audit(self, line: AuditLine) -> None:
        if message := DONE.get(line.does):
            self._log.info(message, **keys_of(line))
        else:
            self._log.debug("storage migration wrote", **keys_of(line))


def rests(end: RunEnd) -> float:
    """Whatever the reason, a run that failed is tried again after 5 seconds, and ever later up to 5 minutes."""
    return min(FIRST_DELAY * 2.0 ** min(end.failed - 1, 60), LONGEST_DELAY)
