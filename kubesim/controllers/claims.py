"""The binder of claims and volumes, after the one of kube-controller-manager, with a provisioner of its own.

A claim is bound to a volume that fits. Where none does, a StorageClass whose provisioner is `fairlead.dev/sim` has one
made, at once or, with `WaitForFirstConsumer`, when a pod uses the claim; all other provisioners are somebody else's.
"""

from __future__ import annotations

import asyncio

from kubeloop.objects.meta import Meta, Resource
from kubeloop.queue import Queue
from kubeloop.worker import work
from kubesim.api.verbs import Verbs
from kubesim.controllers.base import ACCOUNTS, Api, Expectations, Stale, failed
from kubesim.controllers.claim_objects import OURS, Pod, annotate, claims_of, reference, undeletable, volume_for
from kubesim.controllers.event_recorder import Recorder
from kubesim.controllers.storage import (
    BETA_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIM_PROTECTION,
    PROVISIONED_BY,
    PROVISIONER,
    VOLUME_PROTECTION,
    Claim,
    StorageClass,
    Volume,
    best_match,
    mismatch,
)
from kubesim.errors import StatusError
from kubesim.kinds.registry import CLAIMS, PODS, STORAGE_CLASSES, VOLUMES
from kubesim.store.versions import Tree, timestamp

WORKERS = 5
FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0
_IN_TREE = "kubernetes.io/"
_CLAIM = "claim"

Key = tuple[Resource, str, str]
"""A claim or a volume."""


