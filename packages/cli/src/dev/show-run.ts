import { stripVTControlCharacters } from "node:util";
import type { Client, Run, RunEvent, RunLogChunk } from "@keelson/sdk";
import { paint, type Cli } from "../cli.ts";
import { describeLive, nameOf } from "./describe-live.ts";
import { ownFrame } from "../own-frame.ts";

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
  const frame = ownFrame(await stackOf(run, event, project), project.directory);
  if (frame !== null) cli.print(`${" ".repeat(nameOf(run).length)}  at ${frame}`);
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

async function showLogs(cli: Cli, run: Run, { client, signal }: ShownProject): Promise<void> {
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
  for await (const chunk of client.runs.logs(run.id, { follow: true, onGap: () => undefined, signal }))
    show(chunk);
  outputs.stdout.end();
  outputs.stderr.end();
}

/** Shows what a run does until it has ended: its events, its output, and where in the project its failures came from. */
export async function showRun(cli: Cli, run: Run, project: ShownProject): Promise<void> {
  const { client, signal } = project;
  const showEvents = async (): Promise<void> => {
    const events = client.runs.events(run.id, { follow: true, onGap: () => undefined, signal });
    for await (const event of events) await printEvent(cli, run, event, project);
  };
  await Promise.all([showEvents(), showLogs(cli, run, project)]);
}
