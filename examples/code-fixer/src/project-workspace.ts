import type { Client } from "@keelson/sdk";
import type { Project } from "./broken-project.ts";

export type Prepared = { workspaceId: string; baseVersionId: string };

export type TestResult = { exit_code: number | null; output: string };

/** The calls of a workspace that the task needs. Each may be made again with the same name: it is done once. */
export type ProjectWorkspace = {
  readonly id: string;
  readonly baseVersionId: string;
  runTests(name: string): Promise<TestResult>;
  readFiles(): Promise<Record<string, string>>;
  /** Gives the version that the change is. */
  write(name: string, path: string, content: string): Promise<string>;
  /** What is different from the beginning. */
  lookAtChanges(): Promise<{ versionId: string; changes: string[] }>;
};

const TEST_TIMEOUT = "1m";
/** How much of what the tests say a model is shown. */
const OUTPUT_CHARACTERS = 16_000;
const MARKS = { added: "A", removed: "D", modified: "M" } as const;

/** A workspace with the project's files. No machine is needed for it, and a second call for the run finds the first one's. */
export async function prepareProject(client: Client, project: Project, runId: string): Promise<Prepared> {
  const { id } = await client.workspaces.create({
    tags: ["code-fixer"],
    metadata: { run_id: runId },
    idempotencyKey: `code-fixer ${runId}`,
  });
  const { files, get } = client.workspaces.open(id);
  for (const [path, content] of Object.entries(project.files)) await files.write(path, content);
  return { workspaceId: id, baseVersionId: (await get()).current_version_id };
}

export function openProject(
  client: Client,
  project: Project,
  runId: string,
  { workspaceId, baseVersionId }: Prepared,
): ProjectWorkspace {
  const workspace = client.workspaces.open(workspaceId);
  const keyOf = (name: string): string => `code-fixer ${runId} ${name}`;
  return {
    id: workspaceId,
    baseVersionId,
    async runTests(name) {
      const options = { stdin: "", timeout: TEST_TIMEOUT, idempotencyKey: keyOf(name) } as const;
      const exec = await workspace.exec(project.testCommand, options);
      const { status, exit_code, stdout, stderr, error } = await exec.result();
      if (status !== "exited")
        throw new Error(`The tests could not be run: ${status}${error === null ? "" : `, ${error.message}`}`);
      return { exit_code, output: (stdout + stderr).slice(-OUTPUT_CHARACTERS) };
    },
    async readFiles() {
      const read = async (path: string): Promise<[string, string]> => [
        path,
        await workspace.files.readText(path),
      ];
      return Object.fromEntries(await Promise.all(Object.keys(project.files).map(read)));
    },
    async write(name, path, content) {
      // While the workspace is on a machine its files are changed there. The path is an argument, never part of the script.
      const command = ["sh", "-c", 'cat > "$1"', "write", path];
      const exec = await workspace.exec(command, { stdin: content, idempotencyKey: keyOf(name) });
      const { exit_code, stderr, version_id: versionId } = await exec.result();
      if (exit_code !== 0) throw new Error(`${path} could not be written: ${stderr}`);
      if (versionId === null) throw new Error(`${path} was so already: nothing has changed`);
      return versionId;
    },
    async lookAtChanges() {
      const { current_version_id: versionId } = await workspace.get();
      const changes: string[] = [];
      for await (const { change, path } of workspace.versions.diff(versionId, { base: baseVersionId }))
        changes.push(`${MARKS[change]} ${path}`);
      return { versionId, changes };
    },
  };
}
