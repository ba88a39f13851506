{{/* One argument as a line of YAML; JSON of JSON is what keeps quotes, colons and braces what they are. */}}
{{- define "materialize-operator.args" -}}
{{- range include "materialize-operator.words" . | fromJsonArray }}
- {{ toJson . }}
{{- end }}
{{- end }}

{{- define "materialize-operator.words" -}}
{{- $operator := .Values.operator -}}
{{- $words := list
  (printf "--helm-chart-version=%s" .Chart.Version)
  (printf "--cloud-provider=%s" $operator.cloudProvider.type)
  (printf "--region=%s" $operator.cloudProvider.region)
  (printf "--webhook-service-name=%s" (include "materialize-operator.fullname" .))
  (printf "--webhook-service-namespace=%s" .Release.Namespace)
  (printf "--secrets-controller=%s" $operator.secretsController)
  (printf "--image-pull-policy=%s" (kebabcase $operator.image.pullPolicy))
  (printf "--console-image-tag-default=%s" (.Values.console.imageTagDefault | default $operator.image.tag | default "latest"))
  "--enable-security-context" -}}
{{- if $operator.args.disableStatementLogging }}{{ $words = append $words "--disable-statement-logging" }}{{ end -}}
{{- range $key, $value := include "materialize-operator.selectorLabels" . | fromYaml -}}
{{- $words = append $words (printf "--orchestratord-pod-selector-labels=%s=%s" $key $value) -}}
{{- end -}}
{{- range list "provider" "clusters" "programs" "switches" "more" -}}
{{- $words = concat $words (include (printf "materialize-operator.words.%s" .) $ | fromJsonArray) -}}
{{- end -}}
{{ toJson (concat $words ($operator.extraArgs | default list)) }}
{{- end }}

{{- define "materialize-operator.words.provider" -}}
{{- $words := list -}}
{{- if eq .Values.operator.cloudProvider.type "aws" -}}
{{- $aws := .Values.operator.cloudProvider.providers.aws -}}
{{- if not $aws.accountID }}{{ fail "operator.cloudProvider.type is aws: set operator.cloudProvider.providers.aws.accountID" }}{{ end -}}
{{- $words = append $words (printf "--aws-account-id=%v" $aws.accountID) -}}
{{- with $aws.iam.roles.environment }}{{ $words = append $words (printf "--environmentd-iam-role-arn=%s" .) }}{{ end -}}
{{- with $aws.iam.roles.connection }}{{ $words = append $words (printf "--environmentd-connection-role-arn=%s" .) }}{{ end -}}
{{- end -}}
{{ toJson $words }}
{{- end }}

{{- define "materialize-operator.words.clusters" -}}
{{- $words := list -}}
{{- $clusters := .Values.operator.clusters -}}
{{- with $clusters.sizes }}{{ $words = append $words (printf "--environmentd-cluster-replica-sizes=%s" (include "materialize-operator.sizes" $)) }}{{ end -}}
{{- $sizes := $clusters.defaultSizes | default dict -}}
{{- with $sizes.default }}{{ $words = append $words (printf "--bootstrap-default-cluster-replica-size=%s" .) }}{{ end -}}
{{- range list "system" "probe" "support" "catalogServer" "analytics" -}}
{{- $size := get $sizes . -}}
{{- if $size }}{{ $words = append $words (printf "--bootstrap-builtin-%s-cluster-replica-size=%s" (kebabcase .) $size) }}{{ end -}}
{{- end -}}
{{- $factors := $clusters.defaultReplicationFactor | default dict -}}
{{- range list "system" "probe" "support" "analytics" -}}
{{- if and (hasKey $factors .) (not (kindIs "invalid" (get $factors .))) -}}
{{- $words = append $words (printf "--bootstrap-builtin-%s-cluster-replication-factor=%d" . (int (get $factors .))) -}}
{{- end -}}
{{- end -}}
{{ toJson $words }}
{{- end }}

