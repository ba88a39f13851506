{{/* Alone the program is the contract's, with its flags; what that has none for needs the other one. */}}
{{- define "rollout-operator.program" -}}
{{- $webhooks := .Values.webhooks -}}
{{- $host := printf "%s.%s.svc" (include "rollout-operator.fullname" .) .Release.Namespace -}}
{{- $phased := .Values.phasedDeployments.enabled -}}
{{- if and $phased (not $webhooks.enabled) }}
{{- fail "phasedDeployments.enabled needs webhooks.enabled: a webhook is what holds a Deployment" }}
{{- end }}
{{- if or .Values.highAvailability.enabled $phased -}}
command: [fairlead, operator]
args:
  - --parts=zones
  - --namespace={{ .Release.Namespace }}
  - --port=8001
  {{- if not .Values.highAvailability.enabled }}
  - --no-lease
  {{- end }}
  {{- if $webhooks.enabled }}
  - --webhooks
  - --webhooks-port=8443
  - --webhooks-timeout={{ $webhooks.timeoutSeconds }}s
  - --certificate-secret={{ $webhooks.selfSignedCertSecretName }}
  - --certificate-dns-name={{ $host }}
  {{- end }}
  {{- if .Values.zoneTracker.enabled }}
  - --zone-tracker={{ .Values.zoneTracker.configMapName }}
  {{- end }}
  {{- if $phased }}
  - --phased-deployments
  {{- end }}
{{- else -}}
command: [rollout-operator]
args:
  - -kubernetes.namespace={{ .Release.Namespace }}
  {{- if $webhooks.enabled }}
  - -server-tls.enabled=true
  - -server-tls.request-timeout={{ $webhooks.timeoutSeconds }}s
  - -server-tls.self-signed-cert.secret-name={{ $webhooks.selfSignedCertSecretName }}
  - -server-tls.self-signed-cert.dns-name={{ $host }}
  {{- end }}
  {{- if .Values.zoneTracker.enabled }}
  - -use-zone-tracker=true
  - -zone-tracker.config-map-name={{ .Values.zoneTracker.configMapName }}
  {{- end }}
{{- end }}
{{- with .Values.extraArgs }}
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Whether the program of a Deployment acts under a Lease only. */}}
{{- define "rollout-operator.leased" -}}
{{- $container := first .spec.template.spec.containers -}}
{{- $words := concat ($container.command | default list) ($container.args | default list) -}}
{{ and (has "operator" $words) (not (has "--no-lease" $words)) }}
{{- end }}
