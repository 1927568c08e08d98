// A person at a terminal, as a command sees them: keys on standard input, a screen with a size, a mode.

import { PassThrough } from "node:stream";
import { tmpdir } from "node:os";
import { runCommandLine } from "../src/program.ts";

export type FakeTerminal = {
  /** What has been shown so far. */
  screen(): string;
  notices(): string;
  isRaw(): boolean;
  type(keys: string): void;
  resize(columns: number, rows: number): void;
  /** Resolves once the screen or the notices match. */
  shows(pattern: RegExp): Promise<void>;
  /** As SIGTERM does. */
  interrupt(reason: Error): void;
  ended: Promise<number>;
};

export function atTerminal(args: readonly string[], env: Record<string, string>): FakeTerminal {
  let isRaw = false;
  let size = { columns: 100, rows: 30 };
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  Object.assign(stdin, {
    isTTY: true,
    setRawMode: (raw: boolean) => {
      isRaw = raw;
    },
  });
  Object.defineProperties(stdout, {
    isTTY: { value: true },
    columns: { get: () => size.columns },
    rows: { get: () => size.rows },
  });
  const text = { screen: "", notices: "" };
  const waiting = new Set<() => void>();
  const collect = (name: keyof typeof text) => (part: Buffer) => {
    text[name] += part.toString();
    for (const look of waiting) look();
  };
  stdout.on("data", collect("screen"));
  stderr.on("data", collect("notices"));
  const controller = new AbortController();
  const ended = runCommandLine(args, {
    env: { TERM: "xterm-test", ...env },
    cwd: tmpdir(),
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    signal: controller.signal,
    endInOrder: () => undefined,
  });
  return {
    screen: () => text.screen,
    notices: () => text.notices,
    isRaw: () => isRaw,
    type: (keys) => void stdin.write(keys),
    resize(columns, rows) {
      size = { columns, rows };
      stdout.emit("resize");
    },
    shows: (pattern) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!pattern.test(text.screen) && !pattern.test(text.notices)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    interrupt: (reason) => controller.abort(reason),
    ended,
  };
}
