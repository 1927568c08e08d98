import { blameFor, classifyProcess, InfrastructureError } from "../deaths/death.ts";
import { SupervisorGoneError } from "../supervisor/supervisor-connection.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";

const TIMEOUT_MS = 3_600_000;
/** Of what a failed command printed, its users see the last. */
const SHOWN_BYTES = 1_000;

/**
 * Runs the setup's commands one after the other.
 *
 * @throws Error that says which one failed, how, and what it printed last; InfrastructureError when none of them did, but
 * what they run on.
 */
export async function runSetup(
  supervisor: Supervisor,
  commands: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const [index, command] of commands.entries()) {
    const which = `The sandbox's setup command ${index + 1} of ${commands.length}`;
    const { problem, output, isInfrastructure } = await runCommand(
      ...([supervisor, `setup-${index + 1}`, command, signal] as const),
    ).catch((cause: unknown) => {
      if (!(cause instanceof SupervisorGoneError)) throw cause;
      throw new InfrastructureError(`${which} was interrupted: its supervisor ended.`, { cause });
    });
    if (problem === null) continue;
    const message = `${which} ${problem}.${output === "" ? "" : ` Its output ends:\n${output}`}`;
    throw isInfrastructure ? new InfrastructureError(message) : new Error(message);
  }
}

async function runCommand(
  supervisor: Supervisor,
  id: string,
  command: string,
  signal: AbortSignal,
): Promise<{ problem: string | null; output: string; isInfrastructure: boolean }> {
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
    const death = classifyProcess(exit);
    const isInfrastructure = death !== null && blameFor(death) === "infrastructure";
    const end = (problem: string | null) => ({ problem, output, isInfrastructure });
    if (exit.outcome === "exited" && exit.exitCode === 0) return end(null);
    if (exit.outcome === "exited" && exit.error !== null) return end(`was ended: ${exit.error}`);
    if (exit.error !== null) return end(`could not be run: ${exit.error}`);
    if (exit.timedOut) return end("took longer than an hour");
    return end(`ended with ${exit.signal === null ? `exit code ${exit.exitCode}` : exit.signal}`);
  }
}
