import { randomBytes } from "node:crypto";
import { CREDENTIAL_KINDS, formatCredential, PERMISSIONS } from "@keelson/contract";
import { credentialDigest } from "../../../src/core/credentials/digest.ts";
import { sql } from "../../../src/db/sql.ts";
import type { Site } from "./site.ts";

/** Makes an API key of an environment with all permissions. @returns the key */
export async function insertKey({ db }: Pick<Site, "db">, environment: string): Promise<string> {
  const key = formatCredential(CREDENTIAL_KINDS.apiKey, randomBytes(96));
  await db.query(sql`
    INSERT INTO api_keys (digest, id, environment_id, name, permissions)
    SELECT ${credentialDigest(key)}, gen_random_uuid(), id, ${environment}, ${[...PERMISSIONS]}::text[]
    FROM environments WHERE slug = ${environment}`);
  return key;
}
