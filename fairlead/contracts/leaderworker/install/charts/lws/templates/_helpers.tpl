{{- define "lws.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "lws.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $long := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- default $long .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Found on the pods; the labels of a Deployment's pods cannot change, so these are those of the chart before. */}}
{{- define "lws.selectorLabels" -}}
app.kubernetes.io/name: {{ include "lws.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "lws.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "lws.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Objects outside of any namespace say whose they are. */}}
{{- define "lws.clusterLabels" -}}
{{ include "lws.labels" . }}
fairlead.dev/lws-namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Rules of a role by its key: context, key. */}}
{{- define "lws.rules" -}}
{{- $all := .context.Files.Get "files/permissions.yaml" | fromYaml }}
{{- toYaml (get $all .key) }}
{{- end }}

{{- define "lws.gangScheduler" -}}
{{- with .Values.gangSchedulingManagement }}{{ .schedulerProvider }}{{ end }}
{{- end }}
