// Dockerfile, compose file and chart say nothing that the product does not know.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { Ajv } from "ajv";
import { SETTINGS } from "../packages/server/src/settings.ts";
import { routes } from "../packages/server/src/http/routes.ts";
import {
  chart,
  isCommand,
  KNOWN_VARIABLES,
  readDockerfile,
  readTemplates,
  readText,
  readYaml,
  root,
  type Data,
} from "./deploy/read-deployment.ts";

const DRAIN_SECONDS = 30;
const version = (JSON.parse(readText("package.json")) as { version: string }).version;
const port = Number(SETTINGS.port.byDefault);
const hasRoute = (address: string): boolean =>
  routes.some(({ method, path: known }) => method === "GET" && known === address);
const seconds = (text: string): number => Number(/^(\d+)s$/.exec(text)?.[1]);
const known = (names: Iterable<string>, role: "serve" | "agent"): void => {
  for (const name of names) assert.ok(KNOWN_VARIABLES[role].has(name), `${name} is no setting of ${role}`);
};

suite("the Dockerfile", () => {
  const all = readDockerfile();
  const of = (instruction: string): string[] =>
    all.filter(([name]) => name === instruction).map(([, text]) => text);

  test("runs an existing command as somebody who is not root, without a shell between", () => {
    assert.match(of("USER").at(-1) ?? "", /^[1-9]\d*:[1-9]\d*$/);
    const [entry, command] = [of("ENTRYPOINT"), of("CMD")].map(
      ([text]) => JSON.parse(text as string) as string[],
    );
    const main = path.relative("/app", entry?.[1] as string);
    assert.ok(existsSync(path.join(root, main.replace("dist", "src").replace(/\.js$/, ".ts"))), main);
    assert.ok(isCommand(command?.[0] as string));
  });

  test("sets only variables of a server, and shows its port", () => {
    const names = of("ENV").flatMap((text) => text.split(" ").map((part) => part.split("=", 1)[0] as string));
    known(
      names.filter((name) => name !== "NODE_ENV"),
      "serve",
    );
    assert.deepEqual(of("EXPOSE"), [String(port)]);
  });

  test("checks its health by a route, and copies what is there", () => {
    const [, address] = /process\.env\.PORT\}(\/[a-z]+)`/.exec(of("HEALTHCHECK")[0] ?? "") ?? [];
    assert.ok(hasRoute(address as string), address);
    const copied = of("COPY").flatMap((text) => /^--from=build \/app\/(\S+) /.exec(text)?.[1] ?? []);
    assert.ok(copied.length >= 4);
    for (const name of copied.filter((one) => one !== "node_modules"))
      assert.ok(existsSync(path.join(root, name)), name);
  });

  test("is given the sources and nothing that is secret or large", () => {
    const lines = readText(".dockerignore").split("\n");
    assert.equal(
      lines.find((line) => line !== "" && !line.startsWith("#")),
      "*",
    );
    for (const name of ["packages", "migrations", "package-lock.json"])
      assert.ok(lines.includes(`!${name}`), name);
  });
});

suite("compose.yaml", () => {
  const { services, secrets, volumes } = readYaml("compose.yaml");
  const entries = Object.entries(services) as [string, Data][];
  const roleOf = (service: Data): "serve" | "agent" | null => service.command?.[0] ?? null;

  test("names only settings, commands, secrets, volumes and services that exist", () => {
    for (const [name, service] of entries) {
      const role = roleOf(service);
      if (role !== null) {
        assert.ok(isCommand(role), name);
        known(Object.keys(service.environment), role);
      }
      for (const secret of service.secrets ?? []) assert.ok(secret in secrets, secret);
      for (const volume of service.volumes ?? [])
        assert.ok((volume.split(":")[0] as string) in volumes, volume);
      for (const other of Object.keys(service.depends_on ?? {})) {
        assert.ok(other in services, other);
        assert.ok(services[other].healthcheck.test !== undefined, `${other} says when it is healthy`);
      }
      for (const [variable, value] of Object.entries<string>(service.environment ?? {}))
        if (variable.endsWith("_FILE"))
          assert.ok(service.secrets.includes(path.basename(value)), `${name} is given ${value}`);
    }
  });

  test("two servers share blobs and are healthy when they are ready", () => {
    const servers = entries
      .filter(([, service]) => roleOf(service) === "serve")
      .map(([, service]) => service);
    assert.equal(servers.length, 2);
    for (const server of servers) {
      assert.deepEqual(server.volumes, ["data:/data"]);
      const [, shown, address] = /127\.0\.0\.1:(\d+)(\/\w+)/.exec(server.healthcheck.test.at(-1)) ?? [];
      assert.equal(Number(shown), port);
      assert.equal(address, "/readyz");
      assert.ok(
        server.ports.every((text: string) => text.startsWith("127.0.0.1:") && text.endsWith(`:${port}`)),
      );
    }
  });

  test("an agent is given nothing of the servers' and time to drain", () => {
    const { agent } = services;
    assert.deepEqual(agent.secrets, ["enrollment_token"]);
    assert.ok(!agent.volumes.some((volume: string) => volume.startsWith("data:")));
    assert.ok(seconds(agent.stop_grace_period) > DRAIN_SECONDS);
    assert.equal(agent.healthcheck.disable, true);
    assert.equal(agent.init, true);
    assert.equal(new URL(agent.environment.KEELSON_URL).port, String(port));
  });
});

suite("the chart", () => {
  const { chart: about, values, schema } = chart();
  const templates = readTemplates();
  const documents = templates.flatMap((template) => template.documents).filter((one) => one !== null);
  const kind = (name: string, component = ""): Data =>
    documents.find((one) => one.kind === name && String(one.metadata.name).endsWith(component));

  test("has the version of the product, and values that fit their schema", () => {
    assert.deepEqual([about.version, about.appVersion], [version, version]);
    const validate = new Ajv({ strict: true, allErrors: true }).compile(schema);
    const fits = (given: Data): boolean => validate(given);
    assert.ok(fits(values), JSON.stringify(validate.errors));
    assert.ok(
      !fits({ ...values, servers: { ...values.servers, replica: 1 } }),
      "a misspelt value is refused",
    );
    assert.ok(!fits({ ...values, publicUrl: "keelson.example.com" }));
  });

  test("opens and closes every block and uses only values that there are", () => {
    for (const { name, text } of templates) {
      const opened = text.match(/\{\{-? *(if|range|with|define) /g)?.length ?? 0;
      assert.equal(text.match(/\{\{-? *end *-?\}\}/g)?.length ?? 0, opened, name);
      for (const [, used] of text.matchAll(/\.Values\.([A-Za-z.]+)/g)) {
        const parts = (used as string).replace(/\.$/, "").split(".");
        let found: Data = values;
        for (const part of parts) found = found?.[part];
        assert.notEqual(found, undefined, `${name} uses .Values.${used}`);
      }
    }
  });

  test("sets only variables that exist", () => {
    known(Object.keys(values.servers.config), "serve");
    known(
      Object.keys(values.servers.secrets).map((name) => `${name}_FILE`),
      "serve",
    );
    known(Object.keys(values.agents.config), "agent");
    for (const [component, role] of [
      ["servers", "serve"],
      ["agents", "agent"],
    ] as const) {
      const { spec } = kind("Deployment", component).spec.template;
      const [container] = spec.containers;
      assert.deepEqual(container.args, [role]);
      known(
        container.env.map(({ name }: Data) => name).filter((name: string) => !name.startsWith("x")),
        role,
      );
      assert.equal(spec.enableServiceLinks, false, "KEELSON_PORT of a service is no setting");
      assert.equal(spec.automountServiceAccountToken, false);
      assert.equal(spec.securityContext.runAsNonRoot, true);
      const mounted = new Set(spec.volumes.map(({ name }: Data) => name));
      for (const { name } of container.volumeMounts) assert.ok(mounted.has(name), name);
    }
  });

  test("probes routes that there are, on the port that there is", () => {
    const [container] = kind("Deployment", "servers").spec.template.spec.containers;
    assert.deepEqual(container.ports, [{ name: "http", containerPort: port }]);
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
      assert.ok(hasRoute(container[probe].httpGet.path), probe);
      assert.equal(container[probe].httpGet.port, "http");
    }
    assert.equal(
      container.livenessProbe.httpGet.path,
      "/healthz",
      "an outage of the database restarts nobody",
    );
    assert.equal(kind("Service").spec.ports[0].targetPort, "http");
  });

  test("gives agents one secret and time to drain", () => {
    const { spec } = kind("Deployment", "agents").spec.template;
    const secret = spec.volumes.find((volume: Data) => volume.secret !== undefined).secret;
    assert.deepEqual(secret.items, [{ key: "enrollment_token", path: "enrollment_token" }]);
    assert.ok(values.agents.terminationGracePeriodSeconds > DRAIN_SECONDS);
    assert.equal(spec.shareProcessNamespace, true);
    assert.equal(kind("ScaledObject").spec.triggers[0].metadata.valueLocation, "recommended_workers");
  });
});
