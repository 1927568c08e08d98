// What Helm makes of the chart. It needs `helm`; chart.test.ts has what can be known without.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { checkTypes, hasType, withoutTypes } from "./deploy/check-kubernetes.ts";
import { lint, refusal, render, withoutHelm } from "./deploy/render-chart.ts";
import { KNOWN_VARIABLES, readYaml, type Data } from "./deploy/read-deployment.ts";

const NEEDED = {
  publicUrl: "https://keelson.example.com",
  existingSecret: "keelson",
  servers: { config: { S3_BUCKET: "keelson" } },
};
const GROUP = "wgrp_01k0000000000000000000000a";
const MOUNT = { name: "extra", mountPath: "/extra" };
const EXTRA = {
  extraEnv: [{ name: "AWS_REGION", value: "eu-central-1" }],
  extraEnvFrom: [{ secretRef: { name: "more" } }],
  extraVolumes: [{ name: "extra", emptyDir: {} }],
  extraVolumeMounts: [MOUNT],
  priorityClassName: "high",
  podLabels: { team: "a" },
  podAnnotations: { note: "b" },
  nodeSelector: { disk: "ssd" },
  tolerations: [{ operator: "Exists" }],
  affinity: { nodeAffinity: {} },
  serviceAccount: {
    create: true,
    name: "",
    annotations: { "eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/k" },
  },
};
const PEER = { namespaceSelector: { matchLabels: { name: "monitoring" } } };
/** Everything that can be turned on. */
const ALL = {
  ...NEEDED,
  imagePullSecrets: [{ name: "registry" }],
  database: { directUrlKey: "direct", ca: { configMapName: "database-ca" } },
  migrations: { job: { enabled: true, podAnnotations: { "sidecar.istio.io/inject": "false" } } },
  servers: { ...EXTRA, config: NEEDED.servers.config, autoscaling: { enabled: true } },
  ingress: {
    enabled: true,
    className: "nginx",
    host: "keelson.example.com",
    tlsSecretName: "tls",
    annotations: { a: "b" },
  },
  httpRoute: {
    enabled: true,
    parentRefs: [{ name: "public" }],
    timeouts: { request: "0s" },
    annotations: { a: "b" },
  },
  agents: {
    ...EXTRA,
    keda: {
      enabled: true,
      workerGroupId: GROUP,
      fallback: { failureThreshold: 4, replicas: 4, behavior: "currentReplicasIfHigher" },
    },
  },
  serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
  networkPolicy: { enabled: true, from: [{ podSelector: {} }], metricsFrom: [PEER] },
  extraObjects: [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "{{ .Release.Name }}-more" } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "other" } },
  ],
};

const find = (objects: readonly Data[], kind: string, name = ""): Data => {
  const found = objects.filter((one) => one.kind === kind && String(one.metadata.name).endsWith(name));
  assert.equal(found.length, 1, `${found.length} of ${kind} ${name}`);
  return found[0];
};
const kindsOf = (objects: readonly Data[]): string[] => objects.map(({ kind }) => String(kind)).sort();
const podOf = (object: Data): Data => object.spec.template ?? object;
const namesOf = (list: readonly Data[] | undefined): string[] => (list ?? []).map(({ name }: Data) => name);

/** What holds for every release: names are unique, mounts have volumes, and variables are settings that are set once. */
function checkObjects(objects: readonly Data[]): void {
  const ids = objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
  assert.equal(new Set(ids).size, ids.length, ids.join());
  for (const object of objects) {
    assert.ok(object.apiVersion && object.kind && object.metadata.name, JSON.stringify(object));
    if (!["Deployment", "Job", "Pod"].includes(object.kind)) continue;
    const { spec } = podOf(object);
    assert.equal(spec.securityContext.runAsNonRoot, true);
    const volumes = namesOf(spec.volumes);
    assert.equal(new Set(volumes).size, volumes.length, volumes.join());
    for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
      assert.equal(container.securityContext.allowPrivilegeEscalation, false);
      for (const name of namesOf(container.volumeMounts)) assert.ok(volumes.includes(name), name);
      const set = namesOf(container.env);
      assert.equal(new Set(set).size, set.length, set.join());
      const role = container.args[0] === "agent" ? "agent" : "serve";
      for (const name of set.filter((one) => one.startsWith("KEELSON_") || one.endsWith("_FILE")))
        assert.ok(KNOWN_VARIABLES[role].has(name), `${name} is no setting of ${role}`);
    }
  }
}

