"""Kinds that make pods, sound and broken, by what is said of each."""

from __future__ import annotations

from tests.e2e.builtin_trees import (
    BUSY,
    FULL,
    SELECTOR,
    Tree,
    a_container,
    a_cron_job,
    a_job,
    a_stateful_set,
    a_template,
    a_workload,
    an,
)

WORKLOADS: dict[str, Tree] = {
    "deployment": a_workload("Deployment"),
    "deployment with everything": a_workload("Deployment", template=a_template(BUSY, **FULL)),
    "deployment of the host network": a_workload(
        "Deployment", template=a_template(a_container(ports=[{"containerPort": 80}]), hostNetwork=True)
    ),
    "deployment that recreates": a_workload("Deployment", strategy={"type": "Recreate"}),
    "deployment that recreates and rolls": a_workload(
        "Deployment", strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}
    ),
    "deployment that does not move": a_workload(
        "Deployment", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}
    ),
    "deployment with odd shares": a_workload(
        "Deployment", strategy={"rollingUpdate": {"maxSurge": "a", "maxUnavailable": "101%"}}
    ),
    "deployment with a negative share": a_workload("Deployment", strategy={"rollingUpdate": {"maxSurge": -1}}),
    "deployment of an odd type": a_workload("Deployment", strategy={"type": "Odd"}),
    "deployment without a selector": an("Deployment", version="apps/v1", spec={"template": a_template()}),
    "deployment with an empty selector": a_workload("Deployment", selector={}),
    "deployment with an odd selector": a_workload(
        "Deployment", selector={"matchExpressions": [{"key": "a", "operator": "Odd"}]}
    ),
    "deployment whose labels differ": a_workload("Deployment", template=a_template(labels={"a": "b"})),
    "deployment that ends": a_workload("Deployment", template=a_template(restartPolicy="Never")),
    "deployment with a deadline in its pods": a_workload("Deployment", template=a_template(activeDeadlineSeconds=1)),
    "deployment with negative numbers": a_workload(
        "Deployment", replicas=-1, minReadySeconds=-1, revisionHistoryLimit=-1, progressDeadlineSeconds=-1
    ),
    "deployment with too little time": a_workload("Deployment", minReadySeconds=10, progressDeadlineSeconds=10),
    "deployment without anything": an("Deployment", version="apps/v1"),
    "deployment with bad labels": a_workload(
        "Deployment", selector={"matchLabels": {"a": "b c"}}, template=a_template(labels={"a": "b c"})
    ),
    "replica set": a_workload("ReplicaSet"),
    "replica set without anything": an("ReplicaSet", version="apps/v1"),
    "replica set with an empty selector": a_workload("ReplicaSet", selector={}),
    "daemon set": a_workload("DaemonSet"),
    "daemon set on delete": a_workload("DaemonSet", updateStrategy={"type": "OnDelete"}),
    "daemon set of an odd type": a_workload("DaemonSet", updateStrategy={"type": "Odd"}),
    "daemon set that surges and drops": a_workload(
        "DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    ),
    "daemon set that does not move": a_workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxUnavailable": 0}}),
    "daemon set without anything": an("DaemonSet", version="apps/v1"),
    "stateful set": a_stateful_set(),
    "stateful set with everything": a_stateful_set(
        template=a_template(BUSY, **FULL),
        volumeClaimTemplates=[
            {
                "metadata": {"name": "empty"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
        ],
        persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete"},
        ordinals={"start": 3},
    ),
    "stateful set on delete": a_stateful_set(updateStrategy={"type": "OnDelete"}),
    "stateful set on delete that rolls": a_stateful_set(
        updateStrategy={"type": "OnDelete", "rollingUpdate": {"partition": 1}}
    ),
    "stateful set of an odd type": a_stateful_set(updateStrategy={"type": "Odd"}),
    "stateful set with a negative partition": a_stateful_set(updateStrategy={"rollingUpdate": {"partition": -1}}),
    "stateful set with negative numbers": a_stateful_set(replicas=-1, minReadySeconds=-1, ordinals={"start": -1}),
    "stateful set with a negative history": a_stateful_set(revisionHistoryLimit=-1),
    "stateful set with an odd policy": a_stateful_set(podManagementPolicy="Odd"),
    "stateful set with an odd retention": a_stateful_set(persistentVolumeClaimRetentionPolicy={"whenScaled": "Odd"}),
    "stateful set of a bad service": a_stateful_set(serviceName="A_"),
    "stateful set with a bad claim": a_stateful_set(volumeClaimTemplates=[{"metadata": {"name": "a"}, "spec": {}}]),
    "stateful set without anything": an("StatefulSet", version="apps/v1"),
    "stateful set that ends": a_stateful_set(template=a_template(restartPolicy="OnFailure", activeDeadlineSeconds=3)),
    "replication controller": an("ReplicationController", spec={"template": a_template()}),
    "replication controller without a template": an("ReplicationController", spec={"selector": {"a": "b"}}),
    "replication controller whose labels differ": an(
        "ReplicationController", spec={"selector": {"a": "b"}, "template": a_template()}
    ),
    "pod template": an("PodTemplate", template=a_template()),
    "pod template without containers": an("PodTemplate", template={"metadata": {}, "spec": {"containers": []}}),
    "job": a_job(),
    "job with labels": a_job({"metadata": {"labels": {"a": "b"}}, "spec": a_job()["spec"]["template"]["spec"]}),
    "job of several": a_job(parallelism=3),
    "job with an index": a_job(completionMode="Indexed", completions=3, backoffLimitPerIndex=1),
    "job with an index without end": a_job(completionMode="Indexed"),
    "job that restarts always": a_job(a_template()),
    "job of an odd policy": a_job(a_template(restartPolicy="Odd")),
    "job with negative numbers": a_job(parallelism=-1, completions=-1, backoffLimit=-1, ttlSecondsAfterFinished=-1),
    "job with a selector of its own": a_job(selector=SELECTOR),
    "job with a manual selector": a_job(
        {"metadata": {"labels": {"app": "web"}}, "spec": a_job()["spec"]["template"]["spec"]},
        selector=SELECTOR,
        manualSelector=True,
    ),
    "job of an odd mode": a_job(completionMode="Odd"),
    "job with a failure policy": a_job(
        podFailurePolicy={"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    ),
    "cron job": a_cron_job(),
    "cron job with everything": a_cron_job(
        "*/5 1-3 * jan mon", timeZone="Etc/UTC", concurrencyPolicy="Forbid", startingDeadlineSeconds=10
    ),
    "cron job at no time": a_cron_job(""),
    "cron job at an odd time": a_cron_job("a b c d e"),
    "cron job of too few fields": a_cron_job("1 2 3"),
    "cron job of an odd policy": a_cron_job(concurrencyPolicy="Odd"),
    "cron job in an odd zone": a_cron_job(timeZone="Mars/Olympus"),
    "cron job with a zone in its schedule": a_cron_job("TZ=UTC 0 * * * *"),
    "cron job of a long name": {**a_cron_job(), "metadata": {"name": "a" * 53}},
}
