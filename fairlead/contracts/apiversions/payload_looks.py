"""A look at all objects of a definition by a command: whether each has the fields of the version it is stored in."""

from __future__ import annotations

from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.payload_look import LookFailed, Looking, PayloadLook, looked
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.ask import Answer, Answers, Need, Question
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.driver.round import answer
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.records import MemoryRecords


async def look_at_all(client: Client, definition: Tree, kind: KindConversion) -> PayloadLook | LookFailed:
    """Page by page, in the storage version."""
    ask = asker(AskContext(client, records=MemoryRecords()))
    known: dict[Question, Answer] = {}
    now = clock.now()  # one time for each page: a write that contains another one would never be answered
    while True:
        found = looked(definition, kind, Answers(known), now)
        if isinstance(found, Need):
            known |= await answer(found, ask)
        elif isinstance(found, Looking):
            known, now = {}, clock.now()
        else:
            return found
