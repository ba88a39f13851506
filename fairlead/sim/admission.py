"""Admission webhooks: who is asked about a write, in which order, and what becomes of the answers.

Mutating webhooks are asked one after the other and may change the object; those that ask for it are asked once more
when a later one changed it. Then the server checks, then all validating webhooks are asked at the same time. A
configuration takes effect with its creation. Not there: match conditions (refused at creation), audit annotations, and
webhooks of reviews and tokens, which store nothing.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from fairlead.kube.calls import Caller
from fairlead.sim import patch, views
from fairlead.sim.asking import DELETING, MUTATING, VALIDATING, Question, Write, driven
from fairlead.sim.conversion_reviews import Converter
from fairlead.sim.converting import answered, converted, copied
from fairlead.sim.errors import StatusError, internal_error, not_found, quoted, timeout
from fairlead.sim.registry import ADMISSION, MUTATING_WEBHOOKS, NAMESPACES, VALIDATING_WEBHOOKS, Kind, Registry
from fairlead.sim.reviewing import Answer, Asker, Failed, Invocation, ask
from fairlead.sim.store import Store, Tree, Version
from fairlead.sim.webhooks import Hook, hooks_of

REQUEST_SECONDS = 34.0
"""Time for a whole write, however often it starts again."""
_EXEMPT = (
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
)


class Admission:
    """Has the questions of writes answered by the webhooks of the cluster."""

    def __init__(self, store: Store, registry: Registry, caller: Caller) -> None:
        self._store = store
        self._registry = registry
        self._caller = caller
        self.converter = Converter(store, caller)
        self._configurations = {
            MUTATING: store.table(MUTATING_WEBHOOKS).live,
            VALIDATING: store.table(VALIDATING_WEBHOOKS).live,
        }
        self._hooks: dict[int, tuple[Hook, ...]] = {}
        """By the revision of their configuration."""

    def asks_anybody(self) -> bool:
        """False while there is no configuration at all; writes then need not wait for anything."""
        return any(self._configurations.values())

    async def carried_out(self, write: Write, asker: Asker, warnings: list[str], *, limited: bool = True) -> Tree:
        """The result of the write after all its questions were answered; warnings are added to the list.

        A write that is not `limited` may take longer than a request.
        """
        try:
            async with asyncio.timeout(REQUEST_SECONDS if limited else None):
                return await driven(write, lambda asked: self._answered(asked, asker, warnings), self.converter)
        except TimeoutError:
            why = "request did not complete within requested timeout - context deadline exceeded"
            raise timeout(why) from None

    async def _answered(self, question: Question, asker: Asker, warnings: list[str]) -> Tree | None:
        resource = question.kind.resource
        if resource.group == ADMISSION and resource.kind in _EXEMPT:
            return question.object
        session = _Session(self, question, asker, warnings)
        if question.phase in (MUTATING, DELETING):
            await session.mutate(self.hooks(MUTATING))
        if question.phase in (VALIDATING, DELETING):
            await session.validate(self.hooks(VALIDATING))
        return session.object

    def hooks(self, phase: str) -> list[tuple[str, Hook]]:
        """All webhooks of a phase with a key of their own, configurations by name, their entries in order."""
        found: list[tuple[str, Hook]] = []
        for (_, name), version in sorted(self._configurations[phase].items(), key=lambda item: item[0]):
            found += [(f"{name}/{index}", hook) for index, hook in enumerate(self._decoded(version))]
        return found

    def _decoded(self, configuration: Version) -> tuple[Hook, ...]:
        known = self._hooks.get(configuration.revision)
        if known is None:
            live = {version.revision for table in self._configurations.values() for version in table.values()}
            self._hooks = {revision: hooks for revision, hooks in self._hooks.items() if revision in live}
            known = self._hooks[configuration.revision] = hooks_of(configuration)
        return known

    def invocation(self, hook: Hook, question: Question, changed: Tree | None) -> Invocation | None:
        """How the webhook is to be asked; None when the request is none of its business."""
        kind = self._matching(hook, question)
        if kind is None or not _selects_object(hook, question, changed):
            return None
        if not self._selects_namespace(hook, question, changed):
            return None
        shown = question.shown if question.shown != question.kind.resource else kind.resource
        return Invocation(hook, kind, shown)

    def _matching(self, hook: Hook, question: Question) -> Kind | None:
        """The kind, or an equivalent one, that a rule names; earlier rules go first."""
        about = question.operation, question.subresource, question.namespace
        kinds = [[question.kind]]
        if hook.match_policy == "Equivalent":
            kinds.append(list(self._equivalents(question.kind)))
        for candidates in kinds:
            for rule in hook.rules:
                for kind in candidates:
                    if rule.matches(about[0], kind.resource, *about[1:]):
                        return kind
        return None

    def _equivalents(self, kind: Kind) -> Iterator[Kind]:
        for group, versions in self._registry.versions().items():
            for version in versions:
                for other in self._registry.served(group, version):
                    if other.resource != kind.resource and other.storage == kind.storage:
                        yield other

    def _selects_namespace(self, hook: Hook, question: Question, changed: Tree | None) -> bool:
        resource = question.kind.resource
        if not question.namespace and resource.plural != NAMESPACES.plural:
            return True
        selector = hook.namespace_selector
        if not selector.match_labels and not selector.match_expressions:
            return True
        if resource == NAMESPACES and not question.subresource and changed is not None:
            return selector.matches(changed["metadata"].get("labels") or {})
        space = self._store.table(NAMESPACES).live.get(("", question.namespace))
        if space is None:
            raise not_found(NAMESPACES, question.namespace)
        return selector.matches(space.head.labels)

    async def ask(self, invocation: Invocation, question: Question, asker: Asker) -> Answer:
        """The webhook's answer; of a failure, what its policy makes of it."""
        draws = self._store.draws("admission")
        uid = str(uuid.UUID(int=draws.integer() << 64 | draws.integer(), version=4))
        hook, own, kind = invocation.hook, question.kind, invocation.kind
        if kind is not own:
            trees = [await self.converted(own, kind, tree) for tree in (question.object, question.old)]
            question = replace(question, object=trees[0], old=trees[1])
        try:
            return await ask(invocation, question, asker, uid, self._caller)
        except Failed as failure:
            if hook.failure_policy == "Ignore":
                return Answer()
            raise internal_error(f"failed calling webhook {quoted(hook.name)}: {failure}") from None

    async def converted(self, source: Kind, target: Kind, tree: Tree | None) -> Tree | None:
        """A tree of one kind as another kind of the same objects."""
        if tree is None or source is target:
            return tree
        if source.custom is None:
            return views.outward(target, views.inward(source, tree))
        asking = converted(source, [copied(tree)], target.resource.api_version)
        return (await answered(asking, self.converter))[0]


