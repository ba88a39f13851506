"""What kube-controller-manager 1.36.4 made of the scenarios of `recorded_ordered`: per scenario and step its lines.

Written by `python -m tools.traces`. Lines after a question mark are statuses of a moment.
"""

from __future__ import annotations

RECORDED: dict[str, tuple[str, ...]] = {
    "a rolling update, the last pod first": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 1/0/0 a:1 a:1
        revision a #1
        pod st-0 a new""",
        """ordered st 1(1) 1/1/1 a:1 a:1
        ordered st 1(1) 2/1/1 a:2 a:2
        pod st-0 a ready
        pod st-1 a new""",
        """ordered st 1(1) 2/2/2 a:2 a:2
        pod st-1 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2
        ordered st 2(2) 2/2/2 a:1 b:0
        ordered st 2(2) 1/1/1 a:1 b:0
        ordered st 2(2) 2/1/1 a:1 b:1
        revision b #2
        pod st-1 a going gone new""",
        """ordered st 2(2) 2/2/2 a:0 b:1
        ordered st 2(2) 1/1/1 a:0 b:1
        ordered st 2(2) 2/1/1 a:0 b:2
        pod st-0 a going gone new
        pod st-1 b ready""",
        """ordered st 2(2) 2/2/2 b:2 b:2
        pod st-0 b ready""",
        """ordered st gone
        revision a gone
        revision b gone
        pod st-0 b going gone
        pod st-1 b going gone""",
    ),
    "a rolling update of pods that need no order": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 3/0/0 a:3 a:3
        revision a #1
        pod st-0 a new
        pod st-1 a new
        pod st-2 a new""",
        """ordered st 1(1) 3/1/1 a:3 a:3
        ordered st 1(1) 3/2/2 a:3 a:3
        ordered st 1(1) 3/3/3 a:3 a:3
        pod st-0 a ready
        pod st-1 a ready
        pod st-2 a ready""",
        """ordered st 2(1) 3/3/3 a:3 a:3
        ordered st 2(2) 3/3/3 a:2 b:0
        ordered st 2(2) 2/2/2 a:2 b:0
        ordered st 2(2) 3/2/2 a:2 b:1
        revision b #2
        pod st-2 a going gone new""",
        """ordered st 2(2) 3/3/3 a:1 b:1
        ordered st 2(2) 2/2/2 a:1 b:1
        ordered st 2(2) 3/2/2 a:1 b:2
        pod st-1 a going gone new
        pod st-2 b ready""",
        """ordered st 2(2) 3/3/3 a:0 b:2
        ordered st 2(2) 2/2/2 a:0 b:2
        ordered st 2(2) 3/2/2 a:0 b:3
        pod st-0 a going gone new
        pod st-1 b ready""",
        """ordered st 2(2) 3/3/3 b:3 b:3
        pod st-0 b ready""",
        """ordered st gone
        revision a gone
        revision b gone
        pod st-0 b going gone
        pod st-1 b going gone
        pod st-2 b going gone""",
    ),
    "a broken template, and back": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 1/0/0 a:1 a:1
        revision a #1
        pod st-0 a new""",
        """ordered st 1(1) 1/1/1 a:1 a:1
        ordered st 1(1) 2/1/1 a:2 a:2
        pod st-0 a ready
        pod st-1 a new""",
        """ordered st 1(1) 2/2/2 a:2 a:2
        pod st-1 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2
        ordered st 2(2) 2/2/2 a:1 b:0
        ordered st 2(2) 1/1/1 a:1 b:0
        ordered st 2(2) 2/1/1 a:1 b:1
        revision b #2
        pod st-1 a going gone new""",
        """ordered st 3(2) 2/1/1 a:1 b:1
        ordered st 3(3) 2/1/1 a:1 a:1
        revision a #3""",
        """ordered st 3(3) 1/1/1 a:1 a:1
        ordered st 3(3) 2/1/1 a:2 a:2
        pod st-1 b going gone new""",
        """ordered st 3(3) 2/2/2 a:2 a:2
        pod st-1 a ready""",
        """ordered st gone
        revision a gone
        revision b gone
        pod st-0 a going gone
        pod st-1 a going gone""",
    ),
    "a rolling update that is overtaken by another": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 2/0/0 a:2 a:2
        revision a #1
        pod st-0 a new
        pod st-1 a new""",
        """ordered st 1(1) 2/1/1 a:2 a:2
        ordered st 1(1) 2/2/2 a:2 a:2
        pod st-0 a ready
        pod st-1 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2
        ordered st 2(2) 2/2/2 a:1 b:0
        ordered st 2(2) 1/1/1 a:1 b:0
        ordered st 2(2) 2/1/1 a:1 b:1
        revision b #2
        pod st-1 a going gone new""",
        """ordered st 3(2) 2/1/1 a:1 b:1
        ordered st 3(3) 2/1/1 a:0 c:0
        ordered st 3(3) 1/1/1 a:1 c:0
        ordered st 3(3) 2/1/1 a:1 c:1
        revision c #3
        pod st-1 b going gone new""",
        """ordered st 3(3) 2/2/2 a:0 c:1
        ordered st 3(3) 1/1/1 a:0 c:1
        ordered st 3(3) 2/1/1 a:0 c:2
        pod st-0 a going gone new
        pod st-1 c ready""",
        """ordered st 3(3) 2/2/2 c:2 c:2
        pod st-0 c ready""",
        """ordered st gone
        revision a gone
        revision c gone
        revision b gone
        pod st-0 c going gone
        pod st-1 c going gone""",
    ),
    "fewer pods in the middle of an update": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 3/0/0 a:3 a:3
        revision a #1
        pod st-0 a new
        pod st-1 a new
        pod st-2 a new""",
        """ordered st 1(1) 3/1/1 a:3 a:3
        ordered st 1(1) 3/2/2 a:3 a:3
        ordered st 1(1) 3/3/3 a:3 a:3
        pod st-0 a ready
        pod st-1 a ready
        pod st-2 a ready""",
        """ordered st 2(1) 3/3/3 a:3 a:3
        ordered st 2(2) 3/3/3 a:2 b:0
        ordered st 2(2) 2/2/2 a:2 b:0
        ordered st 2(2) 3/2/2 a:2 b:1
        revision b #2
        pod st-2 a going gone new""",
        """ordered st 3(2) 3/2/2 a:2 b:1
        ordered st 3(3) 3/2/2 a:1 b:1
        ordered st 3(3) 1/1/1 a:1 b:0
        ordered st 3(3) 2/1/1 a:1 b:1
        pod st-1 a going gone new
        pod st-2 b going gone""",
        """ordered st 3(3) 2/2/2 a:0 b:1
        ordered st 3(3) 1/1/1 a:0 b:1
        ordered st 3(3) 2/1/1 a:0 b:2
        pod st-0 a going gone new
        pod st-1 b ready""",
        """ordered st 3(3) 2/2/2 b:2 b:2
        pod st-0 b ready""",
        """ordered st gone
        revision a gone
        revision b gone
        pod st-0 b going gone
        pod st-1 b going gone""",
    ),
    "pods that must stay ready for a while": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 1/0/0 a:1 a:1
        revision a #1
        pod st-0 a new""",
        """ordered st 1(1) 1/1/0 a:1 a:1
        ordered st 1(1) 1/1/1 a:1 a:1
        ordered st 1(1) 2/1/1 a:2 a:2
        pod st-0 a ready
        pod st-1 a new""",
        """? ordered st 1(1) 2/2/1 a:2 a:2
        ordered st 1(1) 2/2/2 a:2 a:2
        pod st-1 a ready""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone
        pod st-1 a going gone""",
    ),
    "no history": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 1/0/0 a:1 a:1
        revision a #1
        pod st-0 a new""",
        """ordered st 1(1) 1/1/1 a:1 a:1
        pod st-0 a ready""",
        """ordered st 2(1) 1/1/1 a:1 a:1
        ordered st 2(2) 1/1/1 a:0 b:0
        ordered st 2(2) 0/0/0 a:0 b:0
        ordered st 2(2) 1/0/0 a:0 b:1
        revision b #2
        pod st-0 a going gone new""",
        """ordered st 2(2) 1/1/1 b:1 b:1
        revision a gone
        pod st-0 b ready""",
        """ordered st 3(2) 1/1/1 b:1 b:1
        ordered st 3(3) 1/1/1 b:0 c:0
        ordered st 3(3) 0/0/0 b:0 c:0
        ordered st 3(3) 1/0/0 b:0 c:1
        revision c #3
        pod st-0 b going gone new""",
        """ordered st 3(3) 1/1/1 c:1 c:1
        revision b gone
        pod st-0 c ready""",
        """ordered st gone
        revision c gone
        pod st-0 c going gone""",
    ),
    "a pod that leaves by its labels": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 1/0/0 a:1 a:1
        revision a #1
        pod st-0 a new""",
        """ordered st 1(1) 1/1/1 a:1 a:1
        pod st-0 a ready""",
        """ordered st 1(1) 0/0/0 a:0 a:0
        pod st-0 a ready orphan""",
        """ordered st 1(1) 1/1/1 a:1 a:1
        pod st-0 a ready""",
        """ordered st gone
        revision a gone
        pod st-0 a going gone""",
    ),
    "pods left behind and taken on again": (
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 0/0/0 a:0 a:0
        ordered st 1(1) 2/0/0 a:2 a:2
        revision a #1
        pod st-0 a new
        pod st-1 a new""",
        """ordered st 1(1) 2/1/1 a:2 a:2
        ordered st 1(1) 2/2/2 a:2 a:2
        pod st-0 a ready
        pod st-1 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2 going
        ordered st 2(2) 2/2/2 a:2 a:2 going
        ? ordered st 2(2) 1/1/1 a:1 a:1 going
        ordered st gone
        revision a #1 orphan
        pod st-0 a ready orphan
        pod st-1 a ready orphan""",
        """ordered st 1(0) 0/0/0 -:0 -:0
        ordered st 1(1) 2/2/2 a:2 a:2
        revision a #1
        pod st-0 a ready
        pod st-1 a ready""",
        """ordered st 2(1) 2/2/2 a:2 a:2 going
        ordered st 2(2) 2/2/2 a:2 a:2 going
        ? ordered st 2(2) 2/2/2 a:1 a:1 going
        ? ordered st 2(2) 2/2/2 a:0 a:0 going
        ? ordered st 2(2) 2/2/2 a:1 a:1 going
        ? ordered st 2(2) 1/1/1 a:0 a:0 going
        ordered st 2(2) 0/0/0 a:0 a:0 going
        ordered st gone
        revision a gone
        revision a #1
        revision a gone
        ? revision a #1
        ? revision a gone
        pod st-0 a going gone
        pod st-1 a going gone""",
    ),
}
