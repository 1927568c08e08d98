// Dockerfile and compose file say nothing that the product does not know.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { SETTINGS } from "../packages/server/src/settings.ts";
import { routes } from "../packages/server/src/http/routes.ts";
import {
  isCommand,
  KNOWN_VARIABLES,
  readDockerfile,
  readText,
  readYaml,
  root,
  type Data,
} from "./deploy/read-deployment.ts";

const DRAIN_SECONDS = 30;
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
    const main = path.relative("/app", entry?.at(-1) as string);
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
    const made = ["node_modules", "dist/staging/keelson/packages"];
    assert.deepEqual(copied.toSorted(), made.toSorted());
  });

  test("is given the sources and nothing that is secret or large", () => {
    const lines = readText(".dockerignore").split("\n");
    assert.equal(
      lines.find((line) => line !== "" && !line.startsWith("#")),
      "*",
    );
    const { scripts } = JSON.parse(readText("package.json")) as { scripts: Record<string, string> };
    const commands = of("RUN").flatMap((text) => text.split("&&").map((command) => command.trim()));
    const run = commands.map((command) => {
      const [, name = ""] = /^npm run (?:--silent )?(\S+)/.exec(command) ?? [];
      return scripts[name] ?? command;
    });
    // What the build runs, and what is in a package as it is.
    const files = run.flatMap((command) => command.match(/\bscripts\/\S+/g) ?? []);
    assert.ok(files.length > 0, run.join("\n"));
    for (const name of [...files, "packages", "migrations", "package-lock.json", "LICENSE"])
      assert.ok(lines.includes(`!${name.split("/")[0]}`), name);
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
      assert.ok(seconds(server.stop_grace_period) > 2 * seconds(server.environment.KEELSON_DRAIN_DELAY));
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
