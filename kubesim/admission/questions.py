"""Admission webhooks: who is asked about a write, in which order, and what becomes of the answers.

Mutating webhooks are asked one after the other and may change the object; those that ask for it are asked once more
when a later one changed it. Then the server checks, then policies judge, then all validating webhooks are asked at the
same time. A configuration or policy takes effect with its creation. Not there: audit annotations, and webhooks of
reviews and tokens, which store nothing.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence

from msgspec.structs import replace

from kubeloop.calls import Caller
from kubeloop.objects.meta import Resource
from kubesim.admission import patches as webhook_patches
from kubesim.admission.conversion_reviews import Converter
from kubesim.admission.index import Index, Interest
from kubesim.admission.matching import Matching, is_labelled
from kubesim.admission.patches import Undecodable
from kubesim.admission.policies_asked import Policies
from kubesim.admission.reviewing import (
    JSON_PATCH,
    Answer,
    Asker,
    Failed,
    Invocation,
    View,
    ask,
    request_of,
    unregistered,
)
from kubesim.admission.values import values_of
from kubesim.auth.rbac import Access
from kubesim.errors import StatusError, forbidden, internal, internal_error, quoted, timeout
from kubesim.kinds import views
from kubesim.kinds.registry import Kind, Registry
from kubesim.rules.match_conditions import Unmatched, matches
from kubesim.rules.webhook_configurations import Hook
from kubesim.store.store import Store
from kubesim.store.versions import Tree
from kubesim.writes.asking import DELETING, MUTATING, VALIDATING, Question, Write, asking_some, driven

REQUEST_SECONDS = 34.0
"""Time for a whole write, however often it starts again."""


class Admission:
    """Has the questions of writes answered by the webhooks of the cluster."""

    def __init__(self, store: Store, registry: Registry, caller: Caller) -> None:
        self._store = store
        self._registry = registry
        self._caller = caller
        self.converter = Converter(store, caller)
        self._matching = Matching(store, registry)
        self._access = Access(store)
        self._policies = Policies(store, registry, self._access, self._matching)
        self.index = Index(store, registry, self._matching, self._policies)

    def concerns(self, operation: str, resource: Resource, subresource: str, namespace: str) -> bool:
        """Whether somebody may have to be asked about such a request, which then takes time."""
        return self.index.concerns(operation, resource, subresource, namespace)

    async def carried_out(self, write: Write, asker: Asker, warnings: list[str], *, limited: bool = True) -> Tree:
        """The result of the write after its questions were answered by those whom they concern.

        Warnings are added to the list. Nothing is waited for where nobody has to be asked. A write that is not
        `limited` may take longer than a request.
        """
        write = asking_some(write, self._is_asked)
        try:
            asked = next(write)
        except StopIteration as done:
            result: Tree = done.value
            return result
        try:
            async with asyncio.timeout(REQUEST_SECONDS if limited else None):
                return await driven(write, asked, lambda each: self._answered(each, asker, warnings), self.converter)
        except TimeoutError:
            why = "request did not complete within requested timeout - context deadline exceeded"
            raise timeout(why) from None

    def _is_asked(self, question: Question) -> bool:
        return self.index.of(question) is not None

    async def _answered(self, question: Question, asker: Asker, warnings: list[str]) -> Tree | None:
        concerned = self.index.of(question)
        if concerned is None:
            return question.object
        is_last = question.phase in (VALIDATING, DELETING)
        session = _Session(self, question, asker, warnings)
        if question.phase in (MUTATING, DELETING):
            await session.mutate(concerned.mutating)
        if is_last:
            await self._policies.ask(concerned.policies, question, asker, warnings, self.converter)
            await session.validate(concerned.validating)
        return session.object

    async def invocation(
        self, interest: Interest, question: Question, changed: Tree | None, asker: Asker
    ) -> Invocation | None:
        """How the webhook is to be asked; None when the request is none of its business."""
        hook, kind = interest.hook, interest.kind or question.kind
        if not is_labelled(hook.object_selector, question, changed):
            return None
        if not self._matching.in_namespace(hook.namespace_selector, question, changed):
            return None
        shown = question.shown if question.shown != question.kind.resource else kind.resource
        invocation = Invocation(kind, shown, hook)
        if hook.match_conditions and not await self._holds(invocation, replace(question, object=changed), asker):
            return None
        return invocation

    async def _holds(self, invocation: Invocation, question: Question, asker: Asker) -> bool:
        """Whether the conditions of a webhook hold; 403 where they come to no answer and it must not be passed over."""
        seen = await self._seen(invocation.kind, question)
        # The version of the request is told even where the objects are shown in another one.
        values = values_of(seen, request_of(View(question.kind, invocation.shown), seen, asker), self._access)
        hook = invocation.hook
        try:
            return matches(hook.match_conditions, values, hook.failure_policy)
        except Unmatched as trouble:
            raise forbidden(question.kind.resource, question.name, str(trouble)) from None

    async def _seen(self, kind: Kind, question: Question) -> Question:
        """The question with its trees in another version."""
        if kind is question.kind:
            return question
        trees = [await self.converted(question.kind, kind, tree) for tree in (question.object, question.old)]
        return replace(question, object=trees[0], old=trees[1])

    async def ask(self, invocation: Invocation, question: Question, asker: Asker) -> Answer:
        """The webhook's answer; of a failure, what its policy makes of it."""
        draws = self._store.draws("admission")
        uid = str(uuid.UUID(int=draws.integer() << 64 | draws.integer(), version=4))
        hook = invocation.hook
        try:
            return await ask(invocation, await self._seen(invocation.kind, question), asker, uid, self._caller)
        except Failed as failure:
            if hook.failure_policy == "Ignore":
                return Answer()
            raise _uncalled(hook, str(failure)) from None

    async def converted(self, source: Kind, target: Kind, tree: Tree | None) -> Tree | None:
        """A tree of one kind as another kind of the same objects."""
        return await views.moved(source, target, tree, self.converter)


