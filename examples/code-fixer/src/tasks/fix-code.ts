import { Client, NonRetryableError, step, task, type RunContext } from "@keelson/sdk";
import { BROKEN_PROJECT } from "../broken-project.ts";
import { proposeEdits, type Edit } from "../model.ts";
import { openProject, prepareProject, type ProjectWorkspace, type TestResult } from "../project-workspace.ts";

export type FixRequest = {
  /** How often the tests may be run. Default 5. */
  max_rounds?: number;
};

export type FixOutput = {
  workspace_id: string;
  /** What the workspace began with, and what it is now: their diff is the fix. */
  base_version_id: string;
  version_id: string;
  /** Paths that were changed, with `A`, `M` or `D` before them. */
  changes: string[];
  rounds: { exit_code: number | null; failures: string[]; edits: string[] }[];
};

const DEFAULT_ROUNDS = 5;

const failuresOf = ({ output }: TestResult): string[] =>
  output.split("\n").filter((line) => line.startsWith("not ok"));

/** Every step has a name of its own and is kept once it has succeeded: after a crash the run goes on behind the last one. */
async function fix(project: ProjectWorkspace, maxRounds: number, ctx: RunContext): Promise<FixOutput> {
  const rounds: FixOutput["rounds"] = [];
  for (let round = 1; round <= maxRounds; round += 1) {
    const test = await step(`test ${round}`, () => project.runTests(`test ${round}`));
    const failures = failuresOf(test);
    ctx.logger.info(`Round ${round}: exit code ${test.exit_code}, ${failures.length} failing`);
    if (test.exit_code === 0) {
      const { versionId, changes } = await step("look", () => project.lookAtChanges());
      rounds.push({ exit_code: 0, failures, edits: [] });
      return {
        workspace_id: project.id,
        base_version_id: project.baseVersionId,
        version_id: versionId,
        changes,
        rounds,
      };
    }
    const edits = await step(`propose ${round}`, async () =>
      proposeEdits({ testOutput: test.output, files: await project.readFiles() }),
    );
    if (edits.length === 0)
      throw new NonRetryableError(`Nothing is known that would help against: ${test.output.trim()}`);
    for (const edit of edits) await apply(project, round, edit, ctx);
    rounds.push({ exit_code: test.exit_code, failures, edits: edits.map(({ why }) => why) });
  }
  throw new NonRetryableError(`The tests still fail after ${maxRounds} rounds; see workspace ${project.id}`);
}

async function apply(
  project: ProjectWorkspace,
  round: number,
  edit: Edit,
  { logger }: RunContext,
): Promise<void> {
  const name = `edit ${round} ${edit.path}`;
  const versionId = await step(name, () => project.write(name, edit.path, edit.content));
  logger.info(`${edit.path}: ${edit.why} (${versionId})`);
}

export const fixCode = task({
  id: "fix-code",
  description: "Fixes a small broken project in a workspace, and leaves the fix as versions.",
  retry: { maxAttempts: 3, initialDelay: "1s" },
  maxDuration: "15m",
  payload: {
    type: ["object", "null"],
    additionalProperties: false,
    properties: { max_rounds: { type: "integer", minimum: 1, maximum: 20 } },
  },
  async run(payload: FixRequest | null | undefined, ctx: RunContext): Promise<FixOutput> {
    const client = new Client();
    const made = await step("prepare", () => prepareProject(client, BROKEN_PROJECT, ctx.run.id));
    const project = openProject(client, BROKEN_PROJECT, ctx.run.id, made);
    return fix(project, payload?.max_rounds ?? DEFAULT_ROUNDS, ctx);
  },
});
