"""What kube-controller-manager 1.36.4 made of the scenarios of `recorded_replicas`: per scenario and step its lines.

Written by `python -m tools.traces`. Lines after a question mark are statuses of a moment.
"""

from __future__ import annotations

RECORDED: dict[str, tuple[str, ...]] = {
    "a set that grows and shrinks": (
        """replicas rs 1(0) 2:0/0/0 full 0
        ? replicas rs 1(1) 2:0/0/0 full 0
        replicas rs 1(1) 2:2/0/0 full 2
        pod rs - new
        pod rs - new""",
        """replicas rs 1(1) 2:2/1/1 full 2
        replicas rs 1(1) 2:2/2/2 full 2
        pod rs - ready
        pod rs - ready""",
        """replicas rs 2(1) 3:2/2/2 full 2
        ? replicas rs 2(2) 3:2/2/2 full 2
        replicas rs 2(2) 3:3/2/2 full 3
        pod rs - new""",
        """replicas rs 2(2) 3:3/3/3 full 3
        pod rs - ready""",
        """replicas rs 3(2) 1:3/3/3 full 3
        ? replicas rs 3(3) 1:3/3/3 full 3
        replicas rs 3(3) 1:1/1/1 full 1
        pod rs - going gone
        pod rs - going gone""",
        """replicas rs gone
        pod rs - going gone""",
    ),
    "a pod that leaves by its labels and comes back": (
        """replicas rs 1(0) 2:0/0/0 full 0
        ? replicas rs 1(1) 2:0/0/0 full 0
        replicas rs 1(1) 2:2/0/0 full 2
        pod rs - new
        pod rs - new""",
        """replicas rs 1(1) 2:2/1/1 full 2
        replicas rs 1(1) 2:2/2/2 full 2
        pod rs - ready
        pod rs - ready""",
        """replicas rs 1(1) 2:1/1/1 full 1
        replicas rs 1(1) 2:2/1/1 full 2
        pod rs - new
        pod rs - ready orphan""",
        """replicas rs 1(1) 2:2/2/2 full 2
        pod rs - ready""",
        """replicas rs 1(1) 2:3/3/3 full 3
        replicas rs 1(1) 2:2/2/2 full 2
        pod rs - going gone
        pod rs - ready""",
        """replicas rs gone
        pod rs - going gone
        pod rs - going gone""",
    ),
    "a pod that is there before the set": (
        """pod early - new orphan""",
        """replicas rs 1(0) 2:0/0/0 full 0
        ? replicas rs 1(1) 2:1/0/0 full 1
        replicas rs 1(1) 2:2/0/0 full 2
        pod early - new
        pod rs - new""",
        """replicas rs gone
        pod early - going gone
        pod rs - going gone""",
    ),
    "a pod that fails in a set": (
        """replicas rs 1(0) 2:0/0/0 full 0
        ? replicas rs 1(1) 2:0/0/0 full 0
        replicas rs 1(1) 2:2/0/0 full 2
        pod rs - new
        pod rs - new""",
        """replicas rs 1(1) 2:2/1/1 full 2
        replicas rs 1(1) 2:2/2/2 full 2
        pod rs - ready
        pod rs - ready""",
        """replicas rs 1(1) 2:1/1/1 full 1
        replicas rs 1(1) 2:2/1/1 full 2
        pod rs - failed
        pod rs - new""",
        """replicas rs gone
        pod rs - going gone
        pod rs - going gone
        pod rs - going gone""",
    ),
    "pods that must stay ready for a while": (
        """replicas rs 1(0) 1:0/0/0 full 0
        ? replicas rs 1(1) 1:0/0/0 full 0
        replicas rs 1(1) 1:1/0/0 full 1
        pod rs - new""",
        """replicas rs 1(1) 1:1/1/0 full 1
        replicas rs 1(1) 1:1/1/1 full 1
        pod rs - ready""",
        """replicas rs gone
        pod rs - going gone""",
    ),
    "pods that take their time to go": (
        """replicas rs 1(0) 1:0/0/0 full 0
        ? replicas rs 1(1) 1:0/0/0 full 0
        replicas rs 1(1) 1:1/0/0 full 1
        pod rs - new""",
        """replicas rs 1(1) 1:1/1/1 full 1
        pod rs - ready""",
        """replicas rs 1(1) 1:0/0/0 full 0
        replicas rs 1(1) 1:1/0/0 full 1
        pod rs - going
        pod rs - new""",
        """pod rs - gone""",
        """replicas rs 2(1) 1:1/0/0 full 1 going
        ? replicas rs 2(2) 1:1/0/0 full 1 going
        ? replicas rs 2(2) 1:0/0/0 full 0 going
        replicas rs gone
        pod rs - new orphan""",
    ),
}
