"""Carrying out verbs: reads live what a row asks for, and writes what it answers, bound to what was read.

Nothing is chosen here. Where several objects are written, all writes are rehearsed first, so that a missing right or an
admission webhook stops all of them and not the second. When somebody else was faster, everything is read and decided
anew; what was written by then needs no more writing, and nothing is written that nobody has agreed to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct, structs

from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Need, Question, Read
from fairlead.core.verb import Nothing, Refused, VerbAnswer, VerbDecide, VerbPlan, VerbRequest, VerbWrite
from fairlead.engine.driver.round import MOST_DECISIONS, NeverSettles
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import BadRequest, Conflict, Invalid, KubeError, NotFound, TransportError
from kubeloop.events import Recorder
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, MERGE_PATCH, Request
from kubeloop.unreadable import UNREADABLE

T = TypeVar("T")

REVIEWS = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
MANAGER = "fairlead"
"""Who owns the fields that are written, and whose Events they are."""


class Acted(Struct, frozen=True):
    plan: VerbPlan
    written: tuple[VerbWrite, ...]


class Declined(Struct, frozen=True):
    """Nothing was written, because somebody does not want it."""

    plan: VerbPlan


class Unfinished(Exception):
    """Some of it may be written and the rest is not; `error` says why, empty when others were faster each time."""

    is_interrupted = False
    """Whether somebody has ended the command; the first of what is left may be on its way."""

    def __init__(self, plan: VerbPlan, written: tuple[VerbWrite, ...], error: KubeError | str) -> None:
        super().__init__(str(error))
        self.plan = plan
        self.written = written
        self.error = error


class Interrupted(Unfinished):
    is_interrupted = True


async def act(
    client: Client, decide: VerbDecide, asked: VerbRequest, now: datetime, agree: Callable[[VerbPlan], bool]
) -> Acted | Declined | VerbAnswer:
    """What came of it; raises Unfinished, or the error of the cluster where nothing was written."""
    agreed: VerbPlan | None = None
    written: list[VerbWrite] = []
    in_vain = 0
    while agreed is None or in_vain < agreed.attempts:
        try:
            plan: VerbAnswer = await decided(client, decide, asked, now)
        except KubeError as error:
            if agreed is None or not written:
                raise
            raise Unfinished(agreed, tuple(written), error) from error
        if not isinstance(plan, VerbPlan):
            return plan if agreed is None else _ended(agreed, tuple(written), plan)
        if agreed is None:
            if not agree(plan):
                return Declined(plan)
            agreed, asked = plan, structs.replace(asked, options={**asked.options, **plan.pinned})
        elif others := _not_agreed(plan, agreed):
            raise Unfinished(agreed, tuple(written), f"{others} was changed by somebody else meanwhile")
        before = len(written)
        try:
            await _rehearse(client, plan.writes)
            await _write(client, plan.writes, written)
        except (Conflict, NotFound):
            in_vain = 0 if len(written) > before else in_vain + 1
            continue
        except (KubeError, asyncio.CancelledError) as error:
            if not written:
                raise
            raise _cut_off(agreed, tuple(written), error) from error
        return Acted(agreed, tuple(written))
    raise Unfinished(agreed, tuple(written), "")


def _cut_off(agreed: VerbPlan, written: tuple[VerbWrite, ...], error: KubeError | asyncio.CancelledError) -> Unfinished:
    if isinstance(error, KubeError):
        return Unfinished(agreed, written, error)
    return Interrupted(agreed, written, "interrupted")


def _ended(agreed: VerbPlan, written: tuple[VerbWrite, ...], found: VerbAnswer) -> Acted:
    """After some was written, and then decided anew: nothing is left to do, or it cannot be done any more."""
    if isinstance(found, Nothing):
        return Acted(agreed, written)
    raise Unfinished(agreed, written, found.sentence if isinstance(found, Refused) else f"{agreed.rollout} is gone")


def _not_agreed(plan: VerbPlan, agreed: VerbPlan) -> str:
    """What would be changed otherwise than it was shown; empty where nobody was asked, or nothing would."""
    shown = {(write.ref, write.shown) for write in agreed.writes}
    other = [str(write.ref) for write in plan.writes if (write.ref, write.shown) not in shown]
    return ", ".join(other) if agreed.before else ""


async def decided(
    client: Client,
    decide: Callable[[VerbRequest, Answers, datetime], T | Need],
    asked: VerbRequest,
    now: datetime,
) -> T:
    """The answer of the row, made from what is read now; raises the errors of the cluster."""
    known: dict[Question, Answer] = {}
    for _ in range(MOST_DECISIONS):
        try:
            found = decide(asked, Answers(dict(known)), now)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise TransportError(f"an object of {asked.name} cannot be read: {error}") from error
        if not isinstance(found, Need):
            return found
        for stage in found.stages:
            known |= {question: await ask(client, question) for question in stage}
    raise NeverSettles(f"{decide.__module__} asked {MOST_DECISIONS} times without deciding")


async def ask(client: Client, question: Question) -> Answer:
    """Reads and lists; that there is no such object is an answer, any other failure is raised."""
    match question.to if isinstance(question, Ask) else None:
        case Read(ref=ref, subresource=subresource):
            return await _read(client, ref, subresource)
        case Listing(resource=resource, namespace=namespace, labels=labels):
            found = await client.list(resource, Raw, namespace=namespace, labels=labels)
            return Good(msgspec.json.encode({"items": found.items}))
    raise TypeError(f"a verb may not ask {question}")


async def _read(client: Client, ref: Ref, subresource: str) -> Answer:
    """Also where the cluster does not have the kind, which it says in no form of its own, there is no such object."""
    try:
        return Good((await client.call(request.get(ref, subresource))).body)
    except NotFound as error:
        return Bad("absent", str(error), error.status)


def patch_of(write: VerbWrite) -> Request:
    made = request.patch(write.ref, MERGE_PATCH, msgspec.json.encode(write.patch))
    return structs.replace(made, query=(("fieldManager", MANAGER),))


async def _rehearse(client: Client, writes: tuple[VerbWrite, ...]) -> None:
    """Raises what would keep one of several from being written; of many small ones the first stands for all."""
    if len(writes) < 2:
        return
    for write in [each for each in writes if not each.skipped_when_gone] or writes[:1]:
        made = patch_of(write)
        try:
            await client.call(structs.replace(made, query=(*made.query, ("dryRun", "All"))))
        except BadRequest:
            continue  # a webhook that cannot be rehearsed; the write itself tells
        except KubeError as error:
            if not (write.skipped_when_gone and _is_gone(error)):
                raise


async def _write(client: Client, writes: tuple[VerbWrite, ...], written: list[VerbWrite]) -> None:
    for write in writes:
        try:
            await client.call(patch_of(write))
        except KubeError as error:
            if not (write.skipped_when_gone and _is_gone(error)):
                raise
            continue
        written.append(write)


def _is_gone(error: KubeError) -> bool:
    """Whether what was meant is not there any more; of another object of its name the server says that UIDs stay."""
    return isinstance(error, Conflict | NotFound) or (isinstance(error, Invalid) and "metadata.uid" in str(error))


class _User(Struct, frozen=True):
    username: str = ""


class _Status(Struct, frozen=True, rename="camel"):
    user_info: _User = _User()


class _Review(Struct, frozen=True):
    status: _Status = _Status()


async def who_asks(client: Client, otherwise: str) -> str:
    """The user as the API server knows it, else as the kubeconfig calls it."""
    body = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind}
    review = Request("POST", request.path_of(REVIEWS), body=msgspec.json.encode(body), content_type=JSON)
    try:
        found = msgspec.json.decode((await client.call(review)).body, type=_Review).status.user_info.username
    except (KubeError, *UNREADABLE):
        found = ""
    return " ".join(found.split()) or otherwise or "somebody"


def event_text(plan: VerbPlan, verb: str, who: str, reason: str) -> str:
    """Who did what, and why."""
    why = " ".join(reason.split())
    return f"{who} {plan.did} with `fairlead {verb}`: {why or 'no reason was given'}"


async def tell(client: Client, plan: VerbPlan, subjects: tuple[Ref, ...], text: str) -> bool:
    """Whether Events about all of these could be written."""
    recorder = Recorder(client, MANAGER, MANAGER)
    for about in dict.fromkeys(subjects):
        recorder.tell(about, False, plan.event, text)
    await recorder.flush()
    return not recorder.dropped
