"""Which migrations and upgrades there are to speak of."""

from __future__ import annotations

from datetime import datetime

from fairlead.core.ask import Answers, Ask, Good, Need, Read
from fairlead.core.verb import VerbRequest
from fairlead.engine.decide.storage_migration.names import migration_name
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref


def find(request: VerbRequest, answers: Answers, _: datetime) -> bool | Need:
    """Whether the CRD of this name has a journal in the namespace."""
    if not request.name:
        return False
    question = Ask(Read(Ref(CONFIGMAPS, request.namespace, migration_name(request.name))))
    if todo := answers.lacking((question,)):
        return Need(todo)
    return isinstance(answers[question], Good)
