"""What to install: the chart with the kinds, roles, webhooks and alerts in it, and the same objects without Helm.

Whatever is data lives once, in the files of the chart; what is built from values is built twice, by the chart's
templates and here, and tests hold the two together.
"""
