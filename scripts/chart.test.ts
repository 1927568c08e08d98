// The Helm chart says nothing that the product does not know. Here nothing is rendered: chart-render.test.ts does that.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Ajv } from "ajv";
import { SETTINGS } from "../packages/server/src/settings.ts";
import { routes } from "../packages/server/src/http/routes.ts";
import { chart, isObject, overlay, readTemplates, resolveSchema } from "./deploy/read-chart.ts";
import { KNOWN_VARIABLES, readText, readYaml, type Data } from "./deploy/read-deployment.ts";

const DRAIN_SECONDS = 30;
const EXAMPLE = "deploy/examples/cloudnativepg";
const version = (JSON.parse(readText("package.json")) as { version: string }).version;
const port = Number(SETTINGS.port.byDefault);
const hasRoute = (address: string): boolean =>
  routes.some(({ method, path: known }) => method === "GET" && known === address);
const { about, values, schema } = chart();
const templates = readTemplates();
const documents = templates.flatMap((template) => template.documents);
const kind = (name: string, component = ""): Data =>
  documents.find((one) => one.kind === name && String(one.metadata.name).endsWith(component));
const validate = new Ajv({ strict: true, allErrors: true, allowUnionTypes: true }).compile(schema);
const fits = (given: Data): boolean => validate(overlay(values, given));
const known = (names: Iterable<string>, role: "serve" | "agent"): void => {
  for (const name of names) assert.ok(KNOWN_VARIABLES[role].has(name), `${name} is no setting of ${role}`);
};

/** Every object of the values that has keys of its own, with its schema: not the maps of the user. */
function* objectsOf(
  given: Data,
  part: Data,
  at: string[],
): Generator<{ at: string[]; given: Data; part: Data }> {
  const known = resolveSchema(schema, part);
  if (!isObject(given) || known?.properties === undefined) return;
  yield { at, given, part: known };
  for (const [key, value] of Object.entries(given))
    yield* objectsOf(value, known.properties[key], [...at, key]);
}

const nest = (at: readonly string[], value: Data): Data =>
  at.reduceRight<Data>((inner, key) => ({ [key]: inner }), value);

suite("the values of the chart", () => {
  test("have the version of the product, and fit their schema", () => {
    assert.deepEqual([about.version, about.appVersion], [version, version]);
    assert.ok(fits({}), JSON.stringify(validate.errors));
    assert.equal(values.servers.blobs, "bucket", "a volume that all servers share is rare");
  });

  test("and the schema name the same keys", () => {
    for (const { at, given, part } of objectsOf(values, schema, [])) {
      const inSchema = Object.keys(part.properties).filter((key) => key !== "global");
      // What is empty by default is explained in a comment.
      if (Object.keys(given).length === 0) continue;
      assert.deepEqual(Object.keys(given).sort(), inSchema.sort(), at.join("."));
    }
  });

  test("are refused when a key is misspelt, at every level", () => {
    const objects = [...objectsOf(values, schema, [])];
    assert.ok(objects.length > 20);
    for (const { at } of objects)
      assert.ok(!fits(nest([...at, "misspelt"], "x")), `${at.join(".")}.misspelt is taken`);
  });

  test("are refused where they cannot be meant", () => {
    const refused: Data[] = [
      { publicUrl: "keelson.example.com" },
      { servers: { replica: 3 } },
      { servers: { blobs: "Bucket" } },
      { servers: { config: { S3_BUCKET: 7 } } },
      { servers: { config: { "s3-bucket": "keelson" } } },
      { servers: { extraEnv: [{ NAME: "A" }] } },
      { servers: { extraEnv: { A: "b" } } },
      { servers: { serviceAccount: { annotation: { a: "b" } } } },
      { servers: { podDisruptionBudget: { maxUnavailable: "one" } } },
      { agents: { keda: { workerGroupId: "default" } } },
      { agents: { keda: { fallback: { replicas: 4 } } } },
      { agents: { metrics: { port: 0 } } },
      { migrations: { job: { enable: true } } },
      { migrations: { enabled: true } },
      { serviceMonitor: { interval: 30 } },
      { httpRoute: { parentRefs: [{ namespace: "gateways" }] } },
      { database: { ca: { secret: "ca" } } },
      { podMonitor: { enabled: true } },
    ];
    for (const one of refused) assert.ok(!fits(one), JSON.stringify(one));
    const taken: Data[] = [
      { servers: { podDisruptionBudget: { maxUnavailable: "25%" } } },
      { servers: { extraEnv: [{ name: "A", valueFrom: { secretKeyRef: { name: "a", key: "b" } } }] } },
      {
        agents: {
          keda: { fallback: { failureThreshold: 4, replicas: 4, behavior: "currentReplicasIfHigher" } },
        },
      },
      { httpRoute: { timeouts: { request: "0s" } } },
      { extraObjects: [{ kind: "ConfigMap" }] },
    ];
    for (const one of taken) assert.ok(fits(one), JSON.stringify(validate.errors));
  });
});

