import type { DurableCall, ExecResult, RuntimeHost } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { fromWire } from "../client/camel-cased.ts";
import { toExecOutcome } from "../client/execs.ts";
import { execResultShape } from "../client/wire-shapes.ts";
import { ExecLostError } from "../durable-errors.ts";
import { locateOutsideStep, type LocateRun } from "../current-run.ts";
import { checkCommand } from "../check-command.ts";
import { checkText } from "../json-text.ts";
import { toWireDuration } from "../duration-input.ts";
import type { RunExecOptions, RunWorkspace } from "../workspace.ts";
import { createRunFiles } from "./run-files.ts";
import type { DurableRun } from "./durable/durable-run.ts";
import { toJsonValue } from "./output.ts";
import { runTries } from "./durable/run-tries.ts";
import { untilInterrupted } from "./durable/until-interrupted.ts";
import { whenAborted } from "./durable/when-aborted.ts";
import { UsageError } from "../keelson-error.ts";

type ExecsCall = Extract<DurableCall, { kind: "execs" }>;
type ExecFields = Omit<ExecsCall, "kind" | "position" | "name">;

function toFields(command: readonly string[], options: Omit<RunExecOptions, "signal">): ExecFields {
  checkCommand(command, "ctx.workspace.exec()");
  for (const argument of command) checkText(argument, "an argument of ctx.workspace.exec()");
  return {
    command: [...command],
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...(options.env !== undefined && {
      env: toJsonValue(options.env, "The environment of the command", LIMITS.bodyBytes) as ExecFields["env"] &
        object,
    }),
    ...(options.stdin !== undefined && { stdin: Buffer.from(options.stdin).toString("base64") }),
    ...(options.timeout !== undefined && { timeout: toWireDuration(options.timeout, "timeout") }),
    ...(options.onLost !== undefined && { on_lost: options.onLost }),
  };
}

/** A journal tells by it whether the code goes the same way. */
const nameOf = (command: readonly string[]): string =>
  command.join(" ").slice(0, LIMITS.durableNameCharacters).toWellFormed() || "exec";

/** How the command ended is asked of the server; a journal has only that it did. */
async function readEnd(run: DurableRun, id: string): Promise<ExecResult> {
  const { host } = run.input;
  if (host.execResult === undefined)
    throw new UsageError("This worker cannot run commands in workspaces; update its agent.");
  return host.execResult(id);
}

/** What the journal has of the end of a command. `aborted`: its signal was aborted before. */
type Ending = { aborted?: boolean };

/** What a call rejects with whose signal was aborted; a replay of it may have a signal that is not. */
const reasonOf = (signal: AbortSignal | undefined): unknown =>
  signal?.aborted === true ? signal.reason : new DOMException("The command was aborted.", "AbortError");

/** Starts a command and waits for its end. An interrupt ends it, and so does the signal. */
const runCommand = (
  run: DurableRun,
  name: string,
  fields: ExecFields,
  signal: AbortSignal | undefined,
): Promise<{ id: string; ended: ExecResult | null }> =>
  untilInterrupted(run, async ({ begun, outcome }) => {
    // Only the journal tells a replay whether the command was started.
    if (signal !== undefined && run.value(name, () => signal.aborted)) throw reasonOf(signal);
    let at = 0;
    const makeCall = (position: number) => ({ kind: "execs", position, name, ...fields }) as const;
    const made = run.effect("exec", name, makeCall, undefined, (position) => {
      at = position;
      begun(position);
    });
    const { id } = (await outcome(made)) as { id: string };
    let ended: ExecResult | null = null;
    const watch = async (): Promise<unknown> => {
      const ending = readEnd(run, id);
      whenAborted(signal, () => run.giveUp(at), ending);
      ended = await ending;
      const { status, exit_code, signal: killedBy } = ended;
      return { id, status, exit_code, signal: killedBy, ...(signal?.aborted === true && { aborted: true }) };
    };
    const step = run.step<Ending>(name, (call) => runTries(run, name, { fn: watch, ...call }));
    const { aborted = false } = await outcome(step);
    if (aborted) throw reasonOf(signal);
    return { id, ended };
  });

export function createRunWorkspace(
  place: { id: string; path: string },
  host: RuntimeHost,
  locate: LocateRun,
): RunWorkspace {
  return {
    id: place.id,
    path: place.path,
    files: createRunFiles(host),
    async exec(command, { signal, ...options } = {}) {
      const run = locateOutsideStep(locate, "ctx.workspace.exec()");
      const name = nameOf(command);
      const { id, ended } = await runCommand(run, name, toFields(command, options), signal);
      const result = ended ?? (await readEnd(run, id));
      if (result.status === "failed")
        throw new UsageError(
          `"${name}" could not be started: ${result.error?.message ?? "no reason was given"}`,
        );
      if (result.status === "lost") throw new ExecLostError(name, result.id, result.reruns);
      return toExecOutcome(fromWire(execResultShape, result));
    },
  };
}
