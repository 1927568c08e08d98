import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { BenchPostgres } from "../harness/postgres.ts";
import { deployBundle, openApi } from "./api.ts";
import { deployProject } from "./deploy-project.ts";
import { startKeelson, type Keelson } from "./keelson.ts";

/**
 * A database with the measured deployment promoted in two environments, a project deployed by the command in a third, and no run. Each measurement that leaves rows works on a copy of it,
 * so that every round meets the same state.
 */
const TEMPLATE = "keelson_template";
let copies = 0;

export async function prepareDeployment(postgres: BenchPostgres): Promise<void> {
  const keelson = await startKeelson(dataDirOf(postgres), await postgres.createDatabase(TEMPLATE));
  try {
    await keelson.startAgent(1);
    await deployBundle(keelson.api);
    const otherKey = await keelson.addEnvironment("Other");
    await deployBundle(openApi(keelson.url, otherKey));
    await writeFile(keyFile(postgres, "other"), otherKey, { mode: 0o600 });
    const projectKey = await keelson.addEnvironment("Project");
    await deployProject(keelson, projectKey);
    await writeFile(keyFile(postgres, "project"), projectKey, { mode: 0o600 });
  } finally {
    await keelson.stop();
  }
}

/** Runs `measure` with a server on a fresh copy of `template`; the copy is dropped afterwards. */
export async function withKeelson<T>(
  postgres: BenchPostgres,
  measure: (keelson: Keelson, databaseUrl: string, databaseName: string) => Promise<T>,
  template = TEMPLATE,
): Promise<T> {
  copies += 1;
  const name = `keelson_${copies}`;
  const databaseUrl = await postgres.createDatabase(name, template);
  const keelson = await startKeelson(dataDirOf(postgres), databaseUrl);
  try {
    return await measure(keelson, databaseUrl, name);
  } finally {
    await keelson.stop();
    await postgres.dropDatabase(name);
  }
}

/** An environment besides the first: one with the same deployment, or one with the project. */
type Named = "other" | "project";

export const readKey = (postgres: BenchPostgres, name: Named): Promise<string> =>
  readFile(keyFile(postgres, name), "utf8");

const keyFile = (postgres: BenchPostgres, name: Named): string =>
  path.join(dataDirOf(postgres), `${name}-key`);

export const dataDirOf = (postgres: BenchPostgres): string => path.join(postgres.dir, "keelson");
