import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Client, type ApiError } from "@keelson/sdk";
import { fromWire, toWire, type Shape } from "../src/client/camel-cased.ts";
import * as shapes from "../src/client/wire-shapes.ts";
import { schemaOf, shapeNames } from "../../../scripts/shapes/wire-shapes.ts";
import { answerBySchema, POISON, samplesOf } from "./support/wire-samples.ts";

const shapeOf = (name: string): Shape =>
  (shapes as unknown as Record<string, Shape>)[`${name[0]?.toLowerCase()}${name.slice(1)}Shape`] as Shape;

/** Where an answer has a key of the wire's spelling, but for what is a user's. */
function wireKeys(value: unknown, path = "$"): string[] {
  if (typeof value !== "object" || value === null) return [];
  if (JSON.stringify(value) === JSON.stringify(POISON)) return [];
  if (Array.isArray(value)) return value.flatMap((item, i) => wireKeys(item, `${path}[${i}]`));
  return Object.entries(value).flatMap(([key, item]) => [
    ...(key.includes("_") && key !== "a_name" ? [`${path}.${key}`] : []),
    ...wireKeys(item, `${path}.${key}`),
  ]);
}

/** How many pieces of poison are in a value. */
const poisonIn = (value: unknown): number =>
  JSON.stringify(value ?? null).split(JSON.stringify(POISON)).length - 1;

suite("each object of the wire", () => {
  for (const name of shapeNames)
    test(`${name} is camelCase, keeps what is a user's, and can be written back`, () => {
      for (const sample of samplesOf(schemaOf(name))) {
        const read = fromWire(shapeOf(name), sample);
        assert.deepEqual(wireKeys(read), []);
        assert.equal(poisonIn(read), poisonIn(sample));
        assert.deepEqual(toWire(shapeOf(name), read), sample);
        assert.deepEqual(toWire(shapeOf(name), sample), sample, "what is of the wire already stays");
      }
    });
});

type Answers = Record<string, (client: Client) => unknown>;

async function all(source: AsyncIterable<unknown>): Promise<unknown[]> {
  const items = [];
  for await (const item of source) items.push(item);
  return items;
}

const place = { projectId: "p", environmentId: "e" };
const definition = { task: "t", cron: "* * * * *" };
const manifest = { tasks: [{ id: "t" }] };

