// What PostgreSQL reads for a statement, by EXPLAIN ANALYZE of the plan that the server gets: a generic one, under the
// settings of the server's connections.

import type { Database } from "../../src/db/pool.ts";
import { rawSql } from "../../src/db/sql.ts";
import type { RecordedQuery } from "./record-queries.ts";

export type PlanReads = {
  /** Rows that the statement returned. */
  returned: number;
  /** Rows that scans found, and those that they threw away. */
  read: number;
  /** Rows that it locked. */
  locked: number;
  /** Blocks that it looked into, again and again the same ones too. */
  blocks: number;
  /** The scans, the costliest first. */
  scans: readonly string[];
};

type PlanNode = {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  "Shared Hit Blocks"?: number;
  "Shared Read Blocks"?: number;
  Plans?: PlanNode[];
};

/** Reads tables; the others read what these found. */
const SCANS = new Set([
  "Seq Scan",
  "Index Scan",
  "Index Only Scan",
  "Bitmap Index Scan",
  "Bitmap Heap Scan",
  "Tid Scan",
  "Sample Scan",
]);

/**
 * Runs the statement once more, in a transaction that is rolled back.
 *
 * @param meanwhile done when the plan is made, which stays as it is.
 */
export async function readPlan(
  db: Database,
  { text, values }: RecordedQuery,
  meanwhile?: () => Promise<void>,
): Promise<PlanReads> {
  const done = new RolledBack();
  let plan: PlanNode | undefined;
  try {
    await db.transaction(async (tx) => {
      await tx.query(rawSql(`PREPARE explained AS ${text}`));
      const given = values.length === 0 ? "" : `(${values.map(literal).join(", ")})`;
      if (meanwhile !== undefined) await tx.query(rawSql(`EXPLAIN EXECUTE explained${given}`));
      await meanwhile?.();
      const [row] = await tx.query<{ "QUERY PLAN": string }>(
        rawSql(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE explained${given}`),
      );
      await tx.query(rawSql("DEALLOCATE explained"));
      plan = (JSON.parse(row?.["QUERY PLAN"] ?? "[]") as { Plan: PlanNode }[])[0]?.Plan;
      throw done;
    });
  } catch (error) {
    if (error !== done) throw error;
  }
  if (plan === undefined) throw new Error("EXPLAIN gave no plan.");
  const scans = scansOf(plan);
  return {
    returned: plan["Actual Rows"],
    read: scans.reduce((sum, scan) => sum + scan.read, 0),
    locked: lockedBy(plan),
    blocks: (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0),
    scans: scans.toSorted((a, b) => b.read - a.read).map(({ name, read }) => `${name}: ${read}`),
  };
}

class RolledBack extends Error {}

function scansOf(node: PlanNode): { name: string; read: number }[] {
  const below = (node.Plans ?? []).flatMap(scansOf);
  if (!SCANS.has(node["Node Type"])) return below;
  const found =
    node["Actual Rows"] +
    (node["Rows Removed by Filter"] ?? 0) +
    (node["Rows Removed by Index Recheck"] ?? 0);
  const place = [node["Relation Name"], node["Index Name"]].filter((name) => name !== undefined).join(" by ");
  return [
    { name: `${node["Node Type"]} of ${place}`, read: Math.round(found * node["Actual Loops"]) },
    ...below,
  ];
}

const lockedBy = (node: PlanNode): number =>
  (node.Plans ?? []).reduce(
    (sum, below) => sum + lockedBy(below),
    node["Node Type"] === "LockRows" ? Math.round(node["Actual Rows"] * node["Actual Loops"]) : 0,
  );

/** A parameter as the driver would send it. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(", ")}]::text[]`;
  if (Buffer.isBuffer(value)) return `'\\x${value.toString("hex")}'`;
  const text = value instanceof Date ? value.toISOString() : `${value as string | number}`;
  return `'${text.replaceAll("'", "''")}'`;
}
