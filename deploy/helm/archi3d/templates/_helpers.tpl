{{- define "archi3d.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "archi3d.labels" -}}
app.kubernetes.io/name: archi3d
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "archi3d.selector" -}}
app.kubernetes.io/name: archi3d
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "archi3d.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "archi3d.workerImage" -}}
{{- printf "%s:%s" (default .Values.image.repository .Values.worker.image.repository) (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "archi3d.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "archi3d.name" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "archi3d.databaseSecret" -}}
{{- if .Values.database.url -}}{{ include "archi3d.name" . }}-database{{- else -}}{{ .Values.database.existingSecret }}{{- end -}}
{{- end -}}

{{- /* What KEDA asks: how many jobs can start or run. */ -}}
{{- define "archi3d.query" -}}
{{- if .Values.worker.runId -}}
SELECT archi3d.wanted('{{ .Values.worker.runId | replace "'" "''" }}')
{{- else -}}
SELECT coalesce(sum(archi3d.wanted(run_id)), 0)::bigint FROM archi3d.runs r WHERE closed_at IS NULL OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'pending') OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'failed_retryable') OR EXISTS (SELECT FROM archi3d.jobs j WHERE j.run_no = r.run_no AND j.status = 'running')
{{- end -}}
{{- end -}}

{{- define "archi3d.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
# Not every file of a large workspace is looked at whenever a pod starts.
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "archi3d.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "archi3d.env" -}}
- name: DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ include "archi3d.databaseSecret" . }}, key: {{ .Values.database.key }}}}
- {name: LEASE_SECONDS, value: {{ .Values.worker.leaseSeconds | quote }}}
{{- if .Values.artifacts.url }}
- {name: ARCHI3D_ARTIFACTS, value: {{ .Values.artifacts.url | quote }}}
{{- end }}
{{- range $name, $value := .Values.env }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end -}}

{{- define "archi3d.envFrom" -}}
{{- range (compact (list .Values.providersSecret .Values.artifacts.credentialsSecret)) }}
- secretRef: {name: {{ . }}}
{{- end }}
{{- end -}}

{{- define "archi3d.mounts" -}}
- {name: workspace, mountPath: /workspace}
- {name: own, mountPath: /var/lib/archi3d}
- {name: tmp, mountPath: /tmp}
{{- range $name, $text := .Values.config }}
- {name: config, mountPath: {{ printf "/workspace/config/%s" $name | quote }}, subPath: {{ $name | quote }}, readOnly: true}
{{- end }}
{{- end -}}

{{- define "archi3d.volumes" -}}
- name: workspace
  {{- if .Values.workspace.existingClaim }}
  persistentVolumeClaim: {claimName: {{ .Values.workspace.existingClaim }}}
  {{- else }}
  emptyDir: {}
  {{- end }}
# What could not be sent to the database outlives the container, not the pod.
- {name: own, emptyDir: {}}
- {name: tmp, emptyDir: {}}
{{- if .Values.config }}
- {name: config, configMap: {name: {{ include "archi3d.name" . }}-config}}
{{- end }}
{{- end -}}

{{- /* Pods start again when a file of `config` changes. */ -}}
{{- define "archi3d.configSum" -}}
archi3d/config: {{ toYaml .Values.config | sha256sum }}
{{- end -}}

{{- /* A node is not given up under jobs that cost money. */ -}}
{{- define "archi3d.keepNode" -}}
cluster-autoscaler.kubernetes.io/safe-to-evict: "false"
{{- end -}}

{{- /* How long jobs may go on after TERM: what Kubernetes waits, less the time to give the rest back. */ -}}
{{- define "archi3d.stopGrace" -}}
{{- $all := int .Values.worker.terminationGracePeriodSeconds -}}
{{- max 1 (sub $all (min 100 (div $all 3))) -}}
{{- end -}}

{{- /* The pod of a worker, for both kinds. */ -}}
{{- define "archi3d.workerSpec" -}}
serviceAccountName: {{ include "archi3d.serviceAccount" . }}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
terminationGracePeriodSeconds: {{ .Values.worker.terminationGracePeriodSeconds }}
securityContext: {{- include "archi3d.podSecurity" . | nindent 2 }}
{{- with .Values.worker.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.worker.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.worker.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: worker
    image: {{ include "archi3d.workerImage" . | quote }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    args:
      - fleet
      - worker
      {{- if .Values.worker.runId }}
      - {{ printf "--run-id=%s" .Values.worker.runId | quote }}
      {{- end }}
      - --max-parallel={{ .Values.worker.maxParallel }}
      {{- if eq .Values.worker.kind "job" }}
      - --until-idle={{ .Values.worker.untilIdleSeconds }}
      {{- end }}
      {{- if .Values.artifacts.url }}
      - --cache-gb={{ .Values.artifacts.cacheGb }}
      {{- end }}
      - --stop-grace={{ include "archi3d.stopGrace" . }}
      - --yes
    env: {{- include "archi3d.env" . | nindent 6 }}
    {{- with include "archi3d.envFrom" . }}
    envFrom: {{- . | nindent 6 }}
    {{- end }}
    securityContext: {{- include "archi3d.containerSecurity" . | nindent 6 }}
    resources: {{- toYaml .Values.worker.resources | nindent 6 }}
    volumeMounts: {{- include "archi3d.mounts" . | nindent 6 }}
volumes: {{- include "archi3d.volumes" . | nindent 2 }}
{{- end -}}
