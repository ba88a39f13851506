"""What `fairlead api offline-upgrade` tells people: the plan, what cannot be converted, and the outcome."""

from __future__ import annotations

from pathlib import Path

from fairlead.contracts.apiversions.decide.offline.rehearsal import RehearsalJournal
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import UpgradeJournal, UpgradePhase
from fairlead.contracts.apiversions.upgrade_plans import UpgradePlan
from fairlead.core.amounts import counted


def plan_text(plan: UpgradePlan, journal: UpgradeJournal, rehearsed: RehearsalJournal, place: Path) -> str:
    lines = [
        f"{plan.crd}: {counted(rehearsed.done, 'object goes', 'objects go')} from {plan.old} to {plan.new}",
        f"1. a backup is kept in {place}",
    ]
    operator = journal.operator
    if operator is not None:
        kind = operator.ref.resource.kind
        lines.append(
            f"2. {kind} {operator.ref.name} goes from {counted(operator.replicas, 'replica')} to 0, until all is done"
        )
    else:
        lines.append("2. no operator is stopped: name it with --operator, or stop it yourself")
    if journal.freeze:
        lines.append("3. nobody else may write objects meanwhile")
    else:
        lines.append("3. others may write meanwhile, and lose what the new version cannot hold: --freeze denies it")
    lines.append(f"4. {plan.new} is stored, and every object is written in it")
    if rehearsed.carrying:
        hold = counted(rehearsed.carrying, "object holds", "objects hold")
        lines.append(f"   {hold} what {plan.new} cannot; it is carried in annotations")
    gone = "removed" if journal.remove else "served no longer"
    lines.append(f"5. {', '.join(plan.unserved) or plan.old}: {gone}")
    return "\n".join(lines)


def rehearsal_text(rehearsed: RehearsalJournal) -> str:
    lines = [f"{each.object}: {each.cause}" for each in rehearsed.failures]
    more = rehearsed.failed - len(rehearsed.failures)
    return "\n".join([*lines, f"and {more} more"] if more else lines)


def outcome_of(journal: UpgradeJournal, place: Path, *, had_ended: bool) -> tuple[dict[str, object], str]:
    """For programs and for people; an upgrade that had ended before says nothing of how things are now."""
    result: dict[str, object] = {
        "crd": journal.crd,
        "state": journal.phase.value,
        "from": journal.old,
        "to": journal.new,
        "backup": str(place),
        "objects": journal.total,
        "failures": [{"object": each.object, "cause": each.cause} for each in journal.failures],
        "notes": list(journal.notes),
        "problem": journal.problem,
    }
    lines = [f"{each.object}: {each.cause}" for each in journal.failures]
    ended = journal.completed_at
    match journal.phase:
        case phase if had_ended and ended is not None:
            lines.append(
                f"{journal.crd}: the upgrade of {place} had ended at {ended:%Y-%m-%d %H:%M} UTC ({phase.value}), so"
                f" nothing was done; `fairlead api status {journal.crd}` tells how it is now"
            )
        case UpgradePhase.ROLLED_BACK if journal.lost:
            lines.append(
                f"{journal.crd}: {journal.lost}, so no object was brought back; nothing is frozen, and the operator is"
                f" as it was; `fairlead api restore {place}` makes the objects again where a CRD of that name serves"
                f" {journal.old}"
            )
        case UpgradePhase.DONE:
            lines.append(f"{journal.crd}: done; objects are in {journal.new}, and the backup is in {place}")
        case UpgradePhase.ROLLED_BACK:
            lines.append(f"{journal.crd}: undone; objects are in {journal.old} as they were")
        case phase:
            lines.append(f"{journal.crd}: stopped at {phase.value}")
    return result, "\n".join([*lines, *journal.notes])