class _Session:
    """The answering of one question."""

    def __init__(self, admission: Admission, question: Question, asker: Asker, warnings: list[str]) -> None:
        self.object = question.object
        self._admission = admission
        self._question = question
        self._asker = asker
        self._warnings = warnings
        self._is_complete = False

    async def mutate(self, hooks: Sequence[Interest]) -> None:
        """One round, and another for those that were asked before somebody else's change and care."""
        asked: list[str] = []
        again = await self._round(hooks, asked, None)
        if again is not None:
            await self._round(hooks, asked, again)
        is_new = self._question.operation == "CREATE" and not self._question.subresource
        if is_new and self.object is not None and self.object["metadata"].get("resourceVersion"):
            raise internal("resourceVersion should not be set on objects to be created")

    async def _round(self, hooks: Sequence[Interest], asked: list[str], only: list[str] | None) -> list[str] | None:
        """Who is to be asked again; None when nothing was changed."""
        again = only
        for interest in hooks:
            if only is not None and interest.key not in only:
                continue
            invocation = await self._admission.invocation(interest, self._question, self.object, self._asker)
            if invocation is None:
                continue
            if await self._mutated_by(invocation):
                again = [*(again or []), *asked]
                asked.clear()
                if only is not None:
                    only = again
            if interest.hook.reinvocation_policy == "IfNeeded":
                asked.append(interest.key)
        return again

    async def _mutated_by(self, invocation: Invocation) -> bool:
        """Whether the webhook changed the object."""
        if not self._is_complete and self.object is not None:
            self.object = self._question.complete(self.object)
            self._is_complete = True
        question = replace(self._question, phase=MUTATING, object=self.object)
        answer = await self._admission.ask(invocation, question, self._asker)
        self._warnings += answer.warnings
        if answer.refusal is not None:
            raise answer.refusal
        if not answer.patch:
            return False
        return await self._patched(invocation, answer)

    async def _patched(self, invocation: Invocation, answer: Answer) -> bool:
        hook, own, kind = invocation.hook, self._question.kind, invocation.kind
        try:
            apply = webhook_patches.reader(answer.patch)
        except Undecodable as trouble:
            if hook.failure_policy == "Ignore":
                return False
            raise _uncalled(hook, f"received undecodable patch in webhook response: {trouble}") from None
        if self.object is None:
            why = "attempted to modify the object, which is not supported for this operation"
            raise internal_error(f"admission webhook {quoted(hook.name)} {why}")
        if answer.patch_type != JSON_PATCH:
            if hook.failure_policy == "Ignore":
                return False
            raise _uncalled(hook, f"unsupported patch type {quoted(answer.patch_type)}")
        before = self.object
        changed = apply(await self._admission.converted(own, kind, before) or {})
        named = changed.get("apiVersion") or "", changed.get("kind") or ""
        if named != (invocation.shown.api_version, invocation.shown.kind):
            raise internal_error(unregistered(*named))
        self.object = self._question.complete(await self._admission.converted(kind, own, changed) or {})
        return self.object != before

    async def validate(self, hooks: Sequence[Interest]) -> None:
        """Asks all at the same time; of several refusals the first in order counts."""
        found = [await self._admission.invocation(each, self._question, self.object, self._asker) for each in hooks]
        invocations = [invocation for invocation in found if invocation is not None]
        if not invocations:
            return
        question = replace(self._question, phase=VALIDATING, object=self.object)
        answers = await asyncio.gather(
            *(self._admission.ask(each, question, self._asker) for each in invocations), return_exceptions=True
        )
        refusals: list[BaseException] = []
        for answer in answers:
            if isinstance(answer, BaseException):
                refusals.append(answer)
                continue
            self._warnings += answer.warnings
            if answer.refusal is not None:
                refusals.append(answer.refusal)
        if refusals:
            raise refusals[0]


def _uncalled(hook: Hook, why: str) -> StatusError:
    return internal_error(f"failed calling webhook {quoted(hook.name)}: {why}")
