"""What is in the image, what is not, and how it starts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest

import fairlead
from tests.image.containers import ROOT, Container, built, container, storage
from tools.image import TARGETS

pytestmark = pytest.mark.real

MOST_MEGABYTES = 130
"""Of what the image adds to its base."""
PROGRAMS = {
    "fairlead": ["fairlead", "--help"],
    "kubectl-fairlead": ["kubectl-fairlead", "--help"],
    "rollout-operator": ["rollout-operator", "-help"],
    "orchestratord": ["orchestratord", "--help"],
    "lws-manager": ["lws-manager", "--help"],
    "vela-core": ["vela-core", "--help"],
    "where installations of LeaderWorkerSets look": ["/manager", "--help"],
}
CONTRACTS = ROOT / "fairlead" / "contracts"


@pytest.fixture(scope="module")
def a_container() -> Iterator[Container]:
    with storage(), container(built()) as made:
        yield made


def run(inside: Container, *command: str, code: int = 0) -> str:
    done = subprocess.run(inside.command(command), check=False, text=True, capture_output=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def python(inside: Container, code: str, expected: int = 0) -> str:
    return run(inside, "/opt/fairlead/bin/python3", "-c", code, code=expected).strip()


def test_installed_is_what_the_lock_names_and_fairlead(a_container: Container) -> None:
    code = "import importlib.metadata as m; print('\\n'.join(f'{d.name}=={d.version}' for d in m.distributions()))"
    locked = re.findall(r"^([\w.-]+==\S+)", (ROOT / "image" / "requirements.lock").read_text(), re.MULTILINE)

    installed = {re.sub(r"[._-]+", "-", line).lower() for line in python(a_container, code).splitlines()}

    wanted = {re.sub(r"[._-]+", "-", line).lower() for line in (*locked, f"fairlead=={fairlead.__version__}")}
    assert installed == wanted


def test_nothing_that_builds_or_installs_is_left(a_container: Container) -> None:
    modules = ("pip", "setuptools", "wheel", "hatchling", "ensurepip", "pytest", "mypy")
    code = f"import importlib.util as u; print([n for n in {modules} if u.find_spec(n)])"

    assert python(a_container, code) == "[]"
    assert run(a_container, "/usr/bin/env", "python3", "-c", code).strip() == "[]", "neither beside the base's Python"
    assert run(a_container, "sh", "-c", "command -v gcc cc make git pip pip3; true").strip() == ""


def test_every_module_was_compiled_when_the_image_was_built(a_container: Container) -> None:
    """On a read-only root nobody else could: each start would compile everything again."""
    (library,) = (a_container.root / "opt/fairlead/lib").iterdir()
    tag = f"cpython-{library.name.removeprefix('python').replace('.', '')}"
    sources = list((library / "site-packages" / "fairlead").rglob("*.py"))
    compiled = [(path.parent / "__pycache__" / f"{path.stem}.{tag}.pyc").exists() for path in sources]

    assert len(sources) > 300
    assert all(compiled)


def test_it_adds_little_to_its_base(a_container: Container) -> None:
    added = sum(path.lstat().st_size for path in (a_container.root / "opt").rglob("*") if not path.is_symlink())

    assert added / 1e6 < MOST_MEGABYTES


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_starts_by_its_name(a_container: Container, program: str) -> None:
    said = run(a_container, *PROGRAMS[program])

    assert "usage" in said.lower()


@pytest.mark.parametrize("target", TARGETS)
def test_each_target_starts_its_program(target: str) -> None:
    with storage(), container(built(target)) as made:
        command = made.command((), "-help" if target == "rollout-operator" else "--help")
        said = subprocess.run(command, check=True, text=True, capture_output=True, timeout=60)

    words = {"fairlead": "usage: fairlead COMMAND", "orchestratord": "usage: orchestratord"}
    assert words.get(target, f"Usage of {target}") in said.stdout + said.stderr


def test_it_runs_as_nobody_special_on_a_root_that_is_read_only(a_container: Container) -> None:
    status = python(a_container, "print(open('/proc/self/status').read())")
    refused = python(a_container, "open('/opt/fairlead/new', 'w')", expected=1)
    written = python(a_container, "open('/tmp/new', 'w').write('x'); import os; print(os.getuid(), os.getgroups())")

    assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)
    assert "Read-only file system" in refused
    assert written == "65532 []"


@pytest.mark.parametrize("contract", ["zones", "environments"])
def test_its_user_is_that_of_the_charts(a_container: Container, contract: str) -> None:
    charts = CONTRACTS / contract / "install" / "charts"
    text = "".join(path.read_text() for ending in ("yaml", "tpl") for path in charts.rglob(f"*.{ending}"))

    user, group = a_container.image.config["User"].split(":")
    assert set(re.findall(r"runAsUser: (\d+)", text)) == {user}
    assert set(re.findall(r"runAsGroup: (\d+)", text)) <= {group}


def test_labels_say_what_it_is(a_container: Container) -> None:
    labels = a_container.image.config["Labels"]
    prefix = "org.opencontainers.image"

    assert labels[f"{prefix}.title"] == "fairlead"
    assert labels[f"{prefix}.version"] == fairlead.__version__
    assert labels[f"{prefix}.licenses"] == "Apache-2.0"
    assert re.fullmatch(r"[0-9a-f]{40}|unknown", labels[f"{prefix}.revision"])
