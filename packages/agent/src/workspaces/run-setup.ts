import type { Supervisor } from "../supervisor/supervisor.ts";

const TIMEOUT_MS = 3_600_000;
/** Of what a failed command printed, its users see the last. */
const SHOWN_BYTES = 1_000;

/**
 * Runs the setup's commands one after the other.
 *
 * @throws Error that says which one failed, how, and what it printed last.
 */
export async function runSetup(
  supervisor: Supervisor,
  commands: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const [index, command] of commands.entries()) {
    const { problem, output } = await runCommand(supervisor, `setup-${index + 1}`, command, signal);
    if (problem === null) continue;
    const which = `The sandbox's setup command ${index + 1} of ${commands.length}`;
    throw new Error(`${which} ${problem}.${output === "" ? "" : ` Its output ends:\n${output}`}`);
  }
}

async function runCommand(
  supervisor: Supervisor,
  id: string,
  command: string,
  signal: AbortSignal,
): Promise<{ problem: string | null; output: string }> {
  await supervisor.start({
    ...{ id, kind: "exec", command: ["sh", "-c", command], cwd: "", env: {} },
    ...{ timeoutMs: TIMEOUT_MS, cols: null, rows: null },
  });
  await supervisor.writeInput(id, 0, Buffer.alloc(0), true);
  const read = { stdout: 0, stderr: 0, output: 0 };
  let tail = Buffer.alloc(0);
  for (;;) {
    const { chunks, exit } = await supervisor.readOutput(id, read, signal);
    signal.throwIfAborted();
    for (const { stream, offset, data } of chunks) {
      read[stream] = offset + data.length;
      tail = Buffer.concat([tail, data]).subarray(-SHOWN_BYTES);
    }
    if (exit === null) continue;
    await supervisor.forget(id);
    const output = tail.toString().replaceAll("\0", "\ufffd").trim();
    if (exit.outcome === "exited" && exit.exitCode === 0) return { problem: null, output };
    if (exit.error !== null) return { problem: `could not be run: ${exit.error}`, output };
    if (exit.timedOut) return { problem: "took longer than an hour", output };
    const how = exit.signal === null ? `exit code ${exit.exitCode}` : exit.signal;
    return { problem: `ended with ${how}`, output };
  }
}
