"""What commands need of boxes: how they are looked at, and how their operator is told."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from fairlead.core.explain import Explain
from fairlead.engine.look import Heard, Look, ResourceView, Views
from fairlead.engine.program import Section
from kubeloop.client import Client
from tests.toy.decide import NOUN, PART, decide, explain, observed
from tests.toy.kinds import BOXES, Box
from tests.toy.part import key_of

ALL = ResourceView(BOXES, Box, optional=True)


class BoxLooks:
    def __init__(self, _: Client, views: Sequence[Views]) -> None:
        self._views = views

    async def look(self, now: datetime, heard: Heard) -> list[Explain]:
        async def document(seen: Box) -> Explain:
            return explain(seen, decide(seen, now), now)

        found = [box for views in self._views for box in views[ALL].items()]
        return await heard.or_each(PART, NOUN, [(key_of(one), observed(one), partial(document, one)) for one in found])


LOOK = Look(roots=(ALL,), open=BoxLooks)
SECTION = Section(flags=(), settings=lambda _given, _common: None)
