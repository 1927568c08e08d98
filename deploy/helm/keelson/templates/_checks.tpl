{{- /* Values that are needed, or that contradict each other: one sentence that says what to do. */ -}}
{{- define "keelson.check" -}}
{{- if not .Values.publicUrl -}}
{{- fail "publicUrl is needed: where callers reach the servers, such as https://keelson.example.com" -}}
{{- end -}}
{{- if not .Values.existingSecret -}}
{{- fail "existingSecret is needed: the name of a Secret with what `keelson credentials` makes" -}}
{{- end -}}
{{- if and (eq .Values.servers.blobs "bucket") (not (get .Values.servers.config "S3_BUCKET")) -}}
{{- fail "servers.config.S3_BUCKET is needed: the bucket of bundles and files. Or set servers.blobs=volume, with a storage class that has ReadWriteMany" -}}
{{- end -}}
{{- if and (eq .Values.servers.blobs "volume") (get .Values.servers.config "S3_BUCKET") -}}
{{- fail "servers.blobs is volume, but servers.config.S3_BUCKET is set: set servers.blobs=bucket, or leave out S3_BUCKET" -}}
{{- end -}}
{{- $names := list -}}
{{- range .Values.servers.extraEnv -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- if not (or .Values.database.urlKey (has "DATABASE_URL" $names) .Values.servers.extraEnvFrom) -}}
{{- fail "database.urlKey is empty: set it to the key of the Secret that has PostgreSQL's URL, or set DATABASE_URL in servers.extraEnv" -}}
{{- end -}}
{{- if and .Values.database.urlKey (has "DATABASE_URL" $names) -}}
{{- fail "servers.extraEnv has DATABASE_URL: set database.urlKey to an empty text, so that no Secret is asked for the URL" -}}
{{- end -}}
{{- if and .Values.database.ca.secretName .Values.database.ca.configMapName -}}
{{- fail "database.ca names a Secret and a ConfigMap: set one of secretName and configMapName" -}}
{{- end -}}
{{- range $name, $instead := dict "PUBLIC_URL" "publicUrl" "DATABASE_URL" "database.urlKey" "DATABASE_DIRECT_URL" "database.directUrlKey" "PORT" "service.port" -}}
{{- if hasKey $.Values.servers.config $name -}}
{{- fail (printf "servers.config.%s is for the chart to set: set %s instead" $name $instead) -}}
{{- end -}}
{{- end -}}
{{- range $name, $instead := dict "DATABASE_URL" "database.urlKey" "DATABASE_DIRECT_URL" "database.directUrlKey" -}}
{{- if hasKey $.Values.servers.secrets $name -}}
{{- fail (printf "servers.secrets.%s is for the chart to set: set %s to its key instead" $name $instead) -}}
{{- end -}}
{{- end -}}
{{- range $name, $instead := dict "KEELSON_AGENT_METRICS_PORT" "agents.metrics.port" "KEELSON_AGENT_METRICS_HOST" "agents.metrics.enabled" -}}
{{- if hasKey $.Values.agents.config $name -}}
{{- fail (printf "agents.config.%s is for the chart to set: set %s instead" $name $instead) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- fail "ingress.host is needed: the host of publicUrl" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is needed: the gateways, such as [{ name: public, namespace: gateways }]" -}}
{{- end -}}
{{- if and .Values.agents.enabled .Values.agents.keda.enabled (not .Values.agents.keda.workerGroupId) -}}
{{- fail "agents.keda.workerGroupId is needed: the id of the agents' worker group, as /capacity/v1/worker-groups lists it" -}}
{{- end -}}
{{- end -}}
