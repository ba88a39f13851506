"""Seals: what shows or records a secret shows its seal."""

from __future__ import annotations

import copy
import json
import pickle
import re
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from fairlead.core.ask import Answers, Ask, Good, ReadSecret
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.sealed import PREFIX, Sealed, Unshown, recordable
from kubeloop.sealing import seal

SECRET = b"open sesame"


class _Holder(Struct, frozen=True):
    held: Sealed


def test_only_opening_gives_the_content() -> None:
    sealed = seal(SECRET)

    shown = (
        repr(sealed),
        str(sealed),
        f"{sealed}",
        f"{sealed!r:>40}",
        "%s" % sealed,  # noqa: UP031 - a way to show it
        sealed.upper(),
        "".join(sealed),
        json.dumps({"held": [sealed], sealed: 1}),
        repr(_Holder(sealed)),
        repr({"a": [sealed]}),
        msgspec.json.encode(_Holder(sealed), enc_hook=recordable).decode(),
        str(msgspec.to_builtins({"a": sealed}, enc_hook=recordable)),
    )

    assert sealed.open() == SECRET
    assert not any("sesame" in text for text in shown)
    assert all(PREFIX.lower() in text.lower() for text in shown)
    assert msgspec.json.encode([sealed], enc_hook=recordable) == f'["{sealed!r}"]'.encode()


def test_whoever_encodes_without_knowing_of_seals_fails_and_tells_nothing() -> None:
    with pytest.raises(TypeError, match="Sealed is unsupported"):
        msgspec.json.encode(_Holder(seal(SECRET)))
    with pytest.raises(NotImplementedError, match="set has no form to be recorded in"):
        recordable({"x"})


def test_a_seal_does_not_leave_its_process() -> None:
    sealed = seal(SECRET)

    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(sealed)
    assert copy.copy(sealed) is sealed
    assert copy.deepcopy([sealed])[0] is sealed


@given(st.binary(), st.binary())
def test_seals_are_equal_as_their_contents_are(one: bytes, other: bytes) -> None:
    assert (seal(one) == seal(other)) is (one == other)
    assert hash(seal(one)) == hash(seal(one))
    assert seal(one).open() == one


def test_another_process_gives_another_digest() -> None:
    """So nobody who has a record can try passwords until the digest is the same."""
    script = "from kubeloop.sealing import seal; print(seal(b'open sesame'))"

    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()

    assert re.fullmatch(r"sealed:[0-9a-f]{16}", other)
    assert other != seal(SECRET)


def test_what_is_unshown_is_shown_by_its_name() -> None:
    class Pair(Unshown, frozen=True):
        key: str

    assert repr([Pair("sesame")]) == "[Pair(...)]"


def test_answers_with_secrets_can_be_shown_and_recorded() -> None:
    question = Ask(ReadSecret(Ref(SECRETS, "ns", "backend")))

    answers = Answers({question: Good(sealed=(("password", seal(SECRET)),))})

    assert "sesame" not in repr(answers)
    assert PREFIX in repr(answers)
    assert b"sesame" not in msgspec.json.encode(answers[question], enc_hook=recordable)
