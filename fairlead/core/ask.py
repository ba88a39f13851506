"""Questions as values: facts from outside the cache that a decision needs, and their answers.

A decision that lacks a fact returns `Need`; the driver asks and decides again with the answers in the Snapshot.
A question is its own identity: equal questions are asked once per round. Admission, which has no later round, may also
have a Write carried out in the middle of deciding; the Write is then the question, and what became of it the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TypeAlias

from msgspec import Struct

from fairlead.core.act import AnyWrite
from kubeloop.objects.meta import Ref, Resource
from kubeloop.sealed import Sealed


class Read(Struct, frozen=True):
    """A live read of one object, past the cache; answered with its body."""

    ref: Ref
    subresource: str = ""
    after: str = ""
    """What an earlier answer of the same round said and a write has since proved outdated: a version, or `absent`.

    It makes reading again another question.
    """
    sealed: str = ""
    """Dotted path of a field that may hold what is secret: the body comes without it, and its JSON sealed."""
    metadata_only: bool = False
    """Whether the body has nothing but its `metadata`, which may be asked of Secrets as well."""


class ReadSecret(Struct, frozen=True):
    """A live read of a Secret; answered with what it holds, sealed, and with nothing else of it."""

    ref: Ref


class Listing(Struct, frozen=True):
    """A live list, past the cache; answered with `{"metadata": {...}, "items": [...]}` as the API has it.

    `metadata` holds the `resourceVersion` of the list and, when there are more pages, `continue` and, where the server
    says it, `remainingItemCount`.
    """

    resource: Resource
    """Its version is the one that the objects are wanted in."""
    namespace: str
    """Empty for all namespaces."""
    labels: str = ""
    """A label selector as the API takes it."""
    limit: int = 0
    """Items of one page at most; 0: all pages together."""
    cursor: str = ""
    """With a limit: `continue` of the page before; Bad("expired") when the server no longer knows it."""
    metadata_only: bool = False
    """Whether the items have nothing but their `metadata`."""


class Discover(Struct, frozen=True):
    """How a kind is served; answered with a JSON array of `api.meta.Served`, the preferred version first."""

    group: str
    kind: str


class SignIn(Struct, frozen=True):
    """How a session is opened before a call: this body, with a value of a Secret in it, is posted and cookies are kept.

    The Secret's value is put in when it is sent and shown nowhere. The session serves until the server refuses it (401,
    403) or the Secret changes. A Secret without the key means that no session is needed.
    """

    url: str
    username: str
    secret: Ref
    key: str


class Credential(Struct, frozen=True):
    """A header whose value comes from a Secret when the call is sent, and is shown nowhere.

    When the Secret cannot be read or lacks the key, the call is not sent and is answered Bad("sign-in").
    """

    secret: Ref
    key: str
    header: str = "Authorization"
    prefix: str = "Bearer "
    """What the value begins with."""
    username: str = ""
    """With one, the Secret holds a password, and the value is both as HTTP's Basic authentication has them."""
    username_key: str = ""
    """The same with a user name that the Secret holds as well, under this key."""


class Retry(Struct, frozen=True):
    """When a call that failed is sent again."""

    tries: int = 1
    """How often it is sent at most."""
    spacing_seconds: float = 0.2
    growth: float = 1.0
    """By how much the spacing grows each time."""
    codes: tuple[int, ...] | None = None
    """Statuses after which it is sent again; None: all that are not accepted."""
    when_unanswered: bool = True
    """Whether it is sent again when there was no answer: then it may be heard twice."""

    def covers(self, failure: Bad) -> bool:
        """Whether the call is sent again after this."""
        if not failure.code:
            return self.when_unanswered
        return self.codes is None or failure.code in self.codes


class Http(Struct, frozen=True):
    """A call outside the API server; answered with the body of a 2xx, anything else is Bad("failed") with its code."""

    method: str
    url: str
    """Where the address is sealed, what is shown instead of it."""
    subject: str = ""
    """What the answer is about (a pod's UID), so that the answer of an old pod is never taken for that of a new one."""
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    """Beside those of every call, in whose place they go where they have the same name. Nothing secret: a question is
    shown and kept."""
    sealed_headers: Sealed | None = None
    """JSON of further headers, a text or a list of texts by name, which is opened when the call is sent."""
    sealed_url: Sealed | None = None
    """The address where all of it is secret; opened when the call is sent."""
    ending: str = ""
    """What the path of a sealed address ends with, and gets where it does not."""
    proxy: str = ""
    """The proxy that it goes through; empty: the one that the environment names, if any."""
    credential: Credential | None = None
    sign_in: SignIn | None = None
    """A session that the call needs; when it cannot be opened the call is not sent and is answered Bad("sign-in")."""
    accepts: tuple[int, ...] = ()
    """Statuses that are an answer and no failure, told with it; empty: all 2xx."""
    retry: Retry = Retry()
    largest: int = 0
    """Bytes of an answer, beyond which it is none; 0: what is read at all."""
    heeds_body: bool = True
    """Whether the body is part of the answer; where it is not, it is neither read nor kept."""
    verified: bool = True
    """Whether the certificate of the other side must be trusted."""
    follows: bool = False
    """Whether a redirect is followed, without credentials to another origin; else it is a failure like any other.

    Not for what has an effect, has a credential or signs in: whoever is meant is asked, and nobody else.
    """


