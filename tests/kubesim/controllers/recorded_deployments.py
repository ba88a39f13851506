"""What kube-controller-manager 1.36.4 made of the scenarios of `recorded_deployments`: per scenario and step its lines.

Written by `python -m tools.traces`. Lines after a question mark are statuses of a moment.
"""

from __future__ import annotations

RECORDED: dict[str, tuple[str, ...]] = {
    "a rollout that gets stuck, and back": (
        """rollout de 1(1) #1 2/2/0/0 -ProgressDeadlineExceeded
        replicas a 1(0) 2:0/0/0 full 0
        ? replicas a 1(1) 2:0/0/0 full 0
        replicas a 1(1) 2:2/0/0 full 2
        pod de a new
        pod de a new""",
        """replicas a 1(1) 2:2/1/1 full 2
        replicas a 1(1) 2:2/2/2 full 2
        rollout de 1(1) #1 2/2/2/2 +NewReplicaSetAvailable
        pod de a ready
        pod de a ready""",
        """rollout de 2(2) #2 3/1/2/2 +ProgressDeadlineExceeded
        replicas b 1(0) 1:0/0/0 full 0
        ? replicas b 1(1) 1:0/0/0 full 0
        replicas b 1(1) 1:1/0/0 full 1
        pod de b new""",
        """rollout de 3(3) #3 2/2/2/2 +NewReplicaSetAvailable
        replicas b 2(1) 0:1/0/0 full 1
        ? replicas b 2(2) 0:1/0/0 full 1
        replicas b 2(2) 0:0/0/0 full 0
        pod de b going gone""",
        """rollout de gone
        replicas a gone
        replicas b gone
        pod de a going gone
        pod de a going gone""",
    ),
    "a rollout that waits for pods to stay ready": (
        """rollout de 1(1) #1 1/1/0/0 -moving
        replicas a 1(0) 1:0/0/0 full 0
        ? replicas a 1(1) 1:0/0/0 full 0
        replicas a 1(1) 1:1/0/0 full 1
        pod de a new""",
        """replicas a 1(1) 1:1/1/0 full 1
        replicas a 1(1) 1:1/1/1 full 1
        rollout de 1(1) #1 1/1/1/1 +NewReplicaSetAvailable
        pod de a ready""",
        """? rollout de 2(2) #2 2/1/1/1 +moving
        ? rollout de 2(2) #2 2/1/1/1 +moving
        replicas b 1(0) 1:0/0/0 full 0
        ? replicas b 1(1) 1:0/0/0 full 0
        replicas b 1(1) 1:1/0/0 full 1
        pod de b new""",
        """replicas b 1(1) 1:1/1/0 full 1
        replicas b 1(1) 1:1/1/1 full 1
        rollout de 2(2) #2 1/1/1/1 +NewReplicaSetAvailable
        replicas a 2(1) 0:1/1/1 full 1
        ? replicas a 2(2) 0:1/1/1 full 1
        replicas a 2(2) 0:0/0/0 full 0
        pod de a going gone
        pod de b ready""",
        """rollout de gone
        replicas b gone
        replicas a gone
        pod de b going gone""",
    ),
    "a rollout in large steps": (
        """rollout de 1(1) #1 4/4/0/0 -moving
        replicas a 1(0) 4:0/0/0 full 0
        ? replicas a 1(1) 4:0/0/0 full 0
        replicas a 1(1) 4:4/0/0 full 4
        pod de a new
        pod de a new
        pod de a new
        pod de a new""",
        """replicas a 1(1) 4:4/1/1 full 4
        ? replicas a 1(1) 4:4/2/2 full 4
        ? replicas a 1(1) 4:4/3/3 full 4
        replicas a 1(1) 4:4/4/4 full 4
        rollout de 1(1) #1 4/4/4/4 +NewReplicaSetAvailable
        pod de a ready
        pod de a ready
        pod de a ready
        pod de a ready""",
        """rollout de 2(2) #2 6/4/2/2 +moving
        replicas b 1(0) 2:0/0/0 full 0
        ? replicas b 1(1) 2:0/0/0 full 0
        ? replicas b 1(1) 2:2/0/0 full 2
        ? replicas b 2(1) 4:0/0/0 full 0
        ? replicas b 2(1) 4:2/0/0 full 2
        ? replicas b 2(2) 4:2/0/0 full 2
        replicas b 2(2) 4:4/0/0 full 4
        replicas a 2(1) 2:4/4/4 full 4
        ? replicas a 2(2) 2:4/4/4 full 4
        replicas a 2(2) 2:2/2/2 full 2
        pod de a going gone
        pod de a going gone
        pod de b new
        pod de b new
        pod de b new
        pod de b new""",
        """replicas b 2(2) 4:4/1/1 full 4
        ? replicas b 2(2) 4:4/2/2 full 4
        ? replicas b 2(2) 4:4/3/3 full 4
        replicas b 2(2) 4:4/4/4 full 4
        replicas a 3(2) 1:2/2/2 full 2
        ? replicas a 3(3) 1:2/2/2 full 2
        ? replicas a 3(3) 1:1/1/1 full 1
        ? replicas a 4(3) 0:1/1/1 full 1
        ? replicas a 4(4) 0:1/1/1 full 1
        replicas a 4(4) 0:0/0/0 full 0
        rollout de 2(2) #2 4/4/4/4 +NewReplicaSetAvailable
        pod de a going gone
        pod de a going gone
        pod de b ready
        pod de b ready
        pod de b ready
        pod de b ready""",
        """rollout de gone
        replicas a gone
        replicas b gone
        pod de b going gone
        pod de b going gone
        pod de b going gone
        pod de b going gone""",
    ),
    "history of one": (
        """rollout de 1(1) #1 1/1/0/0 -moving
        replicas a 1(0) 1:0/0/0 full 0
        ? replicas a 1(1) 1:0/0/0 full 0
        replicas a 1(1) 1:1/0/0 full 1
        pod de a new""",
        """replicas a 1(1) 1:1/1/1 full 1
        rollout de 1(1) #1 1/1/1/1 +NewReplicaSetAvailable
        pod de a ready""",
        """rollout de 2(2) #2 1/1/0/0 -moving
        replicas a 2(1) 0:1/1/1 full 1
        ? replicas a 2(2) 0:1/1/1 full 1
        replicas a 2(2) 0:0/0/0 full 0
        replicas b 1(0) 1:0/0/0 full 0
        ? replicas b 1(1) 1:0/0/0 full 0
        replicas b 1(1) 1:1/0/0 full 1
        pod de a going gone
        pod de b new""",
        """replicas b 1(1) 1:1/1/1 full 1
        rollout de 2(2) #2 1/1/1/1 +NewReplicaSetAvailable
        pod de b ready""",
        """rollout de 3(3) #3 1/1/0/0 -moving
        replicas b 2(1) 0:1/1/1 full 1
        ? replicas b 2(2) 0:1/1/1 full 1
        replicas b 2(2) 0:0/0/0 full 0
        replicas c 1(0) 1:0/0/0 full 0
        ? replicas c 1(1) 1:0/0/0 full 0
        replicas c 1(1) 1:1/0/0 full 1
        pod de b going gone
        pod de c new""",
        """replicas c 1(1) 1:1/1/1 full 1
        rollout de 3(3) #3 1/1/1/1 +NewReplicaSetAvailable
        replicas a gone
        pod de c ready""",
        """rollout de gone
        replicas c 2(1) 1:1/1/1 full 1 going
        ? replicas c 2(2) 1:1/1/1 full 1 going
        ? replicas c 2(2) 1:0/0/0 full 0 going
        replicas c gone
        replicas b gone
        pod de c going gone""",
    ),
}
