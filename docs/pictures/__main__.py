"""Draws the pictures of the documents: `.venv/bin/python docs/pictures`.

The live view is drawn by the same functions that `fairlead watch` uses, from a rollout on the embedded cluster that is
stopped in the middle.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from io import StringIO
from pathlib import Path

from rich.console import Console

from fairlead.cli.documents_of import explain_all
from fairlead.cli.views.render import legend, picture, styled
from fairlead.contracts.zones.demo import GROUP, ROLLOUT
from fairlead.core.explain import Explain
from fairlead.engine.logs import configure
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from fairlead.engine.process import assemble
from kubeloop import clock
from kubeloop.client import Client
from kubesim.cluster import Cluster
from kubesim.kubelet import Kubelet
from kubesim.time import run

WIDTH = 92
# No font is fetched from anywhere: the reader's own monospaced one is used.
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: system-ui, sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


async def halfway() -> tuple[Explain, datetime]:
    """The zone demo, when its second zone is on its way."""
    cluster, demo = Cluster(seed=7), ROLLOUT
    client = Client(cluster.transport("admin"))
    log = configure("error", "logfmt", StringIO())
    manager = await assemble(OperatorOptions(process="fairlead"), "", cluster.transport("fairlead"), Metrics(), log)
    kubelet = Kubelet(Client(cluster.transport("kubelet")), ready_after=20, gone_after=5)
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(work) for work in (cluster.run(), kubelet.run(), manager.run())]
        await demo.create(client)
        await asyncio.sleep(60)
        await demo.change(client)
        await asyncio.sleep(68)
        seen = (await explain_all(client, (demo.namespace,)))[0]
        for task in running:
            task.cancel()
    return seen, clock.now()


def main() -> None:
    seen, now = run(halfway())
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(styled([*picture(seen, now, WIDTH), (), legend()]))
    path = Path(__file__).with_name("live-view.svg")
    path.write_text(console.export_svg(title=f"fairlead watch {GROUP}", code_format=FORMAT, unique_id="live"))


if __name__ == "__main__":
    main()
