{{- define "keelson.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "keelson.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "keelson.labels" -}}
{{ include "keelson.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "keelson.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "keelson.secret" -}}
{{- required "existingSecret is needed: the name of a Secret with what `keelson credentials` makes" .Values.existingSecret -}}
{{- end -}}

{{- define "keelson.servers.account" -}}
{{- if .Values.servers.serviceAccount.create -}}
{{- .Values.servers.serviceAccount.name | default (include "keelson.name" .) -}}
{{- else -}}
{{- .Values.servers.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "keelson.agents.account" -}}
{{- if .Values.agents.serviceAccount.create -}}
{{- .Values.agents.serviceAccount.name | default (printf "%s-agents" (include "keelson.name" .)) -}}
{{- else -}}
{{- .Values.agents.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "keelson.agents.measured" -}}
{{- if or .Values.agents.metrics.enabled .Values.serviceMonitor.enabled -}}yes{{- end -}}
{{- end -}}

{{- /* Of (list root constraints component): each constraint, for the pods of the component where it names no others. */ -}}
{{- define "keelson.spread" -}}
{{- $root := index . 0 -}}
{{- $component := index . 2 -}}
{{- range index . 1 }}
- {{- toYaml . | nindent 2 }}
  {{- if not (hasKey . "labelSelector") }}
  labelSelector:
    matchLabels:
      {{- include "keelson.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $component }}
  {{- end }}
{{- end }}
{{- end -}}
