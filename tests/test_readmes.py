"""The examples of the READMEs, and those in `examples/`, are run as they stand there."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead.contracts import CONTRACTS
from kubeloop.worker import work
from kubesim import VirtualCluster

ROOT = Path(__file__).parent.parent


def example(readme: str) -> dict[str, Any]:
    """What the first example of a README defines, once it was run."""
    (source, *_) = re.findall(r"```python\n(.+?)```", (ROOT / readme).read_text(), re.DOTALL)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, readme, "exec", dont_inherit=True), names)  # noqa: S102  it is our own
    return names


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("README.md", r"^`--parts ([a-z,]+) --config FILE` runs all in one process"),
        ("docs/cli.md", r"^`--parts` names the contracts to serve: (.+), or several"),
    ],
)
def test_every_part_that_there_is_can_be_chosen(document: str, sentence: str) -> None:
    (named,) = re.findall(sentence, (ROOT / document).read_text(), re.MULTILINE)

    assert [*re.findall(r"\w+", named.replace("(the default)", ""))] == [*CONTRACTS]


def test_the_pod_of_kubesims_example_runs_after_twelve_hours() -> None:
    assert example("kubesim/README.md")["phase"] == "Running"


def test_the_controller_of_kubeloops_example_labels_what_it_sees() -> None:
    names = example("kubeloop/README.md")
    maps = names["CONFIGMAPS"]

    async def scenario(world: VirtualCluster) -> str:
        informer, queue = names["controller"](world.client)

        async def reconcile(key: tuple[str, str]) -> None:
            await names["reconcile"](world.client, key)

        failures: list[Exception] = []
        working = work(queue, reconcile, workers=1, failed=lambda _, error: failures.append(error))
        tasks = [asyncio.create_task(informer.run()), asyncio.create_task(working)]
        metadata = {"name": "mine", "namespace": "default"}
        await world.create(maps, "default", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

        async def is_labelled() -> bool:
            found = await world.get(maps, "default", "mine")
            return found is not None and "labels" in found["metadata"]

        await world.until(is_labelled, within=60.0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not failures
        found = await world.get(maps, "default", "mine")
        assert found is not None
        return str(found["metadata"]["labels"]["seen"])

    assert VirtualCluster().play(scenario) == "true"


def test_the_files_of_the_page_for_others_pass_as_they_stand_there(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "test-your-operator.md").read_text()
    files = re.findall(r"`(\w+\.py)`:\n\n```python\n(.+?)```", page, re.DOTALL)
    for name, text in files:
        (tmp_path / name).write_text(text)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", "--strict-config"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    assert len(files) == page.count("```python")
    assert done.returncode == 0, done.stdout
    assert f"{page.count('def test_')} passed" in done.stdout


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "test-your-operator.md").read_text()))
def test_every_link_of_that_page_leads_somewhere(link: str) -> None:
    path, _, heading = link.partition("#")
    target = ROOT / "docs" / (path or "test-your-operator.md")
    headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE) if heading else []

    assert target.exists()
    assert not heading or heading in [each.lower().replace(" ", "-") for each in headings]


@pytest.mark.parametrize("options", ["--kubesim-seed 0", "--kubesim-seed 1 -k siesta"])
def test_the_examples_pass(options: str) -> None:
    """As the README of kubesim says it is done; what runs in virtual time depends on the seed."""
    command = (ROOT / "kubesim" / "README.md").read_text().split("`python -m ")[1].split("`")[0]

    done = subprocess.run(
        [sys.executable, "-m", *command.split(), *options.split()],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    assert done.returncode == 0, done.stdout
