import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";

/** So many are kept: whoever waits for an older one asks again. */
const MAX_MAILS = 100;

/**
 * Keeps mails in files that their owner alone can read. For a service without SMTP: what it writes goes to a journal, and
 * the links in mails are credentials. The log has the file's name, and not the recipient.
 */
export function keepMails(folder: string, clock: Clock, log: Logger): (text: string) => Promise<void> {
  let count = 0;
  return async (text) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    count += 1;
    // By name the oldest is the first. Servers that share the folder have process ids of their own.
    const time = new Date(clock()).toISOString().replaceAll(":", "-");
    const file = join(folder, `${time}-${process.pid}-${count}.txt`);
    await writeFile(file, text.trimStart(), { mode: 0o600, flag: "wx" });
    log.warn({ file }, "mail kept in a file: SMTP_URL is not set");
    const names = (await readdir(folder)).toSorted();
    for (const name of names.slice(0, -MAX_MAILS)) await rm(join(folder, name), { force: true });
  };
}
