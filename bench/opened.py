"""How long it takes from the command `fairlead up` until its cluster answers what kubectl asks first."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from msgspec import Struct

PODS = "/api/v1/namespaces/default/pods"
"""The list that `kubectl get pods` asks for."""
_LIMIT = 30.0
_LOOK_EVERY = 0.005


class Opening(Struct, frozen=True):
    """Seconds."""

    ready: float
    python: float
    """What Python takes to do nothing."""


def measure() -> Opening:
    """Both one after the other, so that what else the machine does falls on both alike."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True, timeout=_LIMIT)
    python = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as folder:
        return Opening(_ready(Path(folder)), python)


def _ready(folder: Path) -> float:
    begun = time.perf_counter()
    with running(folder, folder / "kubeconfig"):
        return time.perf_counter() - begun


@contextmanager
def running(folder: Path, kubeconfig: Path, *words: str, path: str = PODS) -> Iterator[None]:
    """A `fairlead up` that serves what is at the path, until the context is left."""
    begun = time.perf_counter()
    up = subprocess.Popen(
        [Path(sys.executable).with_name("fairlead"), "up", "--kubeconfig-out", str(kubeconfig), *words],
        env=os.environ | {"XDG_CACHE_HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        while not _answers(kubeconfig, path):
            if up.poll() is not None or time.perf_counter() - begun > _LIMIT:
                raise RuntimeError("fairlead up did not answer")
            time.sleep(_LOOK_EVERY)
        yield
    finally:
        up.terminate()
        up.wait(_LIMIT)


def _answers(kubeconfig: Path, path: str) -> bool:
    try:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())
        where = urlsplit(cluster["server"])
        connection = HTTPSConnection(where.hostname or "", where.port, context=context, timeout=_LIMIT)
        headers = {"Authorization": f"Bearer {user['token']}"}
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status == 200
    except (OSError, HTTPException, TypeError, KeyError, ssl.SSLError):
        return False
