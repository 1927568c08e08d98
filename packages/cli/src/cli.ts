import { styleText } from "node:util";
import { Client, type ClientOptions } from "@keelson/sdk";
import type { Command } from "commander";
import { resolveAdmin, type AdminCredentials } from "./admin-credentials.ts";
import { resolveCredentials, type Environment } from "./config.ts";
import { resolveUser, type UserCredentials } from "./user-credentials.ts";
import { CLI_VERSION } from "./version.ts";

/** The process around a command. */
export type Host = {
  env: Environment;
  cwd: string;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** Aborted by Ctrl-C or SIGTERM. */
  signal: AbortSignal;
};

/** What every command is given: where its data goes, where its words go, and the server. */
export type Cli = {
  host: Host;
  isJson: () => boolean;
  /** A line of data. */
  print: (text: string) => void;
  printJson: (value: unknown) => void;
  /** A line for a person; nothing with --quiet. */
  notice: (text: string) => void;
  /** The client of --url and --api-key, the environment or the project. */
  client: (options?: Pick<ClientOptions, "maxRetries">) => Client;
  /** The signed-in user's client: KEELSON_USER_TOKEN, the project's, or that of `keelson login`. */
  user: () => UserClient;
  /** An administrator's client: KEELSON_ADMIN_KEY, the project's key, or the user of `keelson login`. */
  admin: () => AdminClient;
  /** The server that --url or KEELSON_URL names; null when neither does. */
  givenUrl: () => string | null;
  /** A client of a server with a user's token; without one, of routes that need none. */
  clientOf: (url: string, token: string | null) => Client;
};

/** A user's client and where the user acts unless told otherwise. */
export type UserClient = { client: Client; credentials: UserCredentials };

/** An administrator's client, and what it shows, for what is not JSON. */
export type AdminClient = { client: Client; credentials: AdminCredentials };

export type Style = Parameters<typeof styleText>[0];

/** Colours only where they can be seen: on a terminal, and not with NO_COLOR. */
export const paint = (stream: NodeJS.WriteStream, style: Style, text: string): string =>
  styleText(style, text, { stream });

type GlobalOptions = { url?: string; apiKey?: string; json?: boolean; quiet?: boolean };

export function createCli(program: Command, host: Host): Cli {
  const options = (): GlobalOptions => program.opts();
  const headers = { "service-cli-version": CLI_VERSION };
  const clientOf = (url: string, token: string | null): Client => new Client({ url, apiKey: token, headers });
  return {
    host,
    isJson: () => options().json === true,
    print: (text) => void host.stdout.write(`${text}\n`),
    printJson: (value) => void host.stdout.write(`${JSON.stringify(value)}\n`),
    notice: (text) => {
      if (options().quiet !== true) host.stderr.write(`${text}\n`);
    },
    client: (further = {}) =>
      new Client({
        ...further,
        ...resolveCredentials(options(), host.env, host.cwd),
        headers,
      }),
    user: () => {
      const credentials = resolveUser(options(), host.env, host.cwd);
      return { client: clientOf(credentials.url, credentials.token), credentials };
    },
    admin: () => {
      const credentials = resolveAdmin(options(), host.env, host.cwd);
      return { client: clientOf(credentials.url, credentials.credential), credentials };
    },
    givenUrl: () => options().url ?? (host.env["KEELSON_URL"] || null),
    clientOf,
  };
}
