import { decodeId } from "@keelson/contract";
import { sql } from "../../../server/src/db/sql.ts";
import { until } from "../../../server/test/support/until.ts";
import type { KeptRun } from "./kept-run.ts";
import { STEP_MS, testWorker } from "./test-worker.ts";

/** Lets time pass until the run's lease is over, as that of a machine that is lost. */
export async function outlastLease(run: KeptRun): Promise<void> {
  const worker = await testWorker();
  const runId = decodeId("run", (await run.started()).id);
  await until("the lease is over", 60_000, async () => {
    await worker.pass(STEP_MS);
    const [row] = await worker.server.db.query<{ epoch: number }>(
      sql`SELECT epoch FROM executions WHERE run_id = ${runId}`,
    );
    return row !== undefined && row.epoch > 1;
  });
}