class ClaimController:
    """Binds, provisions, reclaims and protects; its watches are behind by the lag of the verbs.

    Pods are watched only once there has been a claim.
    """

    def __init__(self, verbs: Verbs) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}persistent-volume-binder")
        self._claims = api.view(CLAIMS, Claim)
        self._volumes = api.view(VOLUMES, Volume)
        self._classes = api.view(STORAGE_CLASSES, StorageClass)
        self._pods = api.view(PODS, Pod, {_CLAIM: claims_of})
        self._written = Expectations()
        self._events = Recorder(api, "persistentvolume-controller")
        self._queue: Queue[Key] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._told_before: dict[str, tuple[str, str]] = {}
        """By UID why claims wait that the cluster began with."""
        self._wanted = asyncio.Event()
        self._claims.subscribe(self._claim_changed)
        self._volumes.subscribe(self._volume_changed)
        self._classes.subscribe(self._class_changed)
        self._pods.subscribe(self._pod_changed)

    async def run(self) -> None:
        """Until cancelled."""
        views = self._claims, self._volumes, self._classes
        async with asyncio.TaskGroup() as tasks:
            self._events.work_in(tasks)
            for view in views:
                tasks.create_task(view.run())
            await self._wanted.wait()
            tasks.create_task(self._pods.run())
            await asyncio.gather(*(view.synced.wait() for view in (*views, self._pods)))
            tasks.create_task(work(self._queue, self._sync, workers=WORKERS, failed=failed))

    def _claim_changed(self, old: Claim | None, new: Claim | None) -> None:
        self._wanted.set()
        for each in (new, old):
            if each is not None:
                self._queue.add((CLAIMS, each.metadata.namespace, each.metadata.name))
                if each.spec.volume_name:
                    self._queue.add((VOLUMES, "", each.spec.volume_name))

    def _volume_changed(self, _old: Volume | None, new: Volume | None) -> None:
        self._wanted.set()
        if new is not None:
            self._queue.add((VOLUMES, "", new.metadata.name))
        self._look_for_volumes()

    def _class_changed(self, _old: StorageClass | None, _new: StorageClass | None) -> None:
        self._look_for_volumes()

    def _look_for_volumes(self) -> None:
        """What is free now may be what a claim has waited for, and a claim may have lost what it had."""
        for claim in self._claims.objects.items():
            self._queue.add((CLAIMS, claim.metadata.namespace, claim.metadata.name))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for pod in (old, new):
            for name in pod.claims if pod is not None else ():
                self._queue.add((CLAIMS, pod.metadata.namespace if pod is not None else "", name))

    async def _sync(self, key: Key) -> None:
        if not self._written.met(key):
            raise Stale(key)
        resource, namespace, name = key
        if resource == VOLUMES:
            volume = self._volumes.objects.get("", name)
            if volume is not None:
                await self._sync_volume(key, volume)
            return
        claim = self._claims.objects.get(namespace, name)
        if claim is None:
            return
        if claim.metadata.deletion_timestamp is not None:
            await self._let_go(key, claim)
        elif CLAIM_PROTECTION not in claim.metadata.finalizers:
            await self._protect(key, CLAIMS, claim.metadata, CLAIM_PROTECTION)
        elif BIND_COMPLETED in claim.metadata.annotations:
            await self._sync_bound(key, claim)
        else:
            await self._sync_unbound(key, claim)

    # Claims

    def _users(self, claim: Claim) -> tuple[Pod, ...]:
        return self._pods.objects.by(_CLAIM, f"{claim.metadata.namespace}/{claim.metadata.name}")

    async def _let_go(self, key: Key, claim: Claim) -> None:
        """A claim that is deleted goes when no pod on a node uses it."""
        used = any(pod.spec.node_name for pod in self._users(claim))
        if not used and CLAIM_PROTECTION in claim.metadata.finalizers:
            await self._drop(key, CLAIMS, claim.metadata, CLAIM_PROTECTION)

    async def _sync_unbound(self, key: Key, claim: Claim) -> None:
        if claim.spec.volume_name:
            await self._bind_to_named(key, claim)
            return
        class_ = self._classes.objects.get("", claim.class_name)
        waits = class_ is not None and class_.waits
        volume = best_match(self._volumes.objects.items(), claim, waits=waits)
        if volume is not None:
            await self._bind(key, volume, claim)
        elif waits and not self._users(claim):
            text = "waiting for first consumer to be created before binding"
            self._tell(claim, "WaitForFirstConsumer", text)
        elif claim.class_name:
            await self._provision(key, claim, class_)
        else:
            text = "no persistent volumes available for this claim and no storage class is set"
            self._tell(claim, "FailedBinding", text)

    async def _bind_to_named(self, key: Key, claim: Claim) -> None:
        volume = self._volumes.objects.get("", claim.spec.volume_name)
        if volume is None:
            return
        if volume.spec.claim_ref is None:
            why = mismatch(volume, claim)
            if why:
                text = f'Cannot bind to requested volume "{volume.metadata.name}": {why}'
                self._tell(claim, "VolumeMismatch", text, warning=True)
                return
        elif not volume.is_for(claim):
            text = f'volume "{volume.metadata.name}" already bound to a different claim.'
            self._tell(claim, "FailedBinding", text, warning=True)
            return
        await self._bind(key, volume, claim)

    async def _sync_bound(self, key: Key, claim: Claim) -> None:
        volume = self._volumes.objects.get("", claim.spec.volume_name)
        if volume is None:
            what = "its PersistentVolume" if claim.spec.volume_name else "reference to PersistentVolume"
            await self._lose(key, claim, "ClaimLost", f"Bound claim has lost {what}. Data on the volume is lost!")
        elif volume.spec.claim_ref is None or volume.spec.claim_ref.uid == claim.metadata.uid:
            await self._bind(key, volume, claim)
        else:
            text = "Two claims are bound to the same volume, this one is bound incorrectly"
            await self._lose(key, claim, "ClaimMisbound", text)

    async def _lose(self, key: Key, claim: Claim, reason: str, text: str) -> None:
        if claim.status.phase != "Lost":
            await self._write_status(key, self._live(CLAIMS, claim.metadata), {"phase": "Lost"})
            self._tell(claim, reason, text, warning=True)

    async def _bind(self, key: Key, volume: Volume, claim: Claim) -> None:
        """Both sides name each other, the volume first."""
        kept = self._live(VOLUMES, volume.metadata)
        ours = not volume.is_for(claim)
        meta, before = claim.metadata, volume.spec.claim_ref
        if before is None or before.uid != meta.uid:
            kept["spec"]["claimRef"] = reference(claim)
            if ours:
                annotate(kept, {BOUND_BY_CONTROLLER: "yes"})
            kept = await self._write((VOLUMES, "", volume.metadata.name), kept)
        kept = await self._phase(kept, "Bound")
        self._written.written(key, self._volumes, kept)
        tree = self._live(CLAIMS, meta)
        notes = {BIND_COMPLETED: "yes"} if BIND_COMPLETED not in meta.annotations else {}
        if claim.spec.volume_name != volume.metadata.name:
            tree["spec"]["volumeName"] = volume.metadata.name
            notes = {BOUND_BY_CONTROLLER: "yes"} | notes
        if notes:
            annotate(tree, notes)
            tree = await self._write(key, tree)
        spec = kept["spec"]
        status = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["capacity"]}
        await self._write_status(key, tree, status)

    async def _provision(self, key: Key, claim: Claim, class_: StorageClass | None) -> None:
        if class_ is None:
            text = f'storageclass.storage.k8s.io "{claim.class_name}" not found'
            self._tell(claim, "ProvisioningFailed", text, warning=True)
            return
        if class_.provisioner.startswith(_IN_TREE):
            text = f"no volume plugin matched name: {class_.provisioner}"
            self._tell(claim, "ProvisioningFailed", text, warning=True)
            return
        wanted = {BETA_PROVISIONER: class_.provisioner, PROVISIONER: class_.provisioner}
        if not wanted.items() <= claim.metadata.annotations.items():
            tree = self._live(CLAIMS, claim.metadata)
            annotate(tree, wanted)
            await self._write(key, tree)
        text = (
            f"Waiting for a volume to be created either by the external provisioner '{class_.provisioner}' or manually "
            "by the system administrator. If volume creation is delayed, please verify that the provisioner is "
            "running and correctly registered."
        )
        self._tell(claim, "ExternalProvisioning", text)
        if class_.provisioner == OURS:
            made = await self._api.create(VOLUMES, "", volume_for(claim, class_))
            self._written.written(key, self._volumes, made)
            text = f"Successfully provisioned volume {made['metadata']['name']}"
            self._tell(claim, "ProvisioningSucceeded", text)

    # Volumes

    async def _sync_volume(self, key: Key, volume: Volume) -> None:
        meta, ref = volume.metadata, volume.spec.claim_ref
        going = meta.deletion_timestamp is not None and VOLUME_PROTECTION in meta.finalizers
        if going and volume.status.phase != "Bound":
            await self._drop(key, VOLUMES, meta, VOLUME_PROTECTION)
            return
        if meta.deletion_timestamp is None and VOLUME_PROTECTION not in meta.finalizers:
            await self._protect(key, VOLUMES, meta, VOLUME_PROTECTION)
            return
        if ref is None or not ref.uid:
            await self._phase(self._live(VOLUMES, meta), "Available")
            return
        claim = self._claims.objects.get(ref.namespace, ref.name)
        if claim is None or claim.metadata.uid != ref.uid:
            await self._release(volume)
        elif claim.spec.volume_name == meta.name:
            await self._phase(self._live(VOLUMES, meta), "Bound")
        elif claim.spec.volume_name:
            await self._unbind(key, volume)
        else:
            self._queue.add((CLAIMS, ref.namespace, ref.name))

    async def _release(self, volume: Volume) -> None:
        """The claim is gone for good, unless the view of claims is late."""
        ref = volume.spec.claim_ref
        assert ref is not None  # noqa: S101  only what had a claim is released
        try:
            found: str = self._api.read(CLAIMS, ref.namespace, ref.name)["metadata"]["uid"]
        except StatusError as error:
            if error.code != 404:
                raise
            found = ""
        if found == ref.uid:
            raise Stale(volume.metadata.name)
        tree = self._live(VOLUMES, volume.metadata)
        if volume.status.phase not in ("Released", "Failed"):
            tree = await self._phase(tree, "Released")
        await self._reclaim(volume, tree)

    async def _reclaim(self, volume: Volume, tree: Tree) -> None:
        meta, policy = volume.metadata, volume.spec.persistent_volume_reclaim_policy
        maker = meta.annotations.get(PROVISIONED_BY, "")
        if policy == "Delete" and maker in (OURS, ""):
            why = "" if maker else undeletable(volume)
            if why:
                await self._fail(volume, tree, "VolumeFailedDelete", why)
            elif meta.deletion_timestamp is None:
                await self._api.delete(VOLUMES, "", meta.name)
        elif policy == "Recycle":
            await self._fail(volume, tree, "VolumeFailedRecycle", "No recycler plugin found for the volume!")

    async def _fail(self, volume: Volume, tree: Tree, reason: str, text: str) -> None:
        if volume.status.phase != "Failed":
            await self._phase(tree, "Failed", text)
            self._events.tell(VOLUMES, volume.metadata, reason, text, warning=True)

    async def _unbind(self, key: Key, volume: Volume) -> None:
        """The claim has another volume: this one is free, or as it was set aside."""
        tree = self._live(VOLUMES, volume.metadata)
        if tree["metadata"].get("annotations", {}).pop(BOUND_BY_CONTROLLER, None):
            del tree["spec"]["claimRef"]
        else:
            tree["spec"]["claimRef"].pop("uid", None)
        await self._phase(await self._write(key, tree), "Available")

    # Writing

    def _live(self, resource: Resource, meta: Meta) -> Tree:
        """The object as it is, if that is what was seen."""
        tree = self._api.read(resource, meta.namespace, meta.name)
        if tree["metadata"]["resourceVersion"] != meta.resource_version:
            raise Stale((meta.namespace, meta.name))
        return tree

    async def _write(self, key: Key, tree: Tree, subresource: str = "") -> Tree:
        written = await self._api.replace(key[0], tree, subresource)
        if key[0] == VOLUMES:
            self._written.written(key, self._volumes, written)
        else:
            self._written.written(key, self._claims, written)
        return written

    async def _write_status(self, key: Key, tree: Tree, status: Tree) -> None:
        if tree.get("status") != status:
            await self._write(key, tree | {"status": status}, "status")

    async def _phase(self, volume: Tree, phase: str, text: str = "") -> Tree:
        """The volume in that phase, with the time of the change."""
        if (volume.get("status") or {}).get("phase") == phase:
            return volume
        status = {"phase": phase, "lastPhaseTransitionTime": timestamp()} | ({"message": text} if text else {})
        return await self._write((VOLUMES, "", volume["metadata"]["name"]), volume | {"status": status}, "status")

    async def _protect(self, key: Key, resource: Resource, meta: Meta, finalizer: str) -> None:
        """Gives back the finalizer that somebody has taken away."""
        tree = self._live(resource, meta)
        tree["metadata"].setdefault("finalizers", []).append(finalizer)
        await self._write(key, tree)

    async def _drop(self, key: Key, resource: Resource, meta: Meta, finalizer: str) -> None:
        tree = self._live(resource, meta)
        tree["metadata"]["finalizers"].remove(finalizer)
        await self._write(key, tree)

    def _tell(self, claim: Claim, reason: str, text: str, *, warning: bool = False) -> None:
        """Not what was true of the claim already when the cluster began: its own cluster has told it."""
        if int(claim.metadata.resource_version) <= self._api.store.since:
            known = self._told_before.setdefault(claim.metadata.uid, (reason, text))
            if known == (reason, text):
                return
        self._events.tell(CLAIMS, claim.metadata, reason, text, warning=warning)
