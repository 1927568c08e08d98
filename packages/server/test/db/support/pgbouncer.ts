// PgBouncer in front of a test's database, where it is installed.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chown, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { makeTestFolder, removeTestFolder } from "../../support/test-folder.ts";

const version = spawnSync("pgbouncer", ["--version"], { encoding: "utf8" });

export const WITHOUT_PGBOUNCER = version.status === 0 ? false : "pgbouncer is not installed";

/** Before 1.21 it knows no prepared statements, nor the setting. */
export const FORGETS: Readonly<Record<string, string>> = /\b1\.(\d|1\d|20)\./.test(version.stdout ?? "")
  ? {}
  : { max_prepared_statements: "0" };

export interface PgBouncer {
  readonly url: string;
  /** Kills it, and starts it again in the same place. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** PostgreSQL lets nobody else to its socket, and PgBouncer does not run as root. */
const NOBODY = 65_534;

/** Pools the transactions of a database. `settings` are of `pgbouncer.ini`. */
export async function startPgBouncer(
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PgBouncer> {
  const folder = await makeTestFolder();
  const place = path.join(folder, "pooler");
  await mkdir(place);
  const target = new URL(databaseUrl.replace("@/", "@socket/"));
  const [user, name] = [target.username, target.pathname.slice(1)];
  const account = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (account.uid !== undefined) await chown(place, account.uid, account.gid);
  const options = { pool_mode: "transaction", auth_type: "trust", listen_port: "6432", ...settings };
  const ini = [
    "[databases]",
    `${name} = host=${target.searchParams.get("host")} port=${target.searchParams.get("port")} dbname=${name} user=${user}`,
    "[pgbouncer]",
    `unix_socket_dir = ${place}`,
    `auth_file = ${path.join(folder, "users")}`,
    ...Object.entries(options).map(([key, value]) => `${key} = ${value}`),
  ];
  await writeFile(path.join(folder, "users"), `"${user}" ""\n`, { mode: 0o644 });
  await writeFile(path.join(folder, "pgbouncer.ini"), `${ini.join("\n")}\n`, { mode: 0o644 });
  const end = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  const start = async (): Promise<ChildProcess> => {
    const child = spawn("pgbouncer", [path.join(folder, "pgbouncer.ini")], {
      ...account,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const said: string[] = [];
    for await (const line of createInterface({ input: child.stderr })) {
      said.push(line);
      if (/process up/.test(line)) {
        child.stderr.resume();
        return child;
      }
    }
    await end(child);
    await removeTestFolder(folder);
    throw new Error(`PgBouncer did not start:\n${said.join("\n")}`);
  };
  let running = await start();
  return {
    url: `postgresql://${user}@/${name}?host=${encodeURIComponent(place)}&port=6432`,
    restart: async () => {
      await end(running);
      running = await start();
    },
    stop: async () => {
      await end(running);
      await removeTestFolder(folder);
    },
  };
}
