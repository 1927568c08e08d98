import type { RunContext } from "@keelson/sdk";
import { runCommand } from "@keelson/sdk/ai";
import { tool, type ToolSet } from "ai";
import { z } from "zod";
import { BROKEN_PROJECT, TEST_COMMAND } from "./broken-project.ts";

const TEST_TIMEOUT = "1m";
const path = z.string().describe("Relative to the root of the project.");

/** A workspace that is empty begins with the broken project. Yours would have a repository. */
async function listFiles({ files }: RunContext["workspace"]): Promise<string[]> {
  const found = await files.list();
  if (found.length > 0) return found.map((entry) => entry.path);
  for (const [name, content] of Object.entries(BROKEN_PROJECT)) await files.write(name, content);
  return Object.keys(BROKEN_PROJECT);
}

/** What the agent can do in the workspace of its conversation. */
export const workspaceTools = ({ workspace, client }: RunContext) =>
  ({
    list_files: tool({
      description: "Lists the files of the project.",
      inputSchema: z.object({}),
      execute: () => listFiles(workspace),
    }),
    read_file: tool({
      description: "Reads a file.",
      inputSchema: z.object({ path }),
      execute: (input) => workspace.files.readText(input.path),
    }),
    write_file: tool({
      description: "Writes a file. A person approves it first.",
      inputSchema: z.object({ why: z.string().describe("One sentence."), path, content: z.string() }),
      execute: async (input) => {
        await workspace.files.write(input.path, input.content);
        return `${input.path} is written.`;
      },
    }),
    run_tests: tool({
      description: "Runs the tests of the project. The exit code is 0 when all of them pass.",
      inputSchema: z.object({}),
      // A tool is a step, in which `workspace.exec()` cannot be called.
      execute: async (_, call) => {
        const { exitCode, stdout, stderr } = await runCommand({ client, workspace }, TEST_COMMAND, call, {
          timeout: TEST_TIMEOUT,
        });
        return { exitCode, output: stdout + stderr };
      },
    }),
  }) satisfies ToolSet;
