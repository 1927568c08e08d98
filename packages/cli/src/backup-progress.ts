import type { BackupProgress } from "@keelson/server";
import type { Cli } from "./cli.ts";

const INTERVAL_MS = 100;

/** One line on a terminal that says how far it is; elsewhere nothing. */
export function showProgress(cli: Cli): { tell: (progress: BackupProgress) => void; clear: () => void } {
  const { stderr } = cli.host;
  let shownAt = -Infinity;
  const write = (text: string): void => {
    if (stderr.isTTY) stderr.write(`\r\u001B[K${text}`);
  };
  return {
    tell: ({ what, done, of }) => {
      const now = performance.now();
      if (now - shownAt < INTERVAL_MS) return;
      shownAt = now;
      write(`${what} ${of === null ? sizeOf(done) : `${Math.floor((100 * done) / Math.max(1, of))} %`}`);
    },
    clear: () => write(""),
  };
}

/** Bytes as a person reads them. */
export function sizeOf(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