suite("a rendered chart", { skip: withoutHelm }, () => {
  test("has no more than is needed by default, and keeps blobs in the bucket", () => {
    const objects = render(NEEDED);
    checkObjects(objects);
    assert.deepEqual(kindsOf(objects), [
      "Deployment",
      "Deployment",
      "Pod",
      "PodDisruptionBudget",
      "PodDisruptionBudget",
      "Service",
    ]);
    const { spec } = podOf(find(objects, "Deployment", "servers"));
    assert.deepEqual(spec.volumes.find(({ name }: Data) => name === "data").emptyDir, {});
    assert.equal("serviceAccountName" in spec, false);
    const { env } = spec.containers[0];
    assert.ok(env.some(({ name, value }: Data) => name === "S3_BUCKET" && value === "keelson"));
    assert.deepEqual(lint(NEEDED), "");
  });

  test("has only fields that Kubernetes knows, of the right types", { skip: withoutTypes }, () => {
    for (const values of [NEEDED, ALL]) {
      const objects = render(values).filter(hasType);
      assert.ok(objects.length > 4);
      assert.equal(checkTypes(objects), "");
    }
    const deployment = find(render(NEEDED), "Deployment", "servers");
    deployment.spec.template.spec.containers[0].redinessProbe = {};
    assert.match(checkTypes([deployment]), /redinessProbe.* does not exist/);
  });

  test("claims a volume that all servers share, or takes one that is there", () => {
    const values = { ...NEEDED, servers: { blobs: "volume", volume: { storageClassName: "nfs" } } };
    const objects = render(values);
    checkObjects(objects);
    const claim = find(objects, "PersistentVolumeClaim");
    assert.deepEqual(claim.spec.accessModes, ["ReadWriteMany"]);
    assert.equal(claim.spec.storageClassName, "nfs");
    const claimOf = (all: readonly Data[]): string =>
      podOf(find(all, "Deployment", "servers")).spec.volumes.find(({ name }: Data) => name === "data")
        .persistentVolumeClaim.claimName;
    assert.equal(claimOf(objects), claim.metadata.name);
    const other = render({ ...NEEDED, servers: { blobs: "volume", volume: { existingClaim: "mine" } } });
    assert.equal(claimOf(other), "mine");
    assert.ok(!other.some(({ kind }) => kind === "PersistentVolumeClaim"));
  });

  test("can have everything at once", () => {
    const objects = render(ALL);
    checkObjects(objects);
    assert.deepEqual(lint(ALL), "");
    for (const [component, container] of [
      ["servers", "server"],
      ["agents", "agent"],
    ] as const) {
      const deployment = find(objects, "Deployment", component);
      assert.equal("replicas" in deployment.spec, false, "a scaler sets them");
      const { metadata, spec } = podOf(deployment);
      assert.equal(metadata.labels.team, "a");
      assert.equal(metadata.annotations.note, "b");
      assert.equal(spec.priorityClassName, "high");
      assert.deepEqual(spec.nodeSelector, { disk: "ssd" });
      assert.equal(
        find(objects, "ServiceAccount", spec.serviceAccountName).metadata.annotations !== undefined,
        true,
      );
      const [own] = spec.containers;
      assert.equal(own.name, container);
      assert.ok(namesOf(own.env).includes("AWS_REGION"));
      assert.deepEqual(own.envFrom, EXTRA.extraEnvFrom);
      assert.ok(own.volumeMounts.some(({ mountPath }: Data) => mountPath === "/extra"));
      assert.deepEqual(spec.topologySpreadConstraints, [
        {
          maxSkew: 1,
          topologyKey: "kubernetes.io/hostname",
          whenUnsatisfiable: "ScheduleAnyway",
          labelSelector: {
            matchLabels: find(objects, "PodDisruptionBudget", component).spec.selector.matchLabels,
          },
        },
      ]);
    }
    assert.deepEqual(
      objects
        .filter(({ kind }) => kind === "ConfigMap")
        .map(({ metadata }) => String(metadata.name))
        .sort(),
      ["other", "team-more"],
    );
    assert.deepEqual(find(objects, "ScaledObject").spec.fallback, ALL.agents.keda.fallback);
  });

  test("keeps the selector of a constraint that has one", () => {
    const own = {
      maxSkew: 2,
      topologyKey: "zone",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: { matchLabels: { a: "b" } },
    };
    const objects = render({ ...NEEDED, agents: { topologySpreadConstraints: [own] } });
    assert.deepEqual(podOf(find(objects, "Deployment", "agents")).spec.topologySpreadConstraints, [own]);
  });
});

