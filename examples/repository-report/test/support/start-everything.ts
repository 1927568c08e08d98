import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { Client } from "@keelson/sdk";
import { createTestDatabase } from "../../../../packages/server/test/support/database.ts";
import { removeTestFolder } from "../../../../packages/server/test/support/test-folder.ts";
import { bareEnvironment } from "../../../../packages/server/test/support/bare-environment.ts";
import { programArguments } from "../../../../packages/server/test/support/programs.ts";

export const ROOT = resolve(import.meta.dirname, "../../../..");

export type Everything = {
  client: Client;
  url: string;
  /** Of the examples' project, as `client`. */
  apiKey: string;
  /** `credentials.json`: of the project that is the person's own. */
  credentials: { url: string; api_key: string };
  deploymentVersion: string;
  /** Of `keelson up`. */
  pid: number;
  stop(): Promise<void>;
};

/**
 * `keelson up` as a user runs it in the checkout, on a free port, a database of its own and a data folder of its own.
 * `settings` are added to its environment.
 */
export async function startEverything(settings: Record<string, string> = {}): Promise<Everything> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-example-"));
  const child = spawn(process.execPath, [...programArguments("cli/src/main.ts"), "up", "--json"], {
    cwd: ROOT,
    env: {
      ...{ ...bareEnvironment(), PORT: "0" },
      ...{ DATABASE_URL: database.url, KEELSON_DATA_DIR: dataDir },
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  const said = text(child.stderr);
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await closed;
    await database.drop();
    await removeTestFolder(dataDir);
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const { url, deployment_version: deploymentVersion } = JSON.parse(line) as {
      url: string;
      deployment_version: string;
    };
    const read = async (name: string): Promise<Everything["credentials"]> =>
      JSON.parse(await readFile(join(dataDir, name), "utf8")) as Everything["credentials"];
    const [credentials, examples] = [await read("credentials.json"), await read("examples.json")];
    const apiKey = examples.api_key;
    const pid = child.pid as number;
    const client = new Client({ url, apiKey });
    return { client, url, apiKey, credentials, deploymentVersion, pid, stop };
  }
  await stop();
  throw new Error(`keelson up ended: ${await said}`);
}
