// Messages of a run's session, and how somebody stops one.

import assert from "node:assert/strict";
import { until } from "../../../server/test/support/until.ts";
import type { KeptRun } from "./kept-run.ts";
import { testWorker } from "./test-worker.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export const messagesOf = async (run: KeptRun): Promise<Json[]> =>
  (await run.call("GET", `/v1/sessions/${(await run.started()).session.id}/messages`)).messages;

/** The one message of the run, once it fits. */
export async function messageOf(run: KeptRun, fits: (message: Json) => boolean = () => true): Promise<Json> {
  let found: Json;
  await until("the message is as it is to be", 60_000, async () => {
    found = (await messagesOf(run))[0];
    return found !== undefined && fits(found);
  });
  return found;
}

/** Stops the message that the run writes, and the worker hears of it. */
export async function interrupt(run: KeptRun): Promise<void> {
  const { session } = await run.started();
  const { id } = await messageOf(run, ({ status }) => status === "open");
  const answer = await run.call("POST", `/v1/sessions/${session.id}/interrupt`, { message_id: id });
  assert.equal(answer.status, "interrupting");
  await (await testWorker()).renew();
}
