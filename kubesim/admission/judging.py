"""What policies say of writes within the process, which wait for nothing.

Controllers write as their service accounts, and policies judge them as they judge anybody. What only a webhook could
answer is not asked: a policy whose parameters, or whose view of the object, a webhook would have to convert fails as if
that webhook could not be reached.
"""

from __future__ import annotations

from functools import partial

from kubesim.admission.matching import Matching
from kubesim.admission.policies_asked import Policies
from kubesim.admission.reviewing import Asker
from kubesim.auth.rbac import Access, user_of
from kubesim.errors import internal
from kubesim.kinds.converting import Convert
from kubesim.kinds.registry import Registry
from kubesim.store.store import Store
from kubesim.store.versions import Tree
from kubesim.writes.asking import DELETING, VALIDATING, Question, Write, at_once, unreviewed

SERVER = "system:apiserver"
"""The server itself; what it writes is not judged."""


class Judging:
    """Carries out writes under the policies of the cluster."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._policies = Policies(store, registry, Access(store), Matching(store, registry))

    def is_needed(self) -> bool:
        """False while no policy is bound."""
        return self._policies.asks_anybody()

    def carried_out(self, write: Write, user: str) -> Tree:
        """The result of the write; a denial is a StatusError."""
        if user == SERVER or not self._policies.asks_anybody():
            return unreviewed(write)
        return at_once(write, partial(self._answered, Asker(user_of(user).info(), {})))

    def _answered(self, asker: Asker, question: Question) -> Tree | None:
        if question.phase in (VALIDATING, DELETING):
            judged = self._policies.ask(question, asker, [], _unconverted)
            try:
                judged.send(None)
            except StopIteration:
                return question.object
            judged.close()
            raise RuntimeError("a policy waits for something")
        return question.object


async def _unconverted(asked: Convert) -> list[Tree]:
    raise internal(f"nobody asks the conversion webhook for {asked.desired} here")
