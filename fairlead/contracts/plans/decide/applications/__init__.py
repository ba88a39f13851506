"""Decisions about Applications, their Components, ApplicationConfigurations and ApplicationDeployments; pure."""