class _Session:
    """The answering of one question."""

    def __init__(self, admission: Admission, question: Question, asker: Asker, warnings: list[str]) -> None:
        self.object = question.object
        self._admission = admission
        self._question = question
        self._asker = asker
        self._warnings = warnings
        self._is_complete = False

    async def mutate(self, hooks: Sequence[tuple[str, Hook]]) -> None:
        """One round, and another for those that were asked before somebody else's change and care."""
        asked: list[str] = []
        again = await self._round(hooks, asked, None)
        if again is not None:
            await self._round(hooks, asked, again)

    async def _round(
        self, hooks: Sequence[tuple[str, Hook]], asked: list[str], only: list[str] | None
    ) -> list[str] | None:
        """Who is to be asked again; None when nothing was changed."""
        again = only
        for key, hook in hooks:
            invocation = self._admission.invocation(hook, self._question, self.object)
            if invocation is None or (only is not None and key not in only):
                continue
            if await self._mutated_by(invocation):
                again = [*(again or []), *asked]
                asked.clear()
                if only is not None:
                    only = again
            if hook.reinvocation_policy == "IfNeeded":
                asked.append(key)
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
        return await self._patched(invocation, answer.patch)

    async def _patched(self, invocation: Invocation, body: bytes) -> bool:
        hook, own, kind = invocation.hook, self._question.kind, invocation.kind
        try:
            apply = patch.reader(patch.JSON_PATCH, body)
        except StatusError as error:
            if hook.failure_policy == "Ignore":
                return False
            why = f"received undecodable patch in webhook response: {error.message}"
            raise internal_error(f"failed calling webhook {quoted(hook.name)}: {why}") from None
        if self.object is None:
            why = "attempted to modify the object, which is not supported for this operation"
            raise internal_error(f"admission webhook {quoted(hook.name)} {why}")
        before = self.object
        try:
            changed = apply(await self._admission.converted(own, kind, before) or {})
            self.object = self._question.complete(await self._admission.converted(kind, own, changed) or {})
        except StatusError as error:
            why = f"the patch of admission webhook {quoted(hook.name)} cannot be applied: {error.message}"
            raise internal_error(why) from None
        return self.object != before

    async def validate(self, hooks: Sequence[tuple[str, Hook]]) -> None:
        """Asks all at the same time; of several refusals the first in order counts."""
        invocations = [
            invocation
            for _, hook in hooks
            if (invocation := self._admission.invocation(hook, self._question, self.object)) is not None
        ]
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


def _selects_object(hook: Hook, question: Question, changed: Tree | None) -> bool:
    """Whether the object, as it is or as it was, has the labels that the webhook cares about."""
    selector = hook.object_selector
    if not selector.match_labels and not selector.match_expressions:
        return True
    trees = [tree for tree in (changed, question.old) if tree is not None]
    return any(selector.matches((tree.get("metadata") or {}).get("labels") or {}) for tree in trees)
