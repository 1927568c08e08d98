// The example as `keelson up` deploys it, with waits that a test can sit out.

import { readdir, readFile } from "node:fs/promises";
import {
  startEverything,
  type Everything,
} from "../../../repository-report/test/support/start-everything.ts";

export type ChatSettings = { parkAfter: string; idleSeconds: number; expiresAfterSeconds: number };

export function startChat(settings: ChatSettings): Promise<Everything> {
  return startEverything({
    KEELSON_PARK_AFTER: settings.parkAfter,
    KEELSON_TASK_ENV: "APPROVAL_CHAT_IDLE_SECONDS,APPROVAL_CHAT_EXPIRES_AFTER_SECONDS",
    APPROVAL_CHAT_IDLE_SECONDS: String(settings.idleSeconds),
    APPROVAL_CHAT_EXPIRES_AFTER_SECONDS: String(settings.expiresAfterSeconds),
  });
}

/** The process of the worker, which `keelson up` starts again when it dies. */
export async function findAgent({ pid }: Everything): Promise<number | null> {
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    // A process may be gone by now.
    const read = (file: string): Promise<string> =>
      readFile(`/proc/${entry}/${file}`, "utf8").catch(() => "");
    const parent = /^\d+ \(.*\) \S (\d+)/s.exec(await read("stat"))?.[1];
    if (Number(parent) === pid && (await read("cmdline")).split("\0").includes("agent")) return Number(entry);
  }
  return null;
}