const ANSWERS: Answers = {
  "tasks.list": (c) => all(c.tasks.list()),
  "tasks.get": (c) => c.tasks.get("t"),
  "tasks.start": (c) => c.tasks.start("t", POISON),
  "tasks.startBatch": (c) => c.tasks.startBatch([{ task: "t" }, { task: "t" }]),
  "actors.list": (c) => all(c.actors.list()),
  "actors.get": (c) => c.actors.get("a"),
  "actors.start": (c) => c.actors.start("a", POISON),
  "runs.get": (c) => c.runs.get("r"),
  "runs.list": (c) => all(c.runs.list()),
  "runs.events": async (c) => [
    await all(c.runs.events("r")),
    await all(c.runs.events("r", { follow: true })),
  ],
  "runs.calls": (c) => all(c.runs.calls("r")),
  "runs.logs": async (c) => [await all(c.runs.logs("r")), await all(c.runs.logs("r", { follow: true }))],
  "runs.logSnapshot": (c) => c.runs.logSnapshot("r"),
  "runs.usage": (c) => c.runs.usage("r"),
  "runs.cancel": (c) => c.runs.cancel("r"),
  "runs.metrics": (c) => c.runs.metrics(),
  "runs.entrypointMetrics": (c) => c.runs.entrypointMetrics(),
  "errorGroups.list": (c) => all(c.errorGroups.list()),
  "errorGroups.get": (c) => c.errorGroups.get("e"),
  "errorGroups.resolve": (c) => c.errorGroups.resolve("e"),
  "errorGroups.mute": (c) => c.errorGroups.mute("e"),
  "errorGroups.open": (c) => c.errorGroups.open("e"),
  "runs.bulkActions.create": (c) => c.runs.bulkActions.create({ action: "cancel", filter: { tag: "t" } }),
  "runs.bulkActions.preview": (c) => c.runs.bulkActions.preview({ action: "replay", runIds: ["r"] }),
  "runs.bulkActions.list": (c) => all(c.runs.bulkActions.list()),
  "runs.bulkActions.get": (c) => c.runs.bulkActions.get("b"),
  "runs.bulkActions.cancel": (c) => c.runs.bulkActions.cancel("b"),
  "runs.bulkActions.items": (c) => all(c.runs.bulkActions.items("b")),
  "sessions.create": (c) => c.sessions.create({ actor: "a" }),
  "sessions.startAndWait": (c) => c.sessions.startAndWait({ actor: "a" }),
  "sessions.list": (c) => all(c.sessions.list()),
  "sessions.get": (c) => c.sessions.get("s"),
  "sessions.getByExternalId": (c) => c.sessions.getByExternalId("s"),
  "sessions.update": (c) => c.sessions.update("s", {}),
  "sessions.close": (c) => c.sessions.close("s"),
  "sessions.cancel": (c) => c.sessions.cancel("s"),
  "sessions.runs": (c) => all(c.sessions.runs("s")),
  "sessions.streams": (c) => all(c.sessions.streams("s")),
  "sessions.messages": (c) => all(c.sessions.messages("s")),
  "sessions.interrupt": (c) => c.sessions.interrupt("s", "m"),
  "sessions.state": (c) => c.sessions.state("s"),
  "sessions.files.upload": (c) => c.sessions.files.upload("s", "text"),
  "sessions.files.list": (c) => all(c.sessions.files.list("s")),
  "sessions.files.get": (c) => c.sessions.files.get("s", "f"),
  "sessions.usage": (c) => c.sessions.usage("s"),
  "sessions.setState": (c) => c.sessions.setState("s", POISON),
  "sessions.send": (c) => c.sessions.send("s", POISON),
  "sessions.withdraw": (c) => c.sessions.withdraw("s", 1),
  "sessions.append": (c) => c.sessions.append("s", POISON),
  "sessions.read": (c) => c.sessions.read("s"),
  "sessions.records": async (c) => all(c.sessions.records("s", { follow: true })),
  "tokens.create": (c) => c.tokens.create(),
  "tokens.list": (c) => all(c.tokens.list()),
  "tokens.get": (c) => c.tokens.get("t"),
  "tokens.complete": (c) => c.tokens.complete("t", POISON),
  "tokens.cancel": (c) => c.tokens.cancel("t"),
  "publicAccessTokens.create": (c) =>
    c.publicAccessTokens.create({ type: "session.input.send", session: "s" }),
  "deployments.get": (c) => c.deployments.get("d"),
  "deployments.uploadBundle": (c) => c.deployments.uploadBundle("0", new Uint8Array()),
  "deployments.create": (c) => c.deployments.create({ manifest, bundleDigest: "0" }),
  "deployments.list": (c) => all(c.deployments.list()),
  "deployments.current": (c) => c.deployments.current(),
  "deployments.events": (c) => all(c.deployments.events("d")),
  "deployments.promote": (c) => c.deployments.promote("d"),
  "schedules.put": (c) => c.schedules.put({ deduplicationKey: "k", ...definition }),
  "schedules.list": (c) => all(c.schedules.list()),
  "schedules.get": (c) => c.schedules.get("s"),
  "schedules.replace": (c) => c.schedules.replace("s", definition),
  "schedules.activate": (c) => c.schedules.activate("s"),
  "schedules.deactivate": (c) => c.schedules.deactivate("s"),
  "schedules.occurrences": (c) => all(c.schedules.occurrences("s")),
  "secrets.set": (c) => c.secrets.set("A", "x"),
  "secrets.list": (c) => all(c.secrets.list()),
  "secrets.get": (c) => c.secrets.get("A"),
  "secrets.rotate": (c) => c.secrets.rotate("s", "x"),
  "secrets.revoke": (c) => c.secrets.revoke("s"),
  "workspaces.create": (c) => c.workspaces.create(),
  "workspaces.list": (c) => all(c.workspaces.list()),
  "workspaces.get": (c) => c.workspaces.get("w"),
  "workspaces.update": (c) => c.workspaces.update("w", {}),
  "workspaces.delete": (c) => c.workspaces.delete("w"),
  "workspaces.materialize": (c) => c.workspaces.materialize("w"),
  "workspaces.recover": (c) => c.workspaces.recover("w"),
  "workspaces.discard": (c) => c.workspaces.discard("w", { confirm: true }),
  "workspaces.files.list": (c) => all(c.workspaces.files.list("w")),
  "workspaces.files.stat": (c) => c.workspaces.files.stat("w", "f"),
  "workspaces.files.write": (c) => c.workspaces.files.write("w", "f", ""),
  "workspaces.files.delete": (c) => c.workspaces.files.delete("w", "f"),
  "workspaces.versions.list": (c) => all(c.workspaces.versions.list("w")),
  "workspaces.versions.get": (c) => c.workspaces.versions.get("w", "v"),
  "workspaces.versions.diff": (c) => all(c.workspaces.versions.diff("w", "v")),
  "workspaces.versions.restore": (c) => c.workspaces.versions.restore("w", "v"),
  "workspaces.exec": async (c) => {
    const exec = await c.workspaces.exec("w", ["ls"]);
    return [await exec.get(), await exec.signal("SIGTERM"), await exec.wait(), await exec.result()];
  },
  "workspaces.execs.list": (c) => all(c.workspaces.execs.list("w")),
  "workspaces.execs.get": (c) => c.workspaces.execs.get("w", "x"),
  "workspaces.pty": async (c) => {
    const pty = await c.workspaces.pty("w");
    return [await pty.get(), await pty.resize(1, 1), await pty.close(), await pty.wait()];
  },
  "workspaces.ptys.list": (c) => all(c.workspaces.ptys.list("w")),
  "workspaces.ptys.get": (c) => c.workspaces.ptys.get("w", "p"),
  "sandboxes.list": (c) => all(c.sandboxes.list()),
  "sandboxes.get": (c) => c.sandboxes.get("s"),
  "sandboxes.createWorkspace": (c) => c.sandboxes.createWorkspace("s"),
  "account.get": (c) => c.account.get(),
  "devices.start": (c) => c.devices.start(),
  "devices.token": (c) => c.devices.token("d"),
  "projects.list": (c) => all(c.projects.list()),
  "projects.get": (c) => c.projects.get("p"),
  "projects.create": (c) => c.projects.create({ name: "p" }),
  "projects.update": (c) => c.projects.update("p", {}),
  "environments.list": (c) => all(c.environments.list("p")),
  "environments.create": (c) => c.environments.create("p", { name: "e" }),
  "environments.update": (c) => c.environments.update(place, {}),
  "apiKeys.list": (c) => all(c.apiKeys.list(place)),
  "apiKeys.create": (c) => c.apiKeys.create(place, { name: "k" }),
  "members.list": (c) => all(c.members.list()),
  "members.update": (c) => c.members.update("u", { role: "viewer" }),
  "invitations.list": (c) => all(c.invitations.list()),
  "invitations.create": (c) => c.invitations.create({ email: "a@b.c", role: "viewer" }),
  "invitations.accept": (c) => c.invitations.accept("t"),
  "workers.list": (c) => all(c.workers.list()),
  "workers.get": (c) => c.workers.get("w"),
  "workers.drain": (c) => c.workers.drain("w"),
  "auditEvents.list": (c) => all(c.auditEvents.list()),
};

