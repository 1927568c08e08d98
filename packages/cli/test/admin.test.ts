import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { enrollWorker } from "../../server/test/support/raw-worker.ts";
import { addUser, firstOrganization } from "../../server/test/support/tenancy.ts";
import { createFolder, keelson, type Outcome } from "./support.ts";

suite("administration on the command line", () => {
  let server: ApiServer;
  let folder: Awaited<ReturnType<typeof createFolder>>;
  let organization: string;
  before(async () => {
    // It stands still, so that no worker looks lost.
    const now = Date.now();
    server = await startApiServer({ clock: () => now });
    folder = await createFolder();
    organization = encodeId("org", await firstOrganization(server));
    for (const name of ["A", "B", "C"])
      await server.call("PUT", `/api/secrets/${name}`, { body: { value: "x" } });
  });
  after(async () => {
    await server.stop();
    await folder[Symbol.asyncDispose]();
  });

  const admin = (...args: string[]): Promise<Outcome> =>
    keelson(args, {
      cwd: folder.path,
      env: {
        KEELSON_URL: server.url,
        KEELSON_ADMIN_KEY: server.credentials.admin_key,
        HOME: folder.path,
      },
    });
  const written = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await admin(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };

  test("an agent that is not let in says why, without a stack", async () => {
    const { code, stderr } = await keelson(["agent"], {
      cwd: folder.path,
      env: {
        KEELSON_URL: server.url,
        KEELSON_ENROLLMENT_TOKEN: `kl_enr_${"0".repeat(38)}`,
        KEELSON_DATA_DIR: join(folder.path, "agent"),
        HOME: folder.path,
      },
    });
    assert.equal(code, 3, stderr);
    assert.match(stderr, /^error: The enrollment token is unknown, expired or revoked\. .*\n$/m);
    assert.doesNotMatch(stderr, /^ +at /m);
  });

  test("workers are listed, shown and drained", async () => {
    const { id } = await enrollWorker(server);
    assert.match(await written("worker", "list", "--status", "active"), new RegExp(`${id}.*active.*0/100`));
    assert.match(await written("worker", "get", id), /status +active/);
    assert.match(await written("worker", "drain", id), /is drained\n$/);
    assert.equal(JSON.parse(await written("worker", "get", id, "--json")).status, "drained");
    assert.equal((await admin("worker", "get", "wkr_none")).code, 4);
  });

  test("the isolation of workers is listed, with why there is no namespace tier", async () => {
    const { id, call } = await enrollWorker(server);
    const said = { isolation: "process", isolation_problem: "bubblewrap is not installed." };
    const capacity = { executions: 1, workspaces: 1 };
    const body = { name: "weak", capacity, worker_protocol_version: 1, ...said };
    assert.equal((await call("POST", "/register", body)).status, 200);
    const { stdout, stderr } = await admin("worker", "list", "--status", "registered");
    assert.match(stdout, new RegExp(`ISOLATION.*\\n${id} .* process `));
    assert.equal(stderr, "Worker weak has no namespace isolation. bubblewrap is not installed.\n");
    const [listed] = JSON.parse(await written("worker", "list", "--status", "registered", "--json")).workers;
    assert.deepEqual(said, { isolation: listed.isolation, isolation_problem: listed.isolation_problem });
    assert.match(await written("worker", "get", id), /isolation_problem +bubblewrap is not installed\./);
    const ofTasks = { ...said, task_isolation: "process" };
    const both = { ...body, ...ofTasks, task_isolation_problem: said.isolation_problem };
    assert.equal((await call("POST", "/register", both)).status, 200);
    assert.equal((await admin("worker", "list", "--status", "registered")).stderr, stderr);
    const other = {
      ...body,
      ...ofTasks,
      isolation: "namespace",
      task_isolation_problem: "Run chmod o+x /root.",
    };
    assert.equal((await call("POST", "/register", other)).status, 200);
    assert.equal(
      (await admin("worker", "list", "--status", "registered")).stderr,
      "Worker weak runs no tasks with namespace isolation. Run chmod o+x /root.\n",
    );
  });

  test("events are listed and exported", async () => {
    const list = await written("audit", "list", "--organization", organization, "--action", "secrets.put");
    assert.equal(list.split("\n").filter((line) => line.includes("secrets.put")).length, 3);
    const lines = (await written("audit", "export", "--organization", organization)).trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).sequence),
      [1, 2, 3],
    );
    const rest = await written("audit", "export", "--organization", organization, "--cursor", "2");
    assert.equal(rest, `${lines[2]}\n`);
  });

  test("a chain is verified without trust in the server, and against a head that was kept", async () => {
    const head = (await written("audit", "verify", "--organization", organization)).trim();
    assert.match(head, /^3:[0-9a-f]{64}$/);
    const ofOrganization = ["--organization", organization];
    assert.equal(await written("audit", "verify", ...ofOrganization, "--head", head), `${head}\n`);
    const other = await admin("audit", "verify", ...ofOrganization, "--head", `3:${"0".repeat(64)}`);
    assert.deepEqual([other.code, /another than the one that was kept/.test(other.stderr)], [1, true]);
    const later = await admin("audit", "verify", ...ofOrganization, "--head", `9:${"0".repeat(64)}`);
    assert.deepEqual([later.code, /is not there any more/.test(later.stderr)], [1, true]);
    assert.equal((await admin("audit", "verify", "--head", "soon")).code, 2);
  });

  test("an export that was changed is told from one that was not", async () => {
    const text = await written("audit", "export", "--organization", organization);
    const [first, second, third] = text.split("\n") as [string, string, string];
    const check = async (lines: string[]): Promise<Outcome> => {
      const path = join(folder.path, "audit.ndjson");
      await writeFile(path, lines.map((line) => `${line}\n`).join(""));
      return admin("audit", "verify", "--file", path, "--json");
    };
    for (const [lines, found] of [
      [[first, second, third], { code: 0, events: 3, fault: null }],
      [[second, third], { code: 0, events: 2, fault: null }],
      [[first, third], { code: 1, events: 1, fault: "missing" }],
      [[first, second.replace("secrets.put", "secrets.get")], { code: 1, events: 1, fault: "changed" }],
      [[third, first], { code: 1, events: 1, fault: "missing" }],
    ] as const) {
      const { code, stdout } = await check([...lines]);
      const report = JSON.parse(stdout);
      assert.deepEqual([code, report.events, report.valid], [found.code, found.events, found.code === 0]);
      if (found.fault !== null) assert.ok(report.fault.includes(found.fault), report.fault);
    }
  });

  test("someone who administers nothing is refused, and a missing key is told of", async () => {
    const env = { KEELSON_URL: server.url, HOME: folder.path };
    const owner = await addUser(server, "owner");
    const refused = await keelson(["worker", "list"], { env: { ...env, KEELSON_ADMIN_KEY: owner } });
    assert.equal(refused.code, 3);
    const missing = await keelson(["audit", "list"], { cwd: folder.path, env });
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /KEELSON_ADMIN_KEY/);
  });
});
