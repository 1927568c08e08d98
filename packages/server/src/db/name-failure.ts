// Says why a PostgreSQL cannot be used, and what to do, where the driver says only what it met.

import pg from "pg";

/** Why nothing can be done with it, by the code of the system, of TLS or of PostgreSQL. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there. Start PostgreSQL, or correct the host and the port.",
  ENOTFOUND: "nobody knows that host. Correct its name.",
  EAI_AGAIN: "the host's name cannot be looked up. Correct it, or mend the DNS.",
  EHOSTUNREACH: "no network leads there. Correct the host, or mend the network.",
  ENETUNREACH: "no network leads there. Correct the host, or mend the network.",
  ETIMEDOUT: "it does not answer. Correct the host and the port, or let the firewall pass the connection.",
  ENOENT: "there is no such socket. Start PostgreSQL, or correct the folder.",
  "28P01":
    "it refuses the password. Correct it; in a URL each of @ : / # ? % in a password is percent-encoded (%40 for @).",
  "3D000": "it has no such database. Make it with CREATE DATABASE, or correct the name.",
  "3F000":
    "no schema of the role's search_path exists. Run CREATE SCHEMA keelson AUTHORIZATION <role>; ALTER ROLE <role> SET search_path = keelson;",
  "42501": "the role lacks rights. Run GRANT USAGE, CREATE ON SCHEMA <schema> TO <role>;",
  "53300":
    "it has no connection left. Raise max_connections or the role's CONNECTION LIMIT, or lower KEELSON_POOL_SIZE.",
  "08P01":
    "a connection pooler refuses our start-up options. Set DATABASE_DIRECT_URL to PostgreSQL itself, and KEELSON_STATEMENT_NAMES=off unless the pooler keeps prepared statements.",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "its certificate is for another host. Use the name in it, or sslmode=verify-ca.",
};

const UNKNOWN_AUTHORITY =
  "its certificate is of an authority that is unknown here. Name its certificate with sslrootcert=/path/ca.pem, or encrypt without that check with sslmode=require.";

const TLS_CODES = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
]);

/** What the driver says has no code, and one code of PostgreSQL has two reasons. */
const SAYINGS: readonly [RegExp, string][] = [
  [/^role .* does not exist/, "correct the user, or make it with CREATE ROLE … LOGIN."],
  [
    /no pg_hba\.conf entry.*(no encryption|SSL off)/,
    "add sslmode=require to the URL, or allow it in pg_hba.conf.",
  ],
  [/pg_hba\.conf/, "allow the user and this address in pg_hba.conf."],
  [/timeout expired|connection timeout/i, REASONS["ETIMEDOUT"] as string],
  [
    /terminated unexpectedly|Connection ended|unexpected message|Unknown message/i,
    "what answers there does not speak as PostgreSQL. Correct the host and the port.",
  ],
  [
    /does not support SSL/i,
    "it does not offer TLS. Turn its ssl on, or use sslmode=disable where the network is safe.",
  ],
];

function reasonOf(error: unknown): string | null {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  if (!(first instanceof Error)) return null;
  const { code, message } = first as Error & { code?: unknown };
  const said = SAYINGS.find(([saying]) => saying.test(message))?.[1];
  const reason =
    said ??
    (TLS_CODES.has(code as string) ? UNKNOWN_AUTHORITY : REASONS[typeof code === "string" ? code : ""]);
  if (reason === undefined) return null;
  // What PostgreSQL says names the role, the address or the schema.
  return first instanceof pg.DatabaseError ? `${message}: ${reason}` : reason;
}

/** Where a URL leads, without its credentials. */
function placeOf(url: string): string {
  const { host, port } = new pg.Client({ connectionString: url });
  return host.startsWith("/") ? `in ${host}` : `at ${host}:${port} (DATABASE_URL)`;
}

/** The error itself, or one that says in one line what to do about it. */
export function nameFailure(error: unknown, url: string): unknown {
  const reason = reasonOf(error);
  return reason === null
    ? error
    : new Error(`Cannot use the PostgreSQL ${placeOf(url)}: ${reason}`, { cause: error });
}
