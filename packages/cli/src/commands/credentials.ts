import { randomBytes } from "node:crypto";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { EXIT, ExitError } from "../exit-codes.ts";
import { parseCellOption } from "../parse-arguments.ts";

const EXPLANATION = `
Writes one file for each setting that servers and workers are given as <NAME>_FILE:
  credentials       KEELSON_CREDENTIALS of all servers: what a first start would make
  master_key        KEELSON_MASTER_KEY of all servers; keep a copy, without it secrets cannot be read
  enrollment_token  KEELSON_ENROLLMENT_TOKEN of workers
  capacity_key      for what scales workers by /capacity/v1
  user_token        KEELSON_USER_TOKEN: the owner, for 30 days, to invite the first person with
Nothing is valid before a server has started with them. A folder that is there is not written to.

Example:
  $ keelson credentials secrets
`;

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}

export function addCredentials(parent: Command, cli: Cli): void {
  parent
    .command("credentials")
    .argument("<folder>", "the folder to make")
    .option("--cell <tag>", "the KEELSON_CELL that the servers will have, such as eu1", parseCellOption)
    .description("Create the keys and first credentials of an installation as files")
    .addHelpText("after", EXPLANATION)
    .action(async (name: string, { cell }: { cell?: string }) => {
      const folder = resolve(cli.host.cwd, name);
      if (await exists(folder))
        throw new ExitError(EXIT.conflict, `${folder} is there already; name a folder that is not`);
      const { makeCredentials } = await import("@keelson/server");
      const credentials = makeCredentials(cell ?? null);
      const files = {
        credentials: JSON.stringify(credentials, null, 2),
        master_key: randomBytes(32).toString("base64"),
        enrollment_token: credentials.enrollment_token,
        capacity_key: credentials.capacity_key,
        user_token: credentials.user_token,
      };
      // The folder keeps others of this machine out. Its files can be read by whoever is shown one of them: in a
      // container that is another account than the one that made them.
      await mkdir(folder, { mode: 0o700 });
      for (const [file, text] of Object.entries(files))
        await writeFile(join(folder, file), `${text}\n`, { mode: 0o444, flag: "wx", flush: true });
      if (cli.isJson()) cli.printJson({ folder, files: Object.keys(files) });
      else cli.print(folder);
      cli.notice("Keep a copy of master_key elsewhere: without it, secrets cannot be read");
    });
}