{{- define "materialize-operator.words.programs" -}}
{{- $words := list -}}
{{- range $program := list "environmentd" "clusterd" "balancerd" "console" -}}
{{- $values := get $.Values $program -}}
{{- range $key, $value := $values.nodeSelector }}{{ $words = append $words (printf "--%s-node-selector=%s=%v" $program $key $value) }}{{ end -}}
{{- with $values.affinity }}{{ $words = append $words (printf "--%s-affinity=%s" $program (toJson .)) }}{{ end -}}
{{- range $values.tolerations }}{{ $words = append $words (printf "--%s-toleration=%s" $program (toJson .)) }}{{ end -}}
{{- with $values.defaultResources }}{{ $words = append $words (printf "--%s-default-resources=%s" $program (toJson .)) }}{{ end -}}
{{- end -}}
{{- range $key, $value := .Values.console.imageTagMapOverride }}{{ $words = append $words (printf "--console-image-tag-map=%s=%v" $key $value) }}{{ end -}}
{{ toJson $words }}
{{- end }}

{{- define "materialize-operator.words.switches" -}}
{{- $observed := .Values.observability.enabled -}}
{{- $policies := .Values.networkPolicies -}}
{{- $switches := list
  (list "create-balancers" .Values.balancerd.enabled)
  (list "create-console" .Values.console.enabled)
  (list "enable-internal-statement-logging" .Values.operator.args.enableInternalStatementLogging)
  (list "disable-license-key-checks" (not .Values.operator.args.enableLicenseKeyChecks))
  (list "collect-pod-metrics" (and $observed .Values.observability.podMetrics.enabled))
  (list "enable-prometheus-scrape-annotations" (and $observed .Values.observability.prometheus.scrapeAnnotations.enabled))
  (list "segment-client-side" (and .Values.telemetry.enabled .Values.telemetry.segmentClientSide))
  (list "network-policies-internal-enabled" (and $policies.enabled $policies.internal.enabled))
  (list "network-policies-ingress-enabled" (and $policies.enabled $policies.ingress.enabled))
  (list "network-policies-egress-enabled" (and $policies.enabled $policies.egress.enabled)) -}}
{{- $words := list -}}
{{- range $switches }}{{ if last . }}{{ $words = append $words (printf "--%s" (first .)) }}{{ end }}{{ end -}}
{{- range $way := list "ingress" "egress" -}}
{{- if and $policies.enabled (get $policies $way).enabled -}}
{{- range (get $policies $way).cidrs }}{{ $words = append $words (printf "--network-policies-%s-cidrs=%s" $way .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{ toJson $words }}
{{- end }}

{{- define "materialize-operator.words.more" -}}
{{- $words := list -}}
{{- with .Values.operator.args.startupLogFilter }}{{ $words = append $words (printf "--startup-log-filter=%s" .) }}{{ end -}}
{{- with .Values.operator.args.webhookCertReloadInterval }}{{ $words = append $words (printf "--webhook-cert-reload-interval=%s" .) }}{{ end -}}
{{- with .Values.operator.additionalMaterializeCRDColumns }}{{ $words = append $words (printf "--additional-crd-columns=%s" (toJson .)) }}{{ end -}}
{{- with .Values.tls.defaultCertificateSpecs }}{{ $words = append $words (printf "--default-certificate-specs=%s" (toJson .)) }}{{ end -}}
{{- with .Values.storage.storageClass.name }}{{ $words = append $words (printf "--ephemeral-volume-class=%s" .) }}{{ end -}}
{{- with .Values.schedulerName }}{{ $words = append $words (printf "--scheduler-name=%s" .) }}{{ end -}}
{{- if .Values.telemetry.enabled -}}
{{- if not .Values.telemetry.segmentApiKey }}{{ fail "telemetry.enabled is true: set telemetry.segmentApiKey to the key of your source" }}{{ end -}}
{{- $words = append $words (printf "--segment-api-key=%s" .Values.telemetry.segmentApiKey) -}}
{{- end -}}
{{ toJson $words }}
{{- end }}
