"""Rollout plans of OAM and KubeVela: workloads that change in batches, with gates, hooks and checks."""
