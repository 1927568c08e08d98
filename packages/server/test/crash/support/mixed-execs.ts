// What the commands of a mixed load have done to the files of their workspaces.

import assert from "node:assert/strict";
import { encodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import type { ServerProcess, Site } from "./site.ts";

type Exec = {
  workspaceId: string;
  command: string;
  status: string;
  exitCode: number | null;
  signal: string | null;
  reruns: number;
};

export interface ExecFigures {
  readonly count: number;
  /** Ended otherwise than well: somebody killed a process of theirs. */
  readonly killed: number;
  /** Taken by infrastructure, and run again. */
  readonly rerun: number;
  readonly reruns: number;
}

/**
 * Each command that ended well has its two lines in the last version of its workspace, once, whatever became of the
 * machine; one whose processes were killed has what it had written before, once at most; and nobody else wrote any.
 */
export async function checkExecs(site: Site): Promise<ExecFigures> {
  const execs = await site.db.query<Exec>(sql`
    SELECT workspace_id AS "workspaceId", command, status, exit_code AS "exitCode", signal, reruns
    FROM processes WHERE kind = 'exec'`);
  for (const [workspaceId, of] of Map.groupBy(execs, (exec) => exec.workspaceId))
    checkLines(of, await readLines(site, encodeId("ws", workspaceId)));
  const rerun = execs.filter(({ reruns }) => reruns > 0);
  return {
    count: execs.length,
    killed: execs.filter(({ exitCode }) => exitCode !== 0).length,
    rerun: rerun.length,
    reruns: rerun.reduce((sum, { reruns }) => sum + reruns, 0),
  };
}

function checkLines(execs: readonly Exec[], lines: readonly string[]): void {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  const known = new Set<string>();
  for (const exec of execs) {
    const what = JSON.stringify(exec);
    assert.equal(exec.status, "exited", what);
    const name = / begin (\S+) >>/.exec(exec.command)?.[1];
    if (name === undefined) continue;
    for (const line of [`begin ${name}`, `end ${name}`]) {
      assert.ok(!known.has(line), `one command for each call · ${what}`);
      known.add(line);
      const count = counts.get(line) ?? 0;
      if (exec.exitCode === 0) assert.equal(count, 1, `${line} · ${what}`);
      else assert.ok(count <= 1, `${line} ×${count} · ${what}`);
    }
  }
  assert.deepEqual(
    lines.filter((line) => !known.has(line)),
    [],
    "every line is a command's",
  );
}

async function readLines(site: Site, workspace: string): Promise<string[]> {
  const { url } = site.servers[0] as ServerProcess;
  const { status, body } = await site.call(url, "GET", `/api/workspaces/${workspace}`);
  assert.equal(status, 200, JSON.stringify(body));
  const query = new URLSearchParams({
    path: "effects.txt",
    source: "version",
    version_id: body.current_version_id as string,
  });
  const response = await fetch(`${url}/api/workspaces/${workspace}/files/content?${query}`, {
    headers: { authorization: `Bearer ${site.credentials.api_key}` },
  });
  assert.equal(response.status, 200, workspace);
  return (await response.text()).split("\n").filter((line) => line !== "");
}
