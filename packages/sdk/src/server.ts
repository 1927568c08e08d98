/** What the backend of a page does: it has an API key, knows who asks, and gives the page what the hooks of `@keelson/sdk/react` take. */
import type { Client } from "./client/client.ts";
import type { RequestOptions } from "./client/exchange.ts";
import type { DurationInput } from "./duration-input.ts";

type Access = {
  /** Where pages reach the Keelson server, e.g. `https://keelson.example.com`. */
  url: string;
  /** How long the page's token works. Default: that of public access tokens. */
  expiresIn?: DurationInput;
};

/** Which run. */
export type RunAccess = Access & {
  /** The run, or its id. */
  run: string | { id: string };
};

/** What `useRun()` and `watchRun()` take. */
export type RunConnection = {
  /** Of the Keelson server. */
  url: string;
  /** The run's id. */
  run: string;
  /** Watches this one run. */
  token: string;
};

/**
 * Makes a token with which a page watches a run. Check who asks before that: whoever has the token sees what becomes of the run, its output and
 * metadata included.
 *
 * @example
 * ```ts
 * import { Client } from "@keelson/sdk/client";
 * import { openRun } from "@keelson/sdk/server";
 *
 * const client = new Client();
 * const run = await client.tasks.start("report", { week: 47 });
 * console.log(await openRun(client, { url: "https://keelson.example.com", run }));
 * ```
 */
export async function openRun(
  client: Client,
  { url, run, expiresIn }: RunAccess,
  options: RequestOptions = {},
): Promise<RunConnection> {
  const id = typeof run === "string" ? run : run.id;
  const wanted = { type: "run.read", run: id, ...lasting(expiresIn) } as const;
  const { publicAccessToken } = await client.publicAccessTokens.create(wanted, options);
  return { url, run: id, token: publicAccessToken };
}

/** Which session. */
export type SessionAccess = Access & {
  /** The id of the actor. */
  actor: string;
  /** Your own id of the conversation. The same one opens the same session, as long as that is open. */
  externalId: string;
  /** The input streams that the page may send to. Default `input` alone. */
  inputs?: readonly string[];
  /** The output streams that the page may read. Default `output` alone. */
  outputs?: readonly string[];
};

/** What `useSession()` and `createSessionClient()` take. */
export type SessionConnection = {
  /** Of the Keelson server. */
  url: string;
  /** The session. */
  session: { id: string };
  /** Sends, reads, and interrupts in this one session. */
  token: string;
};

/**
 * Opens a session of an actor, or finds the one that is open, and makes a token for a page. Check who asks before that: whoever has the token
 * reads and writes the session.
 *
 * @example
 * ```ts
 * import { Client } from "@keelson/sdk/client";
 * import { openSession } from "@keelson/sdk/server";
 *
 * const url = "https://keelson.example.com";
 * console.log(await openSession(new Client(), { url, actor: "echo-chat", externalId: "visitor-1" }));
 * ```
 */
export async function openSession(
  client: Client,
  { url, actor, externalId, inputs, outputs, expiresIn }: SessionAccess,
  options: RequestOptions = {},
): Promise<SessionConnection> {
  const { id } = await client.sessions.create({ actor, externalId }, options);
  const streams = { ...(inputs !== undefined && { inputs }), ...(outputs !== undefined && { outputs }) };
  const wanted = { type: "session.chat", session: id, ...streams, ...lasting(expiresIn) } as const;
  const { publicAccessToken } = await client.publicAccessTokens.create(wanted, options);
  return { url, session: { id }, token: publicAccessToken };
}

const lasting = (expiresIn: DurationInput | undefined): { expiresIn?: DurationInput } =>
  expiresIn === undefined ? {} : { expiresIn };
