"""Rollouts as people see them, on the cluster in memory of passes."""

from __future__ import annotations

from fairlead.cli.views.explanation import explanation
from fairlead.cli.views.render import plain
from fairlead.contracts.plans.decide import trait_pass
from fairlead.contracts.plans.explain import explained
from fairlead.core.ask import Answer, Answers, Need, Question
from fairlead.core.decision import Decision
from fairlead.core.explain import Explain
from tests.contracts.plans.decide.cluster import Cluster


def looked_at(cluster: Cluster) -> Explain:
    """What would be decided now, with nothing written."""
    known: dict[Question, Answer] = {}
    while True:
        seen = cluster.seen(Answers(known))
        outcome = trait_pass.decide(seen, cluster.now)
        if isinstance(outcome, Decision):
            return explained(seen, outcome, cluster.now)
        assert isinstance(outcome, Need)
        known.update(cluster._answered(outcome))


def page(cluster: Cluster) -> str:
    """As `fairlead explain` prints it, in one line of words."""
    return " ".join(plain(explanation(looked_at(cluster), cluster.now)).split())
