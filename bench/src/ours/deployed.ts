import path from "node:path";
import type { BenchPostgres } from "../harness/postgres.ts";
import { deployBundle } from "./api.ts";
import { startKeelson, type Keelson } from "./keelson.ts";

/**
 * A database with the measured deployment promoted and no run. Each measurement that leaves rows works on a copy of it,
 * so that every round meets the same state.
 */
const TEMPLATE = "keelson_template";
let copies = 0;

export async function prepareDeployment(postgres: BenchPostgres): Promise<void> {
  const keelson = await startKeelson(dataDirOf(postgres), await postgres.createDatabase(TEMPLATE));
  try {
    await keelson.startAgent(1);
    await deployBundle(keelson.api);
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

export const dataDirOf = (postgres: BenchPostgres): string => path.join(postgres.dir, "keelson");
