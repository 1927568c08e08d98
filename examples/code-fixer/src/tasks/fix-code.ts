import {
  Client,
  NonRetryableError,
  sandbox,
  step,
  task,
  type RunContext,
  type RunWorkspace,
} from "@keelson/sdk";
import { BROKEN_PROJECT } from "../broken-project.ts";
import { proposeEdits } from "../model.ts";
import { writeFile } from "../workspace-files.ts";

export type FixRequest = {
  /** How often the tests may be run. Default 5. */
  max_rounds?: number;
};

export type FixOutput = {
  workspace_id: string;
  /** The project as it was, and as it is now: their diff is the fix. */
  base_version_id: string;
  version_id: string;
  /** Paths that were changed, with `A`, `M` or `D` before them. */
  changes: string[];
  rounds: { exit_code: number | null; failures: string[]; edits: string[] }[];
};

const DEFAULT_ROUNDS = 5;
const TEST_TIMEOUT = "1m";
const MARKS = { added: "A", removed: "D", modified: "M" } as const;

/** Each run has a workspace of its own made from it. */
const workshop = sandbox({ id: "code-fixer" });

async function prepare(workspace: RunWorkspace): Promise<string> {
  let version = "";
  for (const [path, content] of Object.entries(BROKEN_PROJECT.files))
    version = await writeFile(workspace, path, content);
  return version;
}

async function readFiles(workspace: RunWorkspace): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const path of Object.keys(BROKEN_PROJECT.files)) files[path] = await workspace.files.readText(path);
  return files;
}

async function listChanges(workspaceId: string, base: string, version: string): Promise<string[]> {
  const changes: string[] = [];
  for await (const { change, path } of new Client().workspaces.versions.diff(workspaceId, version, { base }))
    changes.push(`${MARKS[change]} ${path}`);
  return changes;
}

/** Commands and steps happen once: after a crash the run goes on behind the last one that did. */
async function fix({ workspace, logger }: RunContext, maxRounds: number): Promise<FixOutput> {
  const base = await prepare(workspace);
  let version = base;
  const rounds: FixOutput["rounds"] = [];
  for (let round = 1; round <= maxRounds; round += 1) {
    const { exitCode, stdout, stderr } = await workspace.exec(BROKEN_PROJECT.testCommand, {
      timeout: TEST_TIMEOUT,
    });
    const testOutput = stdout + stderr;
    const failures = testOutput.split("\n").filter((line) => line.startsWith("not ok"));
    logger.info(`Round ${round}: exit code ${exitCode}, ${failures.length} failing`);
    if (exitCode === 0) {
      const changes = await step("list changes", () => listChanges(workspace.id, base, version));
      rounds.push({ exit_code: exitCode, failures, edits: [] });
      return { workspace_id: workspace.id, base_version_id: base, version_id: version, changes, rounds };
    }
    const files = await readFiles(workspace);
    const edits = await step(`propose ${round}`, () => proposeEdits({ testOutput, files }));
    if (edits.length === 0)
      throw new NonRetryableError(`Nothing is known that would help against: ${testOutput.trim()}`);
    for (const { path, content, why } of edits) {
      version = await writeFile(workspace, path, content);
      logger.info(`${path}: ${why} (${version})`);
    }
    rounds.push({ exit_code: exitCode, failures, edits: edits.map(({ why }) => why) });
  }
  throw new NonRetryableError(
    `The tests still fail after ${maxRounds} rounds; see workspace ${workspace.id}`,
  );
}

export const fixCode = task({
  id: "fix-code",
  description: "Fixes a small broken project in a workspace, and leaves the fix as versions.",
  sandbox: workshop,
  retry: { maxAttempts: 3, initialDelay: "1s" },
  maxDuration: "15m",
  payload: {
    type: ["object", "null"],
    additionalProperties: false,
    properties: { max_rounds: { type: "integer", minimum: 1, maximum: 20 } },
  },
  run: (payload: FixRequest | null | undefined, ctx: RunContext): Promise<FixOutput> =>
    fix(ctx, payload?.max_rounds ?? DEFAULT_ROUNDS),
});
