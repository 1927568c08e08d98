import { stripVTControlCharacters } from "node:util";
import type { Client, Run, RunEvent, RunLogChunk } from "@keelson/sdk";
import { paint, type Cli } from "../cli.ts";
import { describeLive, nameOf } from "./describe-live.ts";
import { causesOf, ownFrame } from "../own-frame.ts";

/** What of a run has been shown: the cursors of its events and its output, undefined for nothing. */
export type Shown = { events?: string; logs?: string; isWaiting: boolean };

export type ShownProject = { client: Client; directory: string; signal: AbortSignal };

/** The event of a retry has the stack; that of the run's end is the run's own. */
async function stackOf(
  run: Run,
  { attributes }: RunEvent,
  { client, signal }: ShownProject,
): Promise<string | null> {
  if (typeof attributes["stack"] === "string") return attributes["stack"];
  return (await client.runs.get(run.id, { signal })).failure?.stack ?? null;
}

async function printEvent(cli: Cli, run: Run, event: RunEvent, project: ShownProject): Promise<void> {
  const { stdout } = cli.host;
  if (cli.isJson()) {
    cli.printJson(event);
    return;
  }
  const said = describeLive(event, run.createdAt);
  if (said === null) return;
  cli.print(`${paint(stdout, "dim", nameOf(run))}  ${paint(stdout, said.style, said.text)}`);
  if (!said.isFailure) return;
  const stack = await stackOf(run, event, project);
  const frame = ownFrame(stack, project.directory);
  const margin = " ".repeat(nameOf(run).length);
  if (frame !== null) cli.print(`${margin}  at ${frame}`);
  for (const cause of causesOf(stack)) cli.print(`${margin}  caused by ${cause}`);
}

/** Whole lines of one output; what is left without a newline at the end is a line, too. */
function createLines(print: (line: string) => void) {
  const decoder = new TextDecoder();
  let rest = "";
  return {
    add(bytes: Uint8Array) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      lines.forEach(print);
    },
    end() {
      if (rest !== "") print(rest);
      rest = "";
    },
  };
}

async function showLogs(cli: Cli, run: Run, shown: Shown, { client, signal }: ShownProject): Promise<void> {
  const { stdout } = cli.host;
  const lines = (style: "reset" | "red") =>
    createLines((line) => {
      // A task's own colours would run into the next line.
      const text = stripVTControlCharacters(line);
      cli.print(`${paint(stdout, "dim", `${nameOf(run)} │`)} ${paint(stdout, style, text)}`);
    });
  const outputs = { stdout: lines("reset"), stderr: lines("red") };
  const show = (chunk: RunLogChunk): void => {
    if (cli.isJson()) cli.printJson(chunk);
    else outputs[chunk.stream].add(Buffer.from(chunk.data, "base64"));
  };
  const options = { ...FOLLOWS, signal, ...(shown.logs !== undefined && { cursor: shown.logs }) };
  try {
    for await (const chunk of client.runs.logs(run.id, options)) {
      show(chunk);
      shown.logs = chunk.id;
    }
  } finally {
    outputs.stdout.end();
    outputs.stderr.end();
  }
}

const FOLLOWS = { follow: true, onGap: () => undefined };

/**
 * Shows what a run does until it has ended: its events, its output, and where in the project its failures came from. Begins behind what has been
 * shown, and keeps that up to date.
 */
export async function showRun(cli: Cli, run: Run, shown: Shown, project: ShownProject): Promise<void> {
  const { client, signal } = project;
  const showEvents = async (): Promise<void> => {
    const options = { ...FOLLOWS, signal, ...(shown.events !== undefined && { cursor: shown.events }) };
    for await (const event of client.runs.events(run.id, options)) {
      await printEvent(cli, run, event, project);
      shown.events = event.id;
      if (event.kind.startsWith("run."))
        shown.isWaiting = event.kind === "run.waiting" || event.kind === "run.suspended";
    }
  };
  await Promise.all([showEvents(), showLogs(cli, run, shown, project)]);
}
