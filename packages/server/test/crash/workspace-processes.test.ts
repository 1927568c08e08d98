// Commands and terminals in workspaces, from a call to the worker's process and back.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { bundleOf } from "./support/bundle.ts";
import { promoteWhenReady } from "./support/site.ts";
import { until } from "../support/until.ts";
import { startWorkspaceSite, type WorkspaceSite } from "./support/workspace-site.ts";

let site: WorkspaceSite;
before(async () => {
  site = await startWorkspaceSite();
  await site.startAgent();
});
after(() => site?.stop());

test("commands change files, every change is a version, and versions are read, compared and forked", async () => {
  const { id } = await site.create();
  const first = await site.exec(id, "echo a > x; mkdir -p d; echo b > d/y");
  assert.deepEqual([first.status, first.exit_code, first.error], ["exited", 0, null]);
  assert.equal((await site.act(id, "stop")).body.materialization.status, "stopped");
  assert.deepEqual(await site.files(id), ["directory d", "file x"]);
  assert.equal(await site.read(id, "d/y"), "b\n");

  const second = await site.exec(id, "cat x d/y; echo more >> x; rm d/y; ln -s x link");
  assert.deepEqual([second.out, second.status], ["a\nb\n", "exited"]);
  const old = `&source=version&version_id=${first.version_id}`;
  assert.deepEqual([await site.read(id, "x"), await site.read(id, "x", old)], ["a\nmore\n", "a\n"]);
  assert.equal((await site.get(id)).current_version_id, second.version_id);

  const nothing = await site.exec(id, "cat x; exit 3");
  assert.deepEqual([nothing.exit_code, nothing.version_id], [3, null]);

  const diff = await site.call(
    site.url,
    "GET",
    `/api/workspaces/${id}/versions/${second.version_id}/diff?base=${first.version_id}`,
  );
  assert.deepEqual(
    diff.body.changes.map(({ path, change }: { path: string; change: string }) => `${change} ${path}`),
    ["removed d/y", "added link", "modified x"],
    JSON.stringify(diff.body),
  );
  const fork = await site.create({ from_version_id: first.version_id });
  assert.equal((await site.exec(fork.id, "cat x d/y")).out, "a\nb\n");
});

test("a terminal is typed into, resized, read by cursor and closed", async () => {
  const { id } = await site.create();
  const pty = `/api/workspaces/${id}/pty`;
  const created = await site.call(site.url, "POST", pty, {
    body: { cols: 90, rows: 30 },
  });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const at = `${pty}/${created.body.id}`;
  const type = async (text: string): Promise<void> => {
    const { status, body } = await site.call(site.url, "POST", `${at}/input`, {
      body: { data: Buffer.from(text).toString("base64") },
    });
    assert.equal(status, 200, JSON.stringify(body));
  };
  let cursor = "0";
  let seen = "";
  const shows = (text: string): Promise<void> =>
    until(`the terminal shows ${JSON.stringify(text)}`, 20_000, async () => {
      const { status, body } = await site.call(site.url, "GET", `${at}/output?cursor=${cursor}`);
      assert.equal(status, 200, JSON.stringify(body));
      for (const { data } of body.chunks) seen += Buffer.from(data, "base64").toString();
      cursor = body.next_cursor ?? cursor;
      return seen.includes(text);
    });
  await type("stty size; echo made > by-hand\n");
  await shows("30 90");
  const resized = await site.call(site.url, "POST", `${at}/resize`, { body: { cols: 100, rows: 40 } });
  assert.equal(resized.status, 200, JSON.stringify(resized.body));
  await type("stty size\n");
  await shows("40 100");
  await type("exit 4\n");
  await until("the terminal has ended", 20_000, async () => (await site.process(at)).status === "exited");
  const ended = await site.process(at);
  assert.deepEqual([ended.exit_code, ended.version_id === null], [4, false]);
  assert.equal(await site.read(id, "by-hand"), "made\n");
});

test("standard input is given, and closed", async () => {
  const { id } = await site.create();
  const execs = `/api/workspaces/${id}/execs`;
  const { body } = await site.call(site.url, "POST", execs, { body: { command: ["cat"] } });
  const at = `${execs}/${body.id}`;
  for (const part of ["one\n", "two\n"]) {
    const { status } = await site.call(site.url, "POST", `${at}/stdin`, {
      body: { data: Buffer.from(part).toString("base64") },
    });
    assert.equal(status, 200);
  }
  await site.call(site.url, "POST", `${at}/stdin/close`);
  await until("cat has ended", 20_000, async () => (await site.process(at)).status === "exited");
  const { chunks } = (await site.call(site.url, "GET", `${at}/stdout`)).body;
  const text = chunks.map(({ data }: { data: string }) => Buffer.from(data, "base64").toString()).join("");
  assert.equal(text, "one\ntwo\n");
});

test("a name that is not UTF-8 is kept with its bytes as escapes, and named by the version", async () => {
  const { id } = await site.create();
  const made = await site.exec(
    id,
    String.raw`echo one > "$(printf 'caf\351')"; echo kept > kept; mkfifo pipe`,
  );
  assert.deepEqual([made.status, made.exit_code, made.error], ["exited", 0, null]);
  assert.deepEqual(await site.files(id), [String.raw`file caf\xe9`, "file kept"]);
  assert.equal(await site.read(id, String.raw`caf\xe9`), "one\n");
  const [version] = await site.versions(id);
  assert.equal(version.id, made.version_id);
  assert.deepEqual([version.renamed, version.renamed_count], [[String.raw`caf\xe9`], 1]);
  assert.deepEqual([version.left_out, version.left_out_count], [[], 0]);
  await site.act(id, "stop");
  assert.equal((await site.untilStatus(id, "stopped")).materialization.error, null);
});

test("a setup runs once, and what it made is where the next workspace begins", async () => {
  await declareSandboxes([
    {
      id: "built",
      setup: ['echo "built in $WHERE" > built.txt', "date +%N > when.txt"],
      env: { WHERE: "setup" },
    },
    { id: "broken", setup: ["true", "echo the reason >&2; exit 7"] },
  ]);
  const first = await site.create({ sandbox: "built" });
  assert.equal((await site.exec(first.id, "cat built.txt; echo $WHERE")).out, "built in setup\nsetup\n");
  assert.equal(await site.read(first.id, "built.txt"), "built in setup\n");
  const next = await site.create({ sandbox: "built" });
  assert.equal((await site.exec(next.id, "cat when.txt")).out, await site.read(first.id, "when.txt"));

  const broken = await site.create({ sandbox: "broken" });
  const refused = await site.exec(broken.id, "true");
  const { materialization } = await site.untilStatus(broken.id, "failed");
  assert.match(materialization.error.message, /command 2 of 2 ended with exit code 7.*the reason/s);
  assert.deepEqual([refused.status, refused.error.message], ["failed", materialization.error.message]);
});

async function declareSandboxes(sandboxes: object[]): Promise<void> {
  const bundle = bundleOf({});
  const digest = createHash("sha256").update(bundle).digest("hex");
  await site.call(site.url, "PUT", `/v1/deployment-bundles/${digest}`, { bytes: Buffer.from(bundle) });
  const { status, body } = await site.call(site.url, "POST", "/v1/deployments", {
    body: {
      manifest: { tasks: [], sandboxes },
      ...{ bundle_digest: digest, bundle_format_version: 1, worker_protocol_version: 1 },
    },
  });
  assert.equal(status, 201, JSON.stringify(body));
  await promoteWhenReady(site, body.id);
}
