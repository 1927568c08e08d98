import type { Run, RunLogChunk } from "@keelson/sdk";
import type { Cli } from "./cli.ts";
import { EXIT, ExitError } from "./exit-codes.ts";
import { causesOf, ownFrame } from "./own-frame.ts";
import { findProjectFolder } from "./project/project-folder.ts";
import { describeRun } from "./table.ts";

/** A chunk's bytes to the stream they were written to; as they are with --json. Waits for a slow reader. */
async function writeChunk(cli: Cli, chunk: RunLogChunk): Promise<void> {
  if (cli.isJson()) {
    cli.printJson(chunk);
    return;
  }
  const stream = chunk.stream === "stdout" ? cli.host.stdout : cli.host.stderr;
  if (!stream.write(Buffer.from(chunk.data, "base64")))
    await new Promise((resolve) => stream.once("drain", resolve));
}

export async function writeLogs(
  cli: Cli,
  runId: string,
  options: { follow: boolean; cursor?: string; timeoutMs?: number },
): Promise<void> {
  const { timeoutMs, ...feed } = options;
  const limit = timeoutMs === undefined ? null : AbortSignal.timeout(timeoutMs);
  const signal = limit === null ? cli.host.signal : AbortSignal.any([cli.host.signal, limit]);
  const onGap = (): void => cli.notice("(older output is no longer kept)");
  try {
    for await (const chunk of (await cli.client()).runs.logs(runId, { ...feed, onGap, signal }))
      await writeChunk(cli, chunk);
  } catch (error) {
    if (limit?.aborted === true)
      throw new ExitError(EXIT.timeout, `Run ${runId} has not ended within ${timeoutMs} ms; it continues`, {
        cause: error,
      });
    throw error;
  }
}

/** Waits for the run's end, writes it, and fails the command when the run did not succeed. */
export async function waitAndReport(cli: Cli, run: string | Run, timeoutMs?: number): Promise<void> {
  const ended = await (
    await cli.client()
  ).runs.wait(run, { signal: cli.host.signal, ...(timeoutMs !== undefined && { timeout: timeoutMs }) });
  if (cli.isJson()) cli.printJson(ended);
  else {
    cli.notice(describeRun(ended));
    const project = findProjectFolder(cli.host.cwd);
    const frame = project === null ? null : ownFrame(ended.failure?.stack ?? null, project);
    if (frame !== null) cli.notice(`  at ${frame}`);
    for (const cause of causesOf(ended.failure?.stack ?? null)) cli.notice(`  caused by ${cause}`);
    if (ended.status === "succeeded" && ended.output !== null)
      cli.print(JSON.stringify(ended.output, null, 2));
  }
  if (ended.status !== "succeeded") throw new ExitError(EXIT.runFailed);
}

export type WaitFlags = { wait?: boolean; follow?: boolean; timeout?: number };

/** What `--wait` and `--follow` of a start do. */
export async function followAndReport(
  cli: Cli,
  runId: string,
  { follow, timeout }: WaitFlags,
): Promise<void> {
  if (follow === true)
    await writeLogs(cli, runId, { follow: true, ...(timeout !== undefined && { timeoutMs: timeout }) });
  await waitAndReport(cli, runId, timeout);
}