class Mint(Struct, frozen=True):
    """A new key with a certificate for a server, signed by a new authority or by one that is there.

    Random, so never made inside of deciding. Answered with `{"certificate": PEM, "authority": PEM}`, and with the key
    sealed under `key` and that of a new authority under `authority-key`; writes of Secrets put them in without opening
    them.
    """

    names: tuple[str, ...]
    """DNS names of the server."""
    lifetime: timedelta
    common_name: str = ""
    """Of a new authority."""
    authority_lifetime: timedelta = timedelta()
    """Of a new authority."""
    authority: str = ""
    """PEM of the one that signs; empty: a new one is made."""
    authority_key: Sealed | None = None
    """Its key."""


class Shake(Struct, frozen=True):
    """A TLS handshake; answered with PEM of the certificate that is served, trusted or not."""

    host: str
    port: int
    server_name: str = ""
    """The name that is asked for; empty: the host."""


class ReadRecord(Struct, frozen=True):
    """The record of this name; answered with its value (empty when there is none) and its version."""

    record: str


class SwapRecord(Struct, frozen=True):
    """Replaces the record if it still has this version; Bad("conflict") when it has not. An empty value removes it."""

    record: str
    version: str
    value: bytes
    lasts: int = 0
    """Seconds after which the value counts for nothing, so that the record may go; 0: it stays until it is removed."""


class ClientWaiting(Struct, frozen=True):
    """Whether whoever asked for a review still waits for its answer; Bad("unreachable") when nobody does."""


To: TypeAlias = Read | ReadSecret | Listing | Discover | Http | Mint | Shake | ReadRecord | SwapRecord | ClientWaiting


class Ask(Struct, frozen=True):
    to: To
    effect: bool = False
    """Whether asking changes the world; a preview shows such a question instead of asking it."""
    timeout: float = 5
    max_age: float = 0
    """Seconds for which an answer given in an earlier round may serve."""
    no_reply_max_age: float = 0
    """Seconds for which it may serve that nobody answered at the same place, whatever the question was about: so that
    waiting in vain is not repeated. Without a `max_age` that holds only for what took the whole time of the question.
    """
    is_expected_to_fail: bool = False
    """Whether a failure is an ordinary wait, and no error for whoever reads the log."""


Question: TypeAlias = Ask | AnyWrite

REFUSAL_HOLDS = timedelta(seconds=10)
"""A refusable write counts as answered for so long, refused or carried out; then the same one may be tried again."""


class Good(Struct, frozen=True):
    value: bytes = b""
    version: str = ""
    """Of a record, or of a Secret."""
    sealed: tuple[tuple[str, Sealed], ...] = ()
    """What a Secret holds, each with its key; of a Mint, the private keys; of a Read, the field that it seals."""
    code: int = 0
    """HTTP status, where a call names those that it accepts."""
    age: float | None = None
    """Of a record: the seconds for which it has had this version at least; None: nobody has counted."""


class Bad(Struct, frozen=True):
    """`kind` is a word to decide by: `absent`, `refused`, `unreachable`, `timeout`, `late` (the time of the
    whole round was over first), `limited`, `conflict`, `failed`, `not-sent`, `sign-in`, `expired` (the cursor of a
    page)."""

    kind: str
    text: str = ""
    code: int = 0
    """HTTP status, 0 when there was no answer."""
    cursor: str = ""
    """Of a page that has `expired`: where to go on; empty: from the start."""
    retry_after: float = 0.0
    """Seconds after which the server wants to be asked again; 0: it says nothing of it."""


Answer: TypeAlias = Good | Bad


class Answers(Struct, frozen=True):
    """What has been answered in this round."""

    known: Mapping[Question, Answer] = {}

    def __getitem__(self, question: Question) -> Answer:
        return self.known[question]

    def lacking(self, *stages: tuple[Question, ...]) -> tuple[tuple[Question, ...], ...]:
        """The stages reduced to what is not answered yet, empty stages left out."""
        return tuple(filter(None, (tuple(self._open(stage)) for stage in stages)))

    def _open(self, stage: tuple[Question, ...]) -> Iterator[Question]:
        return (question for question in stage if question not in self.known)


class Need(Struct, frozen=True):
    """Ask these, stage after stage, then decide again."""

    stages: tuple[tuple[Question, ...], ...]
    stop_at_failure: bool = False
    """After a failure nothing more of the stage is begun and no later stage; what was not asked is `not-sent`."""
    stop_at: frozenset[str] = frozenset()
    """Kinds of failures that have the same effect where others have not: they say nothing of what was asked about, and
    whatever is asked next would fail alike."""

    def stops_at(self, answer: Answer | None) -> bool:
        return isinstance(answer, Bad) and (self.stop_at_failure or answer.kind in self.stop_at)

    @property
    def goes_outside(self) -> bool:
        """Whether something is asked that may take long, or for ever, while the API server answers everybody else."""
        return any(
            isinstance(each, Ask) and isinstance(each.to, Http | Mint | Shake)
            for stage in self.stages
            for each in stage
        )

    @property
    def has_effect(self) -> bool:
        return any(
            each.effect if isinstance(each, Ask) else not each.dry_run for stage in self.stages for each in stage
        )


class StartOver(Struct, frozen=True):
    """Another was faster: decide again from nothing, as if no answer had been given."""