/** Methods whose answer is nothing, bytes, or what other methods here answer. */
const WITHOUT = [
  ...[
    "account.signOut",
    "apiKeys.revoke",
    "invitations.revoke",
    "members.remove",
    "schedules.delete",
    "secrets.delete",
  ],
  ...["workspaces.files.read", "workspaces.files.readText", "auditEvents.export"],
  ...["sessions.files.read", "sessions.files.stream"],
  ...["sessions.open", "workspaces.open", "workspaces.execs.open", "workspaces.ptys.open"],
  // They ask again until something is so, by calls that are above.
  ...[
    "runs.wait",
    "runs.bulkActions.wait",
    "deployments.waitUntilChecked",
    "workspaces.connect",
    "workspaces.stop",
  ],
  // All of a batch is told by its records; counts are by status, and a status is a value.
  ...["sessions.sendBatch", "sessions.appendBatch", "runs.counts"],
];

const methodsOf = (api: object, prefix: string): string[] =>
  Object.entries(api).flatMap(([name, value]) =>
    typeof value === "function" ? [`${prefix}${name}`] : methodsOf(value as object, `${prefix}${name}.`),
  );

const connect = (fetch: typeof globalThis.fetch, further = {}): Client =>
  new Client({ url: "http://keelson.example", apiKey: "k", maxRetries: 0, fetch, ...further });

