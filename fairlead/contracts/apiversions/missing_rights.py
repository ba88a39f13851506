"""Whom people hear about when the operator lacks a right of section 2.7: the CRD that waits for it, else its pod."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.contracts.apiversions.kinds import PART, RIGHT_NOUN
from fairlead.contracts.apiversions.own_migrations import OwnMigrations
from fairlead.contracts.apiversions.rule_book import RuleBook
from fairlead.engine.controller import Controller
from fairlead.engine.decide.missing_rights import RightSnapshot
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.missing_rights import MissingRightsMetric, RightsOptions, telling_rights
from fairlead.engine.part import PartContext
from kubeloop.objects.admissionregistration import MUTATING, VALIDATING
from kubeloop.objects.meta import Ref
from kubeloop.rights import Missed


def missing_rights(
    context: PartContext, book: RuleBook, moves: OwnMigrations | None, elsewhere: Ref
) -> Controller[RightSnapshot]:
    """`elsewhere` is what people are told about where no object is concerned."""
    context.metrics.of(MissingRightsMetric).show(context.rights)

    def granted(_: Missed) -> None:
        for informer in context.caches:
            informer.hurry()  # one that was refused waits a while before it looks again
        if moves is not None:
            moves.try_again()

    about = _about(book, moves, elsewhere)
    return telling_rights(
        context.rights, RightsOptions(part=PART, noun=RIGHT_NOUN, home=context.home, about=about, granted=granted)
    )


def _about(book: RuleBook, moves: OwnMigrations | None, elsewhere: Ref) -> Callable[[Missed], Ref]:
    def crd(name: str) -> Ref | None:
        own = moves.ref(name) if moves is not None else None
        return own or book.definitions.ref(name)

    def about(missed: Missed) -> Ref:
        right = missed.right
        plural = right.resource.partition("/")[0]
        if (right.group, plural) == (DEFINITIONS.group, DEFINITIONS.plural) and missed.name:
            return crd(missed.name) or Ref(DEFINITIONS, "", missed.name)
        found = next(
            (each for each in (MUTATING, VALIDATING) if (each.group, each.plural) == (right.group, plural)), None
        )
        if found is not None and missed.name:
            return Ref(found, "", missed.name)
        return crd(f"{plural}.{right.group}") or elsewhere

    return about
