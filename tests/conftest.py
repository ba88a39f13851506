"""What holds for all tests."""

from __future__ import annotations

import gc
import itertools
import signal
from collections.abc import Iterator
from functools import lru_cache

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import settings

from kubesim.time import GC_THRESHOLD
from tests.planes import Planes

# The same examples on every run and every machine, so that a red run is red again; `soak` looks further.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("soak", derandomize=False, deadline=None, max_examples=1000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--soak", action="store_true", help="a long run: thousands of programs, and tests that timing may fail"
    )


def pytest_configure(config: pytest.Config) -> None:
    # Thousands of tests stay for the whole run, and looking for cycles among them takes a fifth of it.
    gc.set_threshold(*GC_THRESHOLD)
    settings.load_profile("soak" if config.getoption("--soak") else "default")
    # What a shell starts in the background ignores Ctrl-C and hands that down to programs that tests send it to.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and getattr(item.obj, "is_hypothesis_test", False):
            item.add_marker("machine")
    if not config.getoption("--soak"):
        config.hook.pytest_deselected(items=[item for item in items if _only_soaks(item)])
        items[:] = [item for item in items if not _only_soaks(item)]


def _only_soaks(item: pytest.Item) -> bool:
    """A row of a table that takes `long` does so on the real control plane alone."""
    is_long = item.get_closest_marker("long") and item.get_closest_marker("real")
    return bool(is_long or item.get_closest_marker("timing"))


def pytest_collection_finish() -> None:
    gc.freeze()


@pytest.fixture(scope="session")
def planes() -> Iterator[Planes]:
    """The real control planes of this session, none of them started before a test wants it."""
    planes = Planes()
    yield planes
    planes.close()


_make_key = rsa.generate_private_key


@lru_cache
def _made_before(key_size: int) -> Iterator[rsa.RSAPrivateKey]:
    """One after the other, so that an authority and who it signs for, or a pair and the next, have different ones."""
    return itertools.cycle([_make_key(public_exponent=65537, key_size=key_size) for _ in range(4)])


@pytest.fixture
def few_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of RSA are of a few that were made before: to make one takes up to a few seconds."""

    def generate(public_exponent: int, key_size: int) -> rsa.RSAPrivateKey:
        assert public_exponent == 65537
        return next(_made_before(key_size))

    monkeypatch.setattr(rsa, "generate_private_key", generate)
