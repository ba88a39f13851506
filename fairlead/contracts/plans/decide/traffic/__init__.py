"""Traffic of a rollout (section 3.11): how a route shares requests between the Services of source and target."""
