// A process that is told in one breath that its run is parked, and that it is to suspend it.

import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { DurableCall } from "@keelson/contract";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";
import type { RunSink } from "../src/task-hosts/host-run.ts";
import { cleanUp } from "./support/clean-up.ts";
import { bundleSource } from "./support/sdk-bundle.ts";
import { beginRun, DEAF, startTaskHost } from "./support/start-task-host.ts";

const SOURCE = `import { task, wait } from "@keelson/sdk";
  task({ id: "waits", async run() { await wait.for("1h"); } });`;

/** What its run is: the first attempt of a run that has done nothing yet. */
const RUN = {
  entrypoint: { kind: "task", declaredId: "waits" },
  run: { id: "run_1", payload: null, attempt_number: 1, max_attempts: 1, tags: [], metadata: {} },
  ...{ secrets: {}, journal: [], waits: [], session: null, workspace: null },
  access: { url: "http://127.0.0.1:1", credential: "" },
};

test("a run that is asked to suspend itself together with the answer that it is parked does", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "keelson-parked-"));
  cleanUp(t, () => removeTestFolder(folder));
  const host = await startTaskHost(t, folder, (await bundleSource(SOURCE)).code);
  const asked = Promise.withResolvers<[id: number, call: DurableCall]>();
  const refused = Promise.withResolvers<"it goes on">();
  const sink: RunSink = {
    ...DEAF,
    call: (id, call) => asked.resolve([id, call]),
    awake: () => refused.resolve("it goes on"),
  };
  const run = beginRun(host, RUN, sink);
  const [id, call] = await asked.promise;
  assert.equal(call.kind === "waits" && call.parked, true);
  // It reads both at once.
  const group = -(host.pid as number);
  process.kill(group, "SIGSTOP");
  host.tell(["answer", run.n, id, { result: { parked: true, waits: [] } }]);
  host.tell(["suspend", run.n]);
  process.kill(group, "SIGCONT");
  const ending = await Promise.race([run.ended, refused.promise]);
  assert.deepEqual(ending, { kind: "result", result: { outcome: "suspended", codeLeft: false } });
});
