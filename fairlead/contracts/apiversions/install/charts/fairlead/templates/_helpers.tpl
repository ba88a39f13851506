{{- define "fairlead.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "fairlead.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $long := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- default $long .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* Found on the pods. */}}
{{- define "fairlead.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fairlead.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fairlead.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "fairlead.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Objects outside of any namespace say whose they are. */}}
{{- define "fairlead.clusterLabels" -}}
{{ include "fairlead.labels" . }}
fairlead.dev/apiversions-namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "fairlead.account" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "fairlead.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "fairlead.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Rules of a role by its key: context, key. */}}
{{- define "fairlead.rules" -}}
{{- $all := .context.Files.Get "files/permissions.yaml" | replace "__SECRET__" (include "fairlead.secret" .context) | fromYaml }}
{{- toYaml (get $all .key) }}
{{- end }}

{{- define "fairlead.webhookService" -}}
{{ include "fairlead.fullname" . }}-webhook
{{- end }}

{{- define "fairlead.secret" -}}
{{- $source := .Values.operator.certificate.source }}
{{- if and (eq $source "secret") (not .Values.operator.certificate.secretName) }}
{{- fail "operator.certificate.secretName is missing: name the Secret that holds ca.crt, tls.crt and tls.key" }}
{{- end }}
{{- default (printf "%s-webhook-cert" (include "fairlead.fullname" .)) .Values.operator.certificate.secretName }}
{{- end }}

{{/* What the operator is started with. */}}
{{- define "fairlead.args" -}}
- operator
- --parts=apiversions
- --port={{ .Values.probes.port }}
- --webhook-port={{ .Values.webhookService.port }}
- --webhook-service-name={{ include "fairlead.webhookService" . }}
- --webhook-service-namespace={{ .Release.Namespace }}
- --webhook-cert-source={{ .Values.operator.certificate.source }}
- --webhook-secret={{ include "fairlead.secret" . }}
{{- if .Values.operator.certificate.mounted }}
- --webhook-cert-dir=/etc/fairlead/webhook
{{- end }}
- --migrate-storage={{ .Values.operator.migrateStorage }}
{{- if .Values.operator.takeOverConversion }}
- --take-over-conversion=true
{{- end }}
{{- if .Values.operator.allowDowngrade }}
- --allow-downgrade=true
{{- end }}
{{- range .Values.operator.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}
