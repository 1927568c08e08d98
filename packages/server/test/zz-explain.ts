import pg from "pg";
import { createTestDatabase } from "./support/database.ts";
import { createDatabase } from "../src/db/pool.ts";
import { sql } from "../src/db/sql.ts";
import { createWakes } from "../src/core/feeds/wakes.ts";
import { createLeasePolls } from "../src/core/executions/lease-polls.ts";
import { createRunStarter } from "../src/core/runs/start-runs.ts";
import { createUuidGenerator } from "../src/uuid.ts";
import { claimExecutions } from "../src/core/executions/claim-executions.ts";
import { reportOperations } from "../src/core/executions/report-operations.ts";
import { resolveRetry } from "../src/core/runs/retry-policy.ts";
import { ensureTenancy } from "../src/core/identity/bootstrap-tenancy.ts";
import type { NewRun } from "../src/core/runs/new-run.ts";
const test = await createTestDatabase();
const db = createDatabase({ url: test.url, poolSize: 8, statementNames: true });
const clock = () => Date.now();
const newUuid = createUuidGenerator(clock);
const t = await db.transaction((tx) => ensureTenancy(tx, newUuid));
const dep = newUuid();
await db.query(sql`UPDATE environments SET current_deployment_id = ${dep}`);
const worker = newUuid();
await db.query(sql`INSERT INTO workers (id, worker_group_id, name, status, protocol_version) VALUES (${worker}, ${t.workerGroupId}, 'w', 'active', 1)`);
const starter = createRunStarter({ db, clock, newUuid, wakes: createWakes(() => {}), leasePolls: createLeasePolls(), leaseDurationMs: 15000 });
const retry = resolveRetry(undefined, undefined);
const mk = (o: Partial<NewRun> = {}): NewRun => ({ id: newUuid(), environmentId: t.environmentId, projectId: t.projectId, workerGroupId: t.workerGroupId, entrypointKind: "task", entrypoint: "a", deploymentId: dep, deploymentVersion: "1", pinned: false, payload: '{"a":"x"}', metadata: null, tags: [], queue: "default", concurrencyKey: null, priority: 0, retry, retryText: JSON.stringify(retry), maxDurationMs: null, startAt: null, expiresAt: null, limited: false, clientVersion: null, cliVersion: null, sdkVersion: null, createdAt: clock(), idempotency: null, ...o });
const N = Number(process.env.N ?? 10000);
let t0 = performance.now();
await Promise.all(Array.from({ length: N }, () => starter.start(mk())));
console.log("starts/s", Math.round((N / (performance.now() - t0)) * 1000));
const lit = (v: unknown): string => { const x = (pg as any).utils ? null : null; const p = prepare(v); return p === null ? "NULL" : `'${p.replaceAll("'", "''")}'`; };
const prepare = (v: any): string | null => v === null || v === undefined ? null : Buffer.isBuffer(v) ? "\\x" + v.toString("hex") : Array.isArray(v) ? "{" + v.map((x) => { const p = prepare(x); return p === null ? "NULL" : `"${p.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`; }).join(",") + "}" : String(v);
const explain = async (tx: any, st: any) => {
  const n = "q" + Math.random().toString(36).slice(2);
  await tx.query({ name: "", text: `PREPARE ${n} AS ${st.text}`, values: [] });
  const rows = await tx.query({ name: "", text: `EXPLAIN (ANALYZE, BUFFERS) EXECUTE ${n}(${st.values.map(lit).join(",")})`, values: [] });
  console.log(rows.map((r: any) => r["QUERY PLAN"]).join("\n")); console.log("-----");
};
const B = 100; let tc = 0, tr = 0;
for (let k = 0; k < N / B; k++) {
  const claim = () => ({ workerId: worker, workerGroupId: t.workerGroupId, leaseRequestId: "r1", limit: B, leaseIds: Array.from({ length: B }, newUuid), now: clock(), leaseExpiresAt: clock() + 15000 });
  if (k === N / B / 2) { await db.transaction(async (tx) => { await claimExecutions({ query: async (st: any) => { await explain(tx, st); return []; } } as any, claim()); throw new Error("rb"); }).catch((e) => console.log(e.message)); }
  let a = performance.now();
  const claimed = await claimExecutions(db, claim());
  tc += performance.now() - a;
  const ops = claimed.flatMap((l) => ["start", "release"].map((kind, i) => ({ environmentId: l.environmentId, runId: l.runId, leaseId: l.leaseId, epoch: l.epoch, operation: { kind, sequence: i + 1, at: new Date().toISOString(), outcome: "succeeded" } as any })));
  if (k === N / B / 2) { await db.transaction(async (tx) => { let n = 0; await reportOperations({ isTransaction: true, query: async (st: any) => { await explain(tx, st); return n++ === 0 ? tx.query(st) : []; } } as any, worker, ops, clock(), Math.random); throw new Error("rb"); }).catch((e) => console.log(e.message)); }
  a = performance.now();
  await db.transaction((tx) => reportOperations(tx, worker, ops, clock(), Math.random));
  tr += performance.now() - a;
}
console.log("claim ms", tc / (N / B), "report ms", tr / (N / B));
await db.close(); await test.drop();
process.exit(0);