suite("migrations of a rendered chart", { skip: withoutHelm }, () => {
  test("run where no probe ends them, with all that a server is given", () => {
    const objects = render(ALL);
    const server = podOf(find(objects, "Deployment", "servers")).spec;
    const job = find(objects, "Job", "migrate");
    const [inJob] = podOf(job).spec.containers;
    for (const container of [server.initContainers[0], inJob]) {
      assert.deepEqual(container.args, ["migrate"]);
      assert.deepEqual(
        Object.keys(container).filter((key) => key.endsWith("Probe")),
        [],
      );
      assert.deepEqual(container.env, server.containers[0].env);
      assert.deepEqual(container.envFrom, server.containers[0].envFrom);
      assert.deepEqual(container.image, server.containers[0].image);
    }
    assert.equal(job.metadata.annotations["helm.sh/hook"], "pre-install,pre-upgrade");
    assert.equal("activeDeadlineSeconds" in job.spec, false);
    assert.equal(podOf(job).metadata.annotations["sidecar.istio.io/inject"], "false");
    assert.equal("serviceAccountName" in podOf(job).spec, false, "that account is not there yet");
    assert.ok(!namesOf(podOf(job).spec.volumes).includes("data"));
  });

  test("run in an init container alone by default, and under an account that is there", () => {
    const account = { serviceAccount: { name: "mine" }, config: NEEDED.servers.config };
    const objects = render({ ...NEEDED, servers: account });
    assert.ok(!objects.some(({ kind }) => kind === "Job"));
    assert.equal(podOf(find(objects, "Deployment", "servers")).spec.serviceAccountName, "mine");
    const withJob = render({ ...NEEDED, servers: account, migrations: { job: { enabled: true } } });
    assert.equal(podOf(find(withJob, "Job", "migrate")).spec.serviceAccountName, "mine");
  });

  test("reach the database by files, with its authority", () => {
    const { spec } = podOf(find(render(ALL), "Deployment", "servers"));
    const { sources } = spec.volumes.find(({ name }: Data) => name === "database").projected;
    assert.deepEqual(sources, [
      {
        secret: {
          name: "keelson",
          items: [
            { key: "database_url", path: "url" },
            { key: "direct", path: "direct_url" },
          ],
        },
      },
      { configMap: { name: "database-ca", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    ]);
    const { mountPath } = spec.containers[0].volumeMounts.find(({ name }: Data) => name === "database");
    const fileOf = (variable: string): string =>
      spec.containers[0].env.find(({ name }: Data) => name === variable).value;
    assert.equal(fileOf("DATABASE_URL_FILE"), `${mountPath}/url`);
    assert.equal(fileOf("DATABASE_DIRECT_URL_FILE"), `${mountPath}/direct_url`);
  });

  test("and servers run on the example with CloudNativePG", () => {
    const objects = render(readYaml("deploy/examples/cloudnativepg/values.yaml"));
    checkObjects(objects);
    const { spec } = podOf(find(objects, "Deployment", "servers"));
    const names = namesOf(spec.containers[0].env);
    assert.ok(
      names.indexOf("DATABASE_PASSWORD") < names.indexOf("DATABASE_URL"),
      "Kubernetes expands earlier ones",
    );
    assert.ok(!names.includes("DATABASE_URL_FILE"));
    assert.deepEqual(spec.volumes.find(({ name }: Data) => name === "database").projected.sources, [
      { secret: { name: "keelson-database-ca", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    ]);
  });
});

suite("the network of a rendered chart", { skip: withoutHelm }, () => {
  test("Prometheus finds the metrics, and nobody else may read those of agents", () => {
    const objects = render(ALL);
    const service = find(objects, "Service");
    const monitor = find(objects, "ServiceMonitor");
    assert.ok(namesOf(service.spec.ports).includes(monitor.spec.endpoints[0].port));
    for (const [label, value] of Object.entries(monitor.spec.selector.matchLabels))
      assert.equal(service.metadata.labels[label], value);
    const agent = podOf(find(objects, "Deployment", "agents"));
    const pods = find(objects, "PodMonitor");
    for (const [label, value] of Object.entries(pods.spec.selector.matchLabels))
      assert.equal(agent.metadata.labels[label], value);
    const [{ ports, env }] = agent.spec.containers;
    const shown = ports.find(({ name }: Data) => name === pods.spec.podMetricsEndpoints[0].port);
    assert.ok(
      env.some(
        ({ name, value }: Data) =>
          name === "KEELSON_AGENT_METRICS_PORT" && value === String(shown.containerPort),
      ),
    );
    assert.deepEqual(find(objects, "NetworkPolicy", "agents").spec.ingress, [
      { ports: [{ port: "metrics" }], from: [PEER] },
    ]);
    const { from } = find(objects, "NetworkPolicy", "servers").spec.ingress[0];
    assert.equal(from.length, 4);
    assert.deepEqual(from.at(-1), PEER);
  });

  test("agents serve no metrics and are called by nobody unless that is turned on", () => {
    const objects = render({ ...NEEDED, networkPolicy: { enabled: true } });
    const [container] = podOf(find(objects, "Deployment", "agents")).spec.containers;
    assert.equal("ports" in container, false);
    assert.ok(!namesOf(container.env).includes("KEELSON_AGENT_METRICS_PORT"));
    assert.equal("ingress" in find(objects, "NetworkPolicy", "agents").spec, false);
  });

  test("a route leads to the service, and hides the metrics", () => {
    const objects = render(ALL);
    const { hostnames, rules } = find(objects, "HTTPRoute").spec;
    assert.deepEqual(hostnames, ["keelson.example.com"]);
    assert.deepEqual(rules, [
      { matches: [{ path: { type: "PathPrefix", value: "/metrics" } }] },
      {
        matches: [{ path: { type: "PathPrefix", value: "/" } }],
        timeouts: { request: "0s" },
        backendRefs: [{ name: find(objects, "Service").metadata.name, port: 4400 }],
      },
    ]);
    const shown = render({
      ...ALL,
      httpRoute: { ...ALL.httpRoute, hideMetrics: false, hostnames: ["a.example.com"] },
    });
    assert.equal(find(shown, "HTTPRoute").spec.rules.length, 1);
    assert.deepEqual(find(shown, "HTTPRoute").spec.hostnames, ["a.example.com"]);
  });

  test("helm test asks the service whether a server is ready", () => {
    const pod = find(render(ALL), "Pod");
    assert.equal(pod.metadata.annotations["helm.sh/hook"], "test");
    const [container] = pod.spec.containers;
    assert.equal(container.args.at(-1), "http://team-keelson:4400/readyz");
  });
});

suite("values that cannot be installed", { skip: withoutHelm }, () => {
  const cases: [string, Data, RegExp][] = [
    ["without an address", { ...NEEDED, publicUrl: "" }, /publicUrl is needed/],
    [
      "without the Secret",
      { ...NEEDED, existingSecret: "" },
      /existingSecret is needed: the name of a Secret/,
    ],
    [
      "without a bucket",
      { ...NEEDED, servers: {} },
      /servers\.config\.S3_BUCKET is needed.*servers\.blobs=volume/,
    ],
    [
      "with a volume and a bucket",
      { ...NEEDED, servers: { ...NEEDED.servers, blobs: "volume" } },
      /S3_BUCKET is set/,
    ],
    ["without a database", { ...NEEDED, database: { urlKey: "" } }, /database\.urlKey is empty/],
    [
      "with two URLs of the database",
      { ...NEEDED, servers: { ...NEEDED.servers, extraEnv: [{ name: "DATABASE_URL", value: "x" }] } },
      /servers\.extraEnv has DATABASE_URL/,
    ],
    [
      "with two authorities",
      { ...NEEDED, database: { ca: { secretName: "a", configMapName: "b" } } },
      /set one of/,
    ],
    [
      "with a setting of the chart",
      { ...NEEDED, servers: { config: { ...NEEDED.servers.config, PUBLIC_URL: "x" } } },
      /servers\.config\.PUBLIC_URL is for the chart to set: set publicUrl instead/,
    ],
    [
      "with the database among the secrets",
      { ...NEEDED, servers: { ...NEEDED.servers, secrets: { DATABASE_URL: "url" } } },
      /servers\.secrets\.DATABASE_URL is for the chart to set: set database\.urlKey/,
    ],
    ["with an ingress for no host", { ...NEEDED, ingress: { enabled: true } }, /ingress\.host is needed/],
    [
      "with a route of no gateway",
      { ...NEEDED, httpRoute: { enabled: true } },
      /httpRoute\.parentRefs is needed/,
    ],
    [
      "with KEDA for no group",
      { ...NEEDED, agents: { keda: { enabled: true } } },
      /keda\.workerGroupId is needed/,
    ],
    ["with a misspelt value", { ...NEEDED, server: {} }, /server/],
  ];
  for (const [name, values, said] of cases)
    test(`${name} are refused in one sentence`, () => assert.match(refusal(values), said));
});
