import type { Clock } from "../clock.ts";
import type { CredentialUse } from "../core/credentials/credential-use.ts";
import { recordUse } from "../core/credentials/record-use.ts";
import { USER_SESSION_MS } from "../core/logins/login.ts";
import { purgeLogins } from "../core/logins/purge-logins.ts";
import { purgeOauth } from "../core/oauth/purge-oauth.ts";
import type { Database } from "../db/pool.ts";
import type { LoopWork } from "./loop.ts";

/** Writes what was noted of credentials, and removes what nobody can sign in with any more. */
export const loginLoops = ({ db, clock }: { db: Database; clock: Clock }, use: CredentialUse): LoopWork[] => [
  {
    name: "record-credential-use",
    intervalMs: 5_000,
    run: () => recordUse(db, use, USER_SESSION_MS, clock()),
  },
  {
    name: "purge-logins",
    intervalMs: 60_000,
    needs: "settled-time",
    run: () => purgeLogins(db, clock()),
  },
  {
    name: "purge-oauth",
    intervalMs: 60_000,
    needs: "settled-time",
    run: () => purgeOauth(db, clock()),
  },
];
