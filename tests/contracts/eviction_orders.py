"""Every order in which the questions of several evictions can be answered, and in which their pods begin to go.

What replicas share is the API server and the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

from msgspec import structs

from fairlead.core.ask import Answer, Answers, Ask, Need, Question, StartOver, SwapRecord
from fairlead.core.decision import Admit
from kubeloop.objects.core import Pod

P = TypeVar("P", bound=Pod)

MOST_ATTEMPTS = 3
DENIED = Admit(allowed=False, word="outpaced")


class LiveCluster(Protocol[P]):
    """What a live read shows, and the records."""

    pods: dict[str, P]
    records: dict[str, tuple[bytes, str]]
    _version: int

    def answer(self, question: Question) -> Answer: ...


class Request(NamedTuple):
    """How far the judgement of one eviction has come."""

    pod: str
    known: tuple[tuple[Question, Answer], ...] = ()
    waiting: tuple[tuple[Question, ...], ...] = ()
    attempts: int = 1
    verdict: Admit | None = None
    gone: bool = False
    """Whether the pod that was let go has begun to terminate."""


class World(NamedTuple):
    requests: tuple[Request, ...]
    records: tuple[tuple[str, tuple[bytes, str]], ...] = ()


class Explorer(Generic[P]):
    """Walks through everything that can happen; `compares` false makes every swap of a record succeed."""

    def __init__(
        self,
        live: LiveCluster[P],
        judge: Callable[[str, P, Answers], Admit | Need | StartOver],
        going: Callable[[P], P],
        *,
        compares: bool = True,
    ) -> None:
        """`judge` is given the name of a pod, the pod as a cache shows it, and what was answered."""
        self.live = live
        self.compares = compares
        self.pods = dict(live.pods)
        self._judge = judge
        self._going = going

    def ends(self, *pods: str) -> Iterator[list[str]]:
        """For each end that can come about: the pods that were let go."""
        first = World(tuple(self.decided(Request(pod)) for pod in pods))
        seen, open_ = {first}, [first]
        while open_:
            world = open_.pop()
            following = [self.step(world, place) for place in range(len(pods)) if self.can_go_on(world.requests[place])]
            if not following:
                yield sorted(each.pod for each in world.requests if each.verdict is not None and each.verdict.allowed)
            for each in following:
                if each not in seen:
                    seen.add(each)
                    open_.append(each)

    def can_go_on(self, request: Request) -> bool:
        return request.verdict is None or (request.verdict.allowed and not request.gone)

    def step(self, world: World, place: int) -> World:
        """One question of one request is answered, or the pod that it let go begins to terminate."""
        request = world.requests[place]
        if request.verdict is not None:
            return world._replace(requests=_at(world.requests, place, request._replace(gone=True)))
        self.live.records = dict(world.records)
        self.live.pods = self.pods | {
            each.pod: self._going(self.pods[each.pod]) for each in world.requests if each.gone
        }
        (question, *others), *later = request.waiting
        answer = self.answered(question)
        waiting = ((tuple(others),) if others else ()) + tuple(later)
        request = request._replace(known=(*request.known, (question, answer)), waiting=waiting)
        if not waiting:
            request = self.decided(request)
        return World(_at(world.requests, place, request), tuple(sorted(self.live.records.items())))

    def answered(self, question: Question) -> Answer:
        if not self.compares and isinstance(question, Ask) and isinstance(question.to, SwapRecord):
            held = self.live.records.get(question.to.record, (b"", ""))[1]
            question = structs.replace(question, to=structs.replace(question.to, version=held))
        # The version counts how often the record was written, so that equal worlds are found to be equal.
        self.live._version = max((int(version) for _, version in self.live.records.values()), default=0)
        return self.live.answer(question)

    def decided(self, request: Request) -> Request:
        match self._judge(request.pod, self.pods[request.pod], Answers(dict(request.known))):
            case Need(stages):
                return request._replace(waiting=stages)
            case Admit() as verdict:
                return request._replace(known=(), waiting=(), verdict=verdict)
            case StartOver() if request.attempts == MOST_ATTEMPTS:
                return request._replace(known=(), waiting=(), verdict=DENIED)
            case StartOver():
                return self.decided(Request(request.pod, attempts=request.attempts + 1))


def _at(requests: tuple[Request, ...], place: int, request: Request) -> tuple[Request, ...]:
    return (*requests[:place], request, *requests[place + 1 :])
