{{- /*
What servers are given. The migration is given the same: then a setting that the new version does not know stops an upgrade before it
begins.
*/ -}}
{{- define "keelson.servers.env" -}}
env:
  - name: PUBLIC_URL
    value: {{ .Values.publicUrl | quote }}
  {{- if .Values.database.urlKey }}
  - name: DATABASE_URL_FILE
    value: /run/database/url
  {{- end }}
  {{- if .Values.database.directUrlKey }}
  - name: DATABASE_DIRECT_URL_FILE
    value: /run/database/direct_url
  {{- end }}
  {{- range $name, $key := .Values.servers.secrets }}
  - name: {{ $name }}_FILE
    value: {{ printf "/run/secrets/keelson/%s" $key | quote }}
  {{- end }}
  {{- range $name, $value := .Values.servers.config }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
  {{- with .Values.servers.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.servers.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "keelson.servers.mounts" -}}
- name: secrets
  mountPath: /run/secrets/keelson
  readOnly: true
{{- if include "keelson.database.files" . | trim }}
- name: database
  mountPath: /run/database
  readOnly: true
{{- end }}
- name: temporary
  mountPath: /tmp
{{- with .Values.servers.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "keelson.servers.volumes" -}}
- name: secrets
  secret:
    secretName: {{ include "keelson.secret" . }}
    items:
      {{- range $name, $key := .Values.servers.secrets }}
      - key: {{ $key }}
        path: {{ $key }}
      {{- end }}
{{- with include "keelson.database.files" . | trim }}
- name: database
  projected:
    sources:
      {{- . | nindent 6 }}
{{- end }}
- name: temporary
  emptyDir: {}
{{- with .Values.servers.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The sources of /run/database; empty when there are none. */ -}}
{{- define "keelson.database.files" -}}
{{- if or .Values.database.urlKey .Values.database.directUrlKey }}
- secret:
    name: {{ .Values.database.existingSecret | default .Values.existingSecret }}
    items:
      {{- with .Values.database.urlKey }}
      - key: {{ . }}
        path: url
      {{- end }}
      {{- with .Values.database.directUrlKey }}
      - key: {{ . }}
        path: direct_url
      {{- end }}
{{- end }}
{{- if .Values.database.ca.secretName }}
- secret:
    name: {{ .Values.database.ca.secretName }}
    items:
      - key: {{ .Values.database.ca.key }}
        path: ca.crt
{{- end }}
{{- if .Values.database.ca.configMapName }}
- configMap:
    name: {{ .Values.database.ca.configMapName }}
    items:
      - key: {{ .Values.database.ca.key }}
        path: ca.crt
{{- end }}
{{- end -}}

{{- define "keelson.servers.security" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "keelson.migration" -}}
image: {{ include "keelson.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: [migrate]
{{ include "keelson.servers.env" . }}
resources:
  {{- toYaml .Values.servers.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  {{- include "keelson.servers.mounts" . | nindent 2 }}
{{- end -}}
