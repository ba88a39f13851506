"""Pods that come and go: scheduler and kubelet in one, for clusters without nodes.

It speaks to the API alone, so one code serves the embedded cluster and a real control plane.
"""

from kubesim.kubelet.agent import Kubelet

__all__ = ["Kubelet"]