suite("the templates of the chart", () => {
  test("open and close every block", () => {
    for (const { name, text } of templates) {
      const opened = text.match(/\{\{-? *(if|range|with|define) /g)?.length ?? 0;
      assert.equal(text.match(/\{\{-? *end *-?\}\}/g)?.length ?? 0, opened, name);
    }
  });

  test("use only values that there are, and all that there are", () => {
    const used = new Set<string>();
    for (const { name, text } of templates)
      for (const [, path = ""] of text.matchAll(/\.Values\.([A-Za-z][A-Za-z0-9.]*)/g)) {
        let found: Data = values;
        for (const part of path.split(".")) found = found?.[part];
        assert.notEqual(found, undefined, `${name} uses .Values.${path}`);
        used.add(path);
      }
    const isUsed = (at: string[]): boolean =>
      at.some((_, index) => used.has(at.slice(0, index + 1).join(".")));
    for (const { at, given } of objectsOf(values, schema, []))
      for (const [key, value] of Object.entries(given))
        if (!isObject(value)) assert.ok(isUsed([...at, key]), `no template uses ${[...at, key].join(".")}`);
  });

  test("include only what is defined", () => {
    const all = templates.map(({ text }) => text).join("\n");
    const defined = new Set([...all.matchAll(/define "([^"]+)"/g)].map(([, name = ""]) => name));
    const included = new Set([...all.matchAll(/include "([^"]+)"/g)].map(([, name = ""]) => name));
    assert.deepEqual([...included].sort(), [...defined].sort());
  });

  test("set only variables that exist", () => {
    known(Object.keys(values.servers.config), "serve");
    known(
      Object.keys(values.servers.secrets).map((name) => `${name}_FILE`),
      "serve",
    );
    known(Object.keys(values.agents.config), "agent");
    const set = { serve: new Set<string>(), agent: new Set<string>() };
    for (const { name, text } of templates)
      for (const [, variable = ""] of text.matchAll(/- name: ([A-Z][A-Z0-9_]+)$/gm))
        set[name === "agents.yaml" ? "agent" : "serve"].add(variable);
    assert.ok(set.serve.has("DATABASE_URL_FILE") && set.agent.has("KEELSON_URL"));
    known(set.serve, "serve");
    known(set.agent, "agent");
  });

  test("start roles that there are, without rights", () => {
    const pods = [
      [kind("Deployment", "servers"), "serve"],
      [kind("Deployment", "agents"), "agent"],
    ] as const;
    for (const [{ spec: deployment }, role] of pods) {
      const { spec } = deployment.template;
      assert.deepEqual(spec.containers[0].args, [role]);
      assert.equal(spec.enableServiceLinks, false, "KEELSON_PORT of a service is no setting");
      assert.equal(spec.automountServiceAccountToken, false);
    }
    assert.match(templates.find(({ name }) => name === "_servers.tpl")?.text ?? "", /\nargs: \[migrate\]\n/);
  });

  test("probe routes that there are, on the port that there is", () => {
    const [container] = kind("Deployment", "servers").spec.template.spec.containers;
    assert.deepEqual(container.ports, [{ name: "http", containerPort: port }]);
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
      assert.ok(hasRoute(container[probe].httpGet.path), probe);
      assert.equal(container[probe].httpGet.port, "http");
    }
    const live = container.livenessProbe.httpGet.path;
    assert.equal(live, "/healthz", "an outage of the database restarts nobody");
    assert.equal(kind("Service").spec.ports[0].targetPort, "http");
    assert.ok(hasRoute("/metrics") && hasRoute("/readyz"));
  });

  test("let servers answer until those who call them have noticed that they go", () => {
    const { lifecycle } = kind("Deployment", "servers").spec.template.spec.containers[0];
    assert.equal(lifecycle, undefined, "a pause before the signal is one in which connections are kept");
    const drainSeconds = Number(/^(\d+)s$/.exec(values.servers.config.KEELSON_DRAIN_DELAY)?.[1]);
    assert.ok(drainSeconds >= 5 && values.servers.terminationGracePeriodSeconds > 2 * drainSeconds);
  });

  test("give agents one secret and time to drain", () => {
    const { spec } = kind("Deployment", "agents").spec.template;
    const secret = spec.volumes.find((volume: Data) => volume.secret !== undefined).secret;
    assert.deepEqual(secret.items, [{ key: "enrollment_token", path: "enrollment_token" }]);
    assert.ok(values.agents.terminationGracePeriodSeconds > DRAIN_SECONDS);
    assert.equal(spec.shareProcessNamespace, true);
    assert.equal(kind("ScaledObject").spec.triggers[0].metadata.valueLocation, "recommended_workers");
  });

  test("give the jobs of the monitors the names that alerts and dashboard ask for", () => {
    const jobOf = (monitor: Data): string =>
      (monitor.spec.endpoints ?? monitor.spec.podMetricsEndpoints)[0].relabelings[0].replacement;
    const asked = new Set(
      [...readText("deploy/prometheus/alerts.yaml").matchAll(/job="([^"]+)"/g)].map(([, job = ""]) => job),
    );
    asked.add("keelson-agent");
    assert.deepEqual([kind("ServiceMonitor"), kind("PodMonitor")].map(jobOf).sort(), [...asked].sort());
  });
});

suite("the example with CloudNativePG", () => {
  const cluster = readYaml(`${EXAMPLE}/cluster.yaml`);
  const given = readYaml(`${EXAMPLE}/values.yaml`);
  const { name } = cluster.metadata;
  const { database, owner } = cluster.spec.bootstrap.initdb;

  test("waits for one of two standbys", () => {
    assert.equal(cluster.spec.instances, 3);
    assert.deepEqual(cluster.spec.postgresql.synchronous, { method: "any", number: 1 });
    const { servers } = overlay(values, given);
    const connections = (servers.replicas + 1) * (Number(SETTINGS.poolSize.byDefault) + 1);
    assert.ok(Number(cluster.spec.postgresql.parameters.max_connections) > 2 * connections);
  });

  test("gives Keelson the URL, the password and the authority of that cluster", () => {
    assert.ok(fits(given), JSON.stringify(validate.errors));
    known(Object.keys(given.servers.config), "serve");
    const [password, url] = given.servers.extraEnv;
    assert.deepEqual(password.valueFrom.secretKeyRef, { name: `${name}-app`, key: "password" });
    assert.equal(given.database.ca.secretName, `${name}-ca`);
    assert.equal(url.name, "DATABASE_URL");
    const address = new URL(url.value.replace(`$(${password.name})`, "secret"));
    assert.equal(address.host, `${name}-rw:5432`);
    assert.deepEqual([address.username, address.pathname], [owner, `/${database}`]);
    assert.equal(address.searchParams.get("sslmode"), "verify-full");
    const mounted = /mountPath: (\/run\/database)\n/.exec(
      readText("deploy/helm/keelson/templates/_servers.tpl"),
    );
    assert.equal(address.searchParams.get("sslrootcert"), `${mounted?.[1]}/ca.crt`);
  });
});
