{{- define "vela-core.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "vela-core.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $long := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- default $long .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Found on the pods; the labels of a Deployment's pods cannot change, so these are those of the chart before. */}}
{{- define "vela-core.selectorLabels" -}}
app.kubernetes.io/name: {{ include "vela-core.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vela-core.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "vela-core.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Objects outside of any namespace say whose they are. */}}
{{- define "vela-core.clusterLabels" -}}
{{ include "vela-core.labels" . }}
fairlead.dev/vela-core-namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "vela-core.account" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "vela-core.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Rules of a role by its key: context, key. */}}
{{- define "vela-core.rules" -}}
{{- $all := .context.Files.Get "files/permissions.yaml" | replace "__SECRET__" (include "vela-core.secret" .context) | fromYaml }}
{{- toYaml (get $all .key) }}
{{- end }}

{{/* Something where webhooks are served. */}}
{{- define "vela-core.webhooks" -}}
{{- if or .Values.admissionWebhooks.enabled .Values.useWebhook }}true{{ end }}
{{- end }}

{{- define "vela-core.webhookService" -}}
{{ include "vela-core.name" . }}-webhook
{{- end }}

{{- define "vela-core.secret" -}}
{{- default (printf "%s-admission" (include "vela-core.fullname" .)) (.Values.certificate).secretName }}
{{- end }}

{{/* Something where the operator makes the certificate itself. */}}
{{- define "vela-core.makesCertificate" -}}
{{- if and (include "vela-core.webhooks" .) .Values.admissionWebhooks.patch.enabled (not .Values.admissionWebhooks.certManager.enabled) (not (.Values.certificate).caBundle) }}true{{ end }}
{{- end }}

{{- define "vela-core.certificates" -}}
{{- default .Values.admissionWebhooks.certificate.mountPath (.Values.certificate).mountPath }}
{{- end }}
