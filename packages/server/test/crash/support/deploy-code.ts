// Deploys code that uses the SDK, as its author would: by the command.

import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ServerProcess, Site } from "./site.ts";
import { bareEnvironment } from "../../support/bare-environment.ts";
import { programArguments } from "../../support/programs.ts";

const ROOT = fileURLToPath(new URL("../../../../..", import.meta.url));
const TIMEOUT_MS = 30_000;

/** Bundles `source`, one module that declares tasks and actors, and makes it current. An agent must be running. */
export async function deployCode(site: Site, server: ServerProcess, source: string): Promise<void> {
  const folder = path.join(site.dir, `code-${Date.now()}`);
  await mkdir(path.join(folder, "src"), { recursive: true });
  await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"));
  const manifest = { name: "code", type: "module", keelson: { tasks: ["src/tasks.ts"] } };
  await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
  await writeFile(path.join(folder, "src/tasks.ts"), source);
  await promisify(execFile)(process.execPath, [...programArguments("cli/src/main.ts"), "deploy", "--json"], {
    cwd: folder,
    timeout: TIMEOUT_MS,
    env: {
      ...bareEnvironment(),
      KEELSON_URL: server.url,
      KEELSON_API_KEY: site.credentials.api_key,
    },
  });
}
