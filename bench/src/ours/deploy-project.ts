import { spawn } from "node:child_process";
import path from "node:path";
import { programOf } from "../harness/build-programs.ts";
import { watchChild } from "../harness/child.ts";
import type { Keelson } from "./keelson.ts";

const ROOT = path.join(import.meta.dirname, "..", "..", "..");

/** The project in `bench/project`, whose `noop` is a task as the guides show it. */
const PROJECT = path.join(ROOT, "bench", "project");

/** Deploys a project to an environment as a user does, with `keelson deploy`. Needs an agent. */
export async function deployProject(keelson: Keelson, apiKey: string): Promise<void> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [programOf("cli"), "deploy", "--yes"], {
    cwd: PROJECT,
    env: { PATH, HOME, KEELSON_URL: keelson.url, KEELSON_API_KEY: apiKey },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += String(text)));
  const ended = Promise.withResolvers<number | null>();
  child.on("close", (exitCode) => ended.resolve(exitCode));
  watchChild(child, "keelson deploy");
  const exitCode = await ended.promise;
  if (exitCode !== 0) throw new Error(`keelson deploy ended with exit code ${exitCode}:\n${said}`);
}
