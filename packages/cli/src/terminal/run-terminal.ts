import { once } from "node:events";
import type { PtyHandle, WorkspaceHandle } from "@keelson/sdk";
import type { Cli } from "../cli.ts";
import { noticeWaiting } from "../notice-waiting.ts";
import { createEscape } from "./escape.ts";
import { watchModes } from "./modes.ts";
import { enterRawMode } from "./raw-mode.ts";

/** Reconnections in a row that bring nothing: about two minutes, longer than a server takes to start again. */
export const MAX_RECONNECTS = 20;

/** Why a terminal is no longer shown. */
export type Ending = "ended" | "left";

const within = (value: number, byDefault: number): number => Math.min(1000, Math.max(1, value || byDefault));

/** The size of a terminal as a PTY may have it; some terminals do not know theirs. */
export const sizeOf = ({ columns, rows }: NodeJS.WriteStream): { cols: number; rows: number } => ({
  cols: within(columns, 80),
  rows: within(rows, 24),
});

/** Writes a line of ours among what the program shows. */
const interject = (cli: Cli, text: string): void => cli.notice(`\r\n(${text})\r`);

/** Shows the PTY's output, over disconnects, until it has ended. */
async function show(cli: Cli, pty: PtyHandle, signal: AbortSignal, watch: (shown: Uint8Array) => void) {
  const { stdout } = cli.host;
  // One lost connection is nobody's concern; a person who sees nothing happen is told why.
  let failures = 0;
  const chunks = pty.output.chunks({
    signal,
    maxReconnects: MAX_RECONNECTS,
    onGap: () => interject(cli, "older output is no longer kept"),
    onReconnect: () => {
      failures += 1;
      if (failures === 2) interject(cli, "connection lost, trying again; ~. leaves");
    },
    onConnect: () => {
      if (failures >= 2) interject(cli, "connected again");
      failures = 0;
    },
  });
  for await (const { bytes } of chunks) {
    watch(bytes);
    if (!stdout.write(bytes)) await once(stdout, "drain", { signal });
  }
}

/** Types what is typed here, until it is the escape. Never resolves when nothing more can be typed: the PTY's end decides. */
function type(cli: Cli, pty: PtyHandle, signal: AbortSignal): Promise<"left"> {
  const { stdin } = cli.host;
  const escape = createEscape();
  return new Promise((resolve, reject) => {
    const onData = (typed: Buffer): void => {
      const { forward, leaves } = escape(typed);
      if (forward.length > 0) pty.write(forward, { signal }).catch(reject);
      if (leaves) resolve("left");
    };
    stdin.on("data", onData);
    signal.addEventListener("abort", () => stdin.off("data", onData), { once: true });
  });
}

/** Gives the PTY the size of the terminal whenever that changes: the latest one, one call at a time. */
function followSize(cli: Cli, pty: PtyHandle, signal: AbortSignal): Promise<never> {
  const { stdout } = cli.host;
  return new Promise((_resolve, reject) => {
    let wanted = false;
    let isSending = false;
    const send = async (): Promise<void> => {
      isSending = true;
      try {
        while (wanted) {
          wanted = false;
          const { cols, rows } = sizeOf(stdout);
          await pty.resize(cols, rows, { signal });
        }
      } finally {
        isSending = false;
      }
    };
    const onResize = (): void => {
      wanted = true;
      if (!isSending) void send().catch(reject);
    };
    stdout.on("resize", onResize);
    signal.addEventListener("abort", () => stdout.off("resize", onResize), { once: true });
  });
}

const interrupted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });

/**
 * Makes this terminal the PTY's until it has ended or the person leaves it, and puts it back as it was, whatever happens.
 * Rejects with the host's signal, and when the connection stays lost.
 */
export async function runTerminal(cli: Cli, workspace: WorkspaceHandle, pty: PtyHandle): Promise<Ending> {
  const { stdin, stdout, signal: outer } = cli.host;
  const over = new AbortController();
  const modes = watchModes();
  const leaveRawMode = enterRawMode(stdin);
  stdin.resume();
  try {
    const shown = show(cli, pty, over.signal, modes.watch).then((): Ending => "ended");
    // What cannot be typed or resized any more because the program has ended is no failure: its output ends as well.
    const say = (text: string): void => interject(cli, text);
    const others = [
      type(cli, pty, over.signal),
      followSize(cli, pty, over.signal),
      noticeWaiting(workspace, pty, over.signal, say).then(() => shown),
    ];
    return await Promise.race([
      shown,
      interrupted(outer),
      ...others.map((other) => unlessEnded(other, shown)),
    ]);
  } finally {
    over.abort();
    stdin.pause();
    leaveRawMode();
    stdout.write(modes.reset());
  }
}

async function unlessEnded(other: Promise<Ending>, shown: Promise<Ending>): Promise<Ending> {
  try {
    return await other;
  } catch (error) {
    if ((error as { code?: unknown }).code === "invalid_state") return shown;
    throw error;
  }
}
