"""Brings notices of rollouts to chats and webhooks; which ones, and in what words, is decided in `decide/notices`."""

from __future__ import annotations

from fairlead.contracts.plans.decide.notices.receivers import Message, Own, message_of
from fairlead.contracts.plans.metrics import PlanMetrics
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.act import EventNote
from fairlead.core.ask import Answer, Answers, Bad, Good, Need, Question
from fairlead.engine.controller import Sink
from fairlead.engine.driver.round import Asker, answer
from kubeloop.sealing import seal

UNRESOLVED = "none"
"""Of a notice whose receiver could not be found out."""


def notifier(settings: PlanSettings, metrics: PlanMetrics) -> Sink:
    """A sink; it never fails, and what became of each notice is counted."""
    own = Own(
        slack=seal(settings.slack_url.encode()),
        webhook=seal(settings.event_webhook.encode()),
        channel=settings.slack_channel,
        username=settings.slack_user,
    )

    async def bring(note: EventNote, ask: Asker) -> Answer | None:
        known: dict[Question, Answer] = {}
        while True:
            found = message_of(note, own, Answers(known))
            match found:
                case None:
                    return None
                case Need():
                    known |= await answer(found, ask)
                case Bad():
                    metrics.notifications.labels(UNRESOLVED, "failed").inc()
                    return found
                case Message(kind, question):
                    sent = await ask(question)
                    outcome = "delivered" if isinstance(sent, Good) else "failed"
                    metrics.notifications.labels(kind, outcome).inc()
                    return sent

    return bring