suite("each answer of the client", () => {
  test("every method is here", () => {
    assert.deepEqual(methodsOf(connect(fetch), "").sort(), [...Object.keys(ANSWERS), ...WITHOUT].sort());
  });

  for (const [name, ask] of Object.entries(ANSWERS))
    test(`client.${name}`, async () => {
      for (let pick = 0; pick < 4; pick += 1) {
        const answer = await ask(connect(answerBySchema(pick)));
        assert.ok(answer !== null && typeof answer === "object" && Object.keys(answer).length > 0);
        assert.deepEqual(wireKeys(answer), []);
      }
    });
});

test("an unknown field of a newer server is spelled by the same rule, and what it holds is not touched", () => {
  const run = fromWire(shapes.runShape, { new_field: { inner_field: 1 }, retry: { new_option: true } });
  assert.deepEqual(run, { newField: { inner_field: 1 }, retry: { newOption: true } });
});

test("keys that objects have of themselves are keys like others", () => {
  const wire = JSON.parse(
    `{"constructor": {"a_b": 1}, "to_string": {"a_b": 1}, "hasOwnProperty": 1}`,
  ) as object;
  assert.deepEqual(fromWire(shapes.runShape, wire), {
    constructor: { a_b: 1 },
    toString: { a_b: 1 },
    hasOwnProperty: 1,
  });
});

test("the facts of events and errors are spelled alike, and what they hold is not touched", async () => {
  const event = fromWire(shapes.runEventShape, { attributes: { delay_ms: 5 } });
  assert.deepEqual(event.attributes, { delayMs: 5 });
  const body = {
    error: { code: "rate_limited", message: "m", request_id: "req", details: { waiting_bytes: POISON } },
  };
  const client = connect(
    async () => new Response(JSON.stringify(body), { status: 429, headers: { "retry-after": "2" } }),
  );
  await assert.rejects(client.runs.get("r"), (error: ApiError) => {
    assert.deepEqual(
      [error.requestId, error.retryAfterMs, error.details],
      ["req", 2_000, { waitingBytes: POISON }],
    );
    return true;
  });
});

test("who passes the API's JSON on is given the object of the wire", async () => {
  const wireObjects = new WeakMap<object, object>();
  const client = connect(answerBySchema(0), { wireObjects });
  const { items } = await client.runs.list().page();
  assert.deepEqual(wireObjects.get(items[0] as object), samplesOf(schemaOf("Run"))[0]);
});
