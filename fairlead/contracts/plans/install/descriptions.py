"""What the fields of a plan and of its status mean, as `kubectl explain` shows it."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.plans.kinds import (
    Alert,
    CanaryMetric,
    Carried,
    MetricRecord,
    MetricsRange,
    NamedReference,
    RolloutBatch,
    RolloutCondition,
    RolloutPlan,
    RolloutStatus,
    RolloutWebhook,
    SourceSize,
    TrafficMatch,
    TrafficRouting,
    TraitSpec,
)

_PARTITION = (
    "The last batch that is rolled, counted from 0; later ones wait until it is raised. Absent: all batches. "
    "lastBatchToRollout and batchPartition are two names of this field."
)
_METRICS = "Metrics that must be in their range before {}."

DESCRIPTIONS: dict[type[Struct], dict[str, str]] = {
    TraitSpec: {
        "targetRef": "The workload with the new version; it exists already. Of kinds that are updated in place it is "
        "the only one that is touched.",
        "sourceRef": "The workloads with the old version. Without any the target is scaled instead.",
        "rolloutPlan": "How the change reaches the pods.",
    },
    RolloutPlan: {
        "rolloutStrategy": "IncreaseFirst adds new pods before old ones go, DecreaseFirst removes old pods first. "
        "Absent: IncreaseFirst.",
        "targetSize": "How many pods there are in the end; absent: as many as there are now.",
        "numBatches": "Into how many batches the pods are divided evenly where rolloutBatches is absent.",
        "rolloutBatches": "The batches, one after the other.",
        "lastBatchToRollout": _PARTITION,
        "batchPartition": _PARTITION,
        "revertOnDelete": "Whether a rollout that is deleted before it succeeded takes everything back first.",
        "paused": "Whether the rollout stands still between initializing and its end.",
        "rolloutWebhooks": "Addresses that are called before the first batch and after the last.",
        "canaryMetric": _METRICS.format("the last batch counts as done"),
        "trafficRouting": "How requests are shared between the old and the new version.",
        "alerts": "Who is told of what happens, instead of those whom the operator tells by itself.",
        "progressDeadlineSeconds": "After how many seconds without progress the rollout fails; absent: never.",
        "onFailure": "What becomes of a rollout that fails: stop leaves it as it stands, revert goes back.",
    },
    RolloutBatch: {
        "replicas": "How many pods the batch upgrades: a number, or a percentage of all that is rounded up. The last "
        "batch takes the rest where it is absent.",
        "podList": "The pods that the batch upgrades, by name, instead of replicas; for DaemonSets.",
        "maxUnavailable": "With how many pods missing the batch counts as ready: a number, or a percentage that is "
        "rounded up.",
        "instanceInterval": "How many seconds pass at least between two pods of the batch.",
        "batchRolloutWebhooks": "Addresses that are called before and after the batch.",
        "canaryMetric": _METRICS.format("the next batch starts"),
        "trafficWeight": "Which share of the requests, in percent, the new version gets after the batch; absent: its "
        "share of the pods.",
        "soakSeconds": "How many seconds the batch stays available without interruption before it counts as done.",
        "trafficMatch": "Requests with one of these headers go to the new version whatever its share.",
    },
    RolloutWebhook: {
        "type": "When it is called: initialize-rollout, pre-batch-rollout, post-batch-rollout or finalize-rollout.",
        "name": "What it is called in messages.",
        "url": "The address, with http or https.",
        "method": "POST, PUT or GET; absent: POST.",
        "expectedStatus": "The status codes that are accepted; absent: any up to 202.",
        "metadata": "Values that are sent along.",
        "timeout": "How long one attempt may take, such as 30s; absent: 10s.",
    },
    CanaryMetric: {
        "name": "request-success-rate and request-duration are known; any other name needs templateRef.",
        "interval": "How often it is measured, and over which time, such as 30s; absent: 1m.",
        "metricsRange": "Between which values it is well.",
        "templateRef": "The MetricTemplate that says how it is measured.",
        "failureLimit": "How many values out of range a batch may have.",
        "templateVariables": "What the template's variables stand for.",
        "successCount": "How many values in range are needed; absent: 1.",
        "dryRun": "Whether it is measured and told, but decides nothing.",
        "whileWaiting": "Whether it is measured, and decides, while the rollout waits for its partition, too.",
    },
    MetricsRange: {
        "min": "The least value: a number, or a text with one; a percent sign is ignored.",
        "max": "The greatest value: a number, or a text with one; a percent sign is ignored.",
    },
    TrafficMatch: {
        "header": "The name of the header.",
        "exact": "The whole value.",
        "prefix": "How the value begins.",
        "regex": "An expression that the value matches.",
    },
    NamedReference: {
        "name": "Its name.",
        "namespace": "Its namespace; absent: that of this object.",
    },
    TrafficRouting: {
        "provider": "Who routes: istio, gatewayapi, smi or none.",
        "ingressRef": "The VirtualService, HTTPRoute or TrafficSplit.",
        "sourceService": "The Service of the old version; absent: it is called like its component revision.",
        "targetService": "The Service of the new version; absent: it is called like its component revision.",
        "port": "The port of both Services.",
    },
    Alert: {
        "name": "What it is called in messages.",
        "severity": "From which severity on it is told: info, warn or error; absent: info.",
        "providerRef": "The AlertProvider that tells it.",
    },
    RolloutStatus: {
        "conditions": "What became of each state of the rollout.",
        "rolloutOriginalSize": "How many pods there were when the plan was verified.",
        "rolloutTargetSize": "How many pods there are in the end; -1: not verified yet.",
        "targetGeneration": "Identifies the pod template that is rolled out.",
        "lastAppliedPodTemplateIdentifier": "Identifies the pod template of the last success.",
        "rollingState": "The state of the rollout.",
        "batchRollingState": "The state of the batch; it counts while batches are rolled.",
        "currentBatch": "The batch that is rolled, counted from 0.",
        "upgradedReplicas": "How many pods the batches so far were to upgrade.",
        "upgradedReadyReplicas": "How many upgraded pods are ready.",
        "effectiveBatches": "The sizes of the batches in pods, as they were computed when the plan was verified.",
        "observedGeneration": "The generation of the spec that this status was decided from.",
        "batchStartTime": "When the present step began; the progress deadline counts from it.",
        "batchAvailableTime": "Since when the batch is available without interruption.",
        "pausedSince": "Since when the rollout is paused or waits for its partition.",
        "deadlineNearTime": "Since when most of the time for the batch is over; told once.",
        "hookFailures": "How often in a row the webhooks of this step failed.",
        "lastInstanceTime": "When the last single pod of the batch was started.",
        "startTargetSize": "How many pods the target had when batches began.",
        "trafficWeight": "The share of the requests, in percent, that was set last.",
        "trafficRouting": "The route of this attempt, with the Services that were found when it was verified.",
        "metrics": "What the metrics of the present batch said.",
        "sources": "The old workloads and their sizes as they were when the plan was verified.",
        "carried": "What an attempt that did not succeed leaves to the next.",
        "lastAction": "The last action that was asked for by annotation and done.",
        "lastTargetRef": "The target that the present attempt is about.",
        "lastSourceRef": "The sources that the present attempt is about.",
    },
    RolloutCondition: {
        "type": "Which aspect it is about.",
        "status": "True, False or Unknown.",
        "reason": "Why, in one word.",
        "message": "Why, in a sentence.",
        "lastTransitionTime": "When it came to be as it is.",
        "observedGeneration": "The generation of the spec that it was decided from.",
    },
    SourceSize: {
        "ref": "The workload.",
        "originalReplicas": "Its size.",
    },
    Carried: {
        "refs": "The workloads that the attempt left with pods.",
        "targetSize": "The size that it aimed at.",
    },
    MetricRecord: {
        "name": "The metric.",
        "value": "Its last value.",
        "time": "When that was measured.",
        "outcome": "What that means.",
        "failures": "How many values of this batch were out of range.",
        "successes": "How many values of this batch were in range.",
    },
}
