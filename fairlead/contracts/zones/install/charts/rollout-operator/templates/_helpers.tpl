{{/* As a dependency the chart may be called rollout_operator, which no object may be. */}}
{{- define "rollout-operator.chartName" -}}
{{ .Chart.Name | replace "_" "-" }}
{{- end }}

{{- define "rollout-operator.name" -}}
{{ .Values.nameOverride | default (include "rollout-operator.chartName" .) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "rollout-operator.fullname" -}}
{{- $name := .Values.nameOverride | default (include "rollout-operator.chartName" .) -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{ .Values.fullnameOverride | default $full | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "rollout-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "rollout-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rollout-operator.labels" -}}
{{ include "rollout-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (include "rollout-operator.chartName" .) .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.global.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Objects outside of any namespace say whose they are, so that they are found when it goes. */}}
{{- define "rollout-operator.clusterLabels" -}}
{{ include "rollout-operator.labels" . }}
grafana.com/namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{- define "rollout-operator.clusterName" -}}
{{ printf "%s-%s" (include "rollout-operator.fullname" .) .Release.Namespace }}
{{- end }}

{{- define "rollout-operator.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "rollout-operator.fullname" .) "default") }}
{{- end }}

{{- define "rollout-operator.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "rollout-operator.needs" -}}
{{- $needs := list "rollout" -}}
{{- range $need := list "scaling" "budgets" "healthChecks" "events" -}}
{{- if get $.Values.rbac $need }}{{ $needs = append $needs $need }}{{ end -}}
{{- end -}}
{{- if .Values.webhooks.enabled }}{{ $needs = append $needs "webhooks" }}{{ end -}}
{{- if .Values.phasedDeployments.enabled }}{{ $needs = append $needs "phasedDeployments" }}{{ end -}}
{{- if .Values.zoneTracker.enabled }}{{ $needs = append $needs "zoneTracker" }}{{ end -}}
{{- if .Values.highAvailability.enabled }}{{ $needs = append $needs "election" }}{{ end -}}
{{ toJson $needs }}
{{- end }}

{{/* A file with the names of this release put in. */}}
{{- define "rollout-operator.file" -}}
{{ .context.Files.Get (printf "files/%s" .file)
  | replace "__NAMESPACE__" .context.Release.Namespace
  | replace "__SERVICE__" (include "rollout-operator.fullname" .context)
  | replace "__SECRET__" .context.Values.webhooks.selfSignedCertSecretName
  | replace "__TRACKER__" .context.Values.zoneTracker.configMapName }}
{{- end }}
