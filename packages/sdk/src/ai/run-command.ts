import type { ExecHandle, ExecOptions, ExecOutcome } from "../client/execs.ts";
import { TimeoutError } from "../client/errors.ts";
import type { RunContext } from "../context.ts";
import { InterruptedError } from "../durable-errors.ts";
import { idempotencyKeyOf } from "./run-tool-call.ts";

/** The options of a command that a tool runs. */
export type ToolCommandOptions = Omit<ExecOptions, "idempotencyKey" | "signal">;

const KILL_AFTER = "2s";

/**
 * Runs a command in the run's workspace for a tool of a chat, and waits for its end. A call of the tool has one command: another try of the call
 * waits for the same. When somebody stops the answer, the command is ended: by SIGTERM, and two seconds later by SIGKILL while the run goes on. The call
 * rejects with an InterruptedError then. Does not reject when the command fails: check `status` and `exitCode`.
 *
 * `call` is the second argument of the tool's `execute`. The run needs the permissions `workspaces.read` and `workspaces.exec`, which it has when the
 * actor declares none. Throws a UsageError when no chat calls the tool.
 *
 * @example
 * ```ts
 * import { runCommand } from "@keelson/sdk/ai";
 * import type { RunContext } from "@keelson/sdk";
 * import { tool } from "ai";
 * import { z } from "zod";
 *
 * const runTests = (ctx: RunContext) =>
 *   tool({
 *     inputSchema: z.object({}),
 *     execute: async (_, call) => {
 *       const { exitCode, stdout, stderr } = await runCommand(ctx, ["npm", "test"], call, { timeout: "5m" });
 *       return { exitCode, stdout, stderr };
 *     },
 *   });
 * ```
 */
export async function runCommand(
  { client, workspace }: Pick<RunContext, "client" | "workspace">,
  command: readonly string[],
  call: { abortSignal?: AbortSignal | undefined },
  options: ToolCommandOptions = {},
): Promise<ExecOutcome> {
  const idempotencyKey = idempotencyKeyOf(call);
  const exec = await client.workspaces.exec(workspace.id, command, { ...options, idempotencyKey });
  try {
    return await exec.result(call.abortSignal === undefined ? {} : { signal: call.abortSignal });
  } catch (error) {
    // Any other signal, as that of a lost lease, is of this try: the next one waits for the same command.
    if (error instanceof InterruptedError) await endCommand(exec);
    throw error;
  }
}

async function endCommand(exec: ExecHandle): Promise<void> {
  await exec.signal("SIGTERM");
  try {
    await exec.wait({ timeout: KILL_AFTER });
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
    await exec.signal("SIGKILL");
  }
}
