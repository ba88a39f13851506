{{- define "materialize-operator.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "materialize-operator.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{ .Values.fullnameOverride | default $full | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "materialize-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "materialize-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "materialize-operator.labels" -}}
{{ include "materialize-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Objects outside of any namespace say whose they are, so that they are found when it goes. */}}
{{- define "materialize-operator.labelsForAll" -}}
{{ include "materialize-operator.labels" . }}
fairlead.dev/materialize-operator-namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "materialize-operator.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "materialize-operator.fullname" .) "default") }}
{{- end }}

{{- define "materialize-operator.image" -}}
{{ .Values.operator.image.repository }}:{{ .Values.operator.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "materialize-operator.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
# Lets the program read the key.
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "materialize-operator.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* The Secret with the certificate of the webhook. */}}
{{- define "materialize-operator.certificate" -}}
{{- $certificate := .Values.operator.certificate -}}
{{- if eq $certificate.source "cert-manager" -}}
{{ include "materialize-operator.fullname" . }}-cert
{{- else if ne $certificate.source "secret" -}}
{{- fail (printf "operator.certificate.source is %q: set it to cert-manager or secret" $certificate.source) }}
{{- else if not $certificate.secretName -}}
{{- fail "operator.certificate.source is secret: name the Secret with ca.crt, tls.crt and tls.key in operator.certificate.secretName" }}
{{- else -}}
{{ $certificate.secretName }}
{{- end -}}
{{- end }}

{{/* Sizes of clusters as environmentd takes them: each says whether it uses swap, has a disk, and where it runs. */}}
{{- define "materialize-operator.sizes" -}}
{{- $clusters := .Values.operator.clusters -}}
{{- $class := .Values.storage.storageClass.name -}}
{{- $sizes := dict -}}
{{- range $name, $given := $clusters.sizes -}}
{{- if $given -}}
{{- $size := deepCopy $given -}}
{{- if not (hasKey $size "swap_enabled") }}{{ $_ := set $size "swap_enabled" $clusters.swap_enabled }}{{ end -}}
{{- if or $clusters.swap_enabled (not $class) }}{{ $_ := set $size "disk_limit" "0" }}{{ end -}}
{{- $nodes := dict -}}
{{- if $size.swap_enabled }}{{ $nodes = $.Values.clusterd.swapNodeSelector | default dict -}}
{{- else if $class }}{{ $nodes = $.Values.clusterd.scratchfsNodeSelector | default dict }}{{ end -}}
{{- $_ := set $size "selectors" (merge dict ($size.selectors | default dict) $nodes) -}}
{{- $_ := set $size "is_cc" true -}}
{{- $_ := set $sizes $name $size -}}
{{- end -}}
{{- end -}}
{{ toJson $sizes }}
{{- end }}
