// A machine that does something else now and then, as a container with a limit of processor time has it all day: what is
// valid is taken, whenever the pauses fall.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bundleOf } from "./support/bundle.ts";
import { enrollRawWorker } from "./support/raw-worker.ts";
import { isLong } from "../support/seeded-random.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
  type TaskDeclaration,
} from "./support/site.ts";

const PAUSES = isLong() ? 400 : 30;
const PAUSE_MS = 150;
/** With the pauses it has a fifth of a processor. */
const BETWEEN_MS = 37;

/** Its check is watched: nobody can say in advance how long it takes. */
const WATCHED = { type: "object", properties: { items: { type: "array", uniqueItems: true } } };
const TASKS: TaskDeclaration[] = [{ id: "take", payload_schema: WATCHED }];
const bundle = bundleOf({ take: "return payload;" });

let site: Site;
let server: ServerProcess;
before(async () => {
  site = await startSite({ servers: 1, leaseDuration: "60s" });
  server = site.servers[0] as ServerProcess;
  const worker = await enrollRawWorker(site, server, "checker");
  const deployment = await createDeployment(site, bundle, TASKS);
  await worker.passCheck(["take"]);
  await promoteWhenReady(site, deployment);
});
after(() => site?.stop());

test("valid starts and deployments are taken while the server has a fifth of a processor", async () => {
  const state = { isOver: false };
  const pausing = (async (): Promise<void> => {
    for (let pause = 0; pause < PAUSES; pause += 1) {
      server.signal("SIGSTOP");
      await sleep(PAUSE_MS);
      server.signal("SIGCONT");
      await sleep(BETWEEN_MS);
    }
    state.isOver = true;
  })();
  const body = { payload: { items: Array.from({ length: 500 }, (_, index) => ({ index })) } };
  let starts = 0;
  let deployments = 0;
  while (!state.isOver) {
    const answers = await Promise.all(
      [1, 2].map(() => site.call(server.url, "POST", "/v1/tasks/take/start", { body, timeoutMs: 60_000 })),
    );
    for (const { status, body: told } of answers) assert.equal(status, 201, JSON.stringify(told));
    starts += answers.length;
    // It asserts that the answer is 201.
    await createDeployment(site, bundle, TASKS);
    deployments += 1;
  }
  await pausing;
  console.log(
    `${PAUSES} pauses of ${PAUSE_MS} ms · ${starts} starts and ${deployments} deployments, all taken`,
  );
});
