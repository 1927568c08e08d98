import { sseFrame, SSE_RETRY_FRAME } from "@keelson/contract";

type Row = Record<string, unknown>;
type Followed = { event: string; row: Row; id: string; end: Row };

/** The first row of a page's example, whatever the rows are called. */
const firstRow = (page: unknown, plural: string): Row => {
  const rows = (page as Record<string, Row[] | undefined>)[plural];
  if (rows?.[0] === undefined) throw new Error(`The example of a page has no ${plural}.`);
  return rows[0];
};

function followed(path: string, page: unknown, logChunk: unknown): Followed {
  const last = path.split("/").at(-1);
  if (path.includes("/deployments/")) {
    const row = firstRow(page, "events");
    const end = { deployment_id: row["deployment_id"], status: "failed" };
    return { event: "deployment_event", row, id: String(row["id"]), end };
  }
  if (last === "events") {
    const row = firstRow(page, "events");
    const end = { run_id: row["run_id"], status: "succeeded" };
    return { event: "run_event", row, id: String(row["id"]), end };
  }
  if (last === "logs") {
    const row = logChunk as Row;
    const end = { run_id: row["run_id"], status: "succeeded" };
    return { event: "run_log", row, id: String(row["id"]), end };
  }
  if (path.includes("/workspaces/")) {
    const row = firstRow(page, "chunks");
    const id = Number(row["offset"]) + Buffer.byteLength(String(row["data"]), "base64");
    const isPty = path.includes("/pty/");
    const end = isPty
      ? { id: "pty_01kahw6q1vfs8k3n5t7w0y2bcd", status: "closed", exit_code: null, signal: null }
      : { id: "exec_01kahw5e4gfy7s0t2v9b6m1xqa", status: "exited", exit_code: 0, signal: null };
    return { event: "chunk", row, id: String(id), end };
  }
  if (path.endsWith("/runs/:id")) {
    const row = page as Row;
    return { event: "run", row, id: "4", end: { run_id: row["id"], status: "succeeded" } };
  }
  const row = firstRow(page, "records");
  const end = { session_id: row["session_id"], stream: row["stream"], status: "closed" };
  return { event: "record", row, id: String(row["sequence"]), end };
}

/** What a follower is sent: one event with the first row of the page's example, and the end. */
export function eventStreamExample(path: string, page: unknown, logChunk: unknown): string {
  const { event, row, id, end } = followed(path, page, logChunk);
  return (
    SSE_RETRY_FRAME + sseFrame(event, id, JSON.stringify(row)) + sseFrame("end", id, JSON.stringify(end))
  );
}
