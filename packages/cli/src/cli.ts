import { styleText } from "node:util";
import { Client, type ClientOptions } from "@keelson/sdk";
import type { Command } from "commander";
import { resolveAdmin } from "./admin-credentials.ts";
import { chosenPlace, type ChosenPlace } from "./chosen-place.ts";
import type { Environment } from "./config.ts";
import { findPlaceIds } from "./find-place.ts";
import { givenKey, resolveAccess } from "./resolve-access.ts";
import { visibleStyled } from "./terminal/visible.ts";
import { createWireJson, type WireJson } from "./wire-json.ts";
import { createSessionFetch, type PlaceIds } from "./session-fetch.ts";
import { resolveUser, type UserCredentials } from "./user-credentials.ts";
import { CLI_VERSION } from "./version.ts";

/** The process around a command. */
export type Host = {
  env: Environment;
  cwd: string;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** Aborted by Ctrl-C, SIGTERM, SIGHUP or SIGQUIT. */
  signal: AbortSignal;
  /** Said by a command whose parts must end one after the other: see `hear-signals.ts`. */
  endInOrder: () => void;
};

/** What every command is given: where its data goes, where its words go, and the server. */
export type Cli = {
  host: Host;
  isJson: () => boolean;
  /** A line of data. */
  print: (text: string) => void;
  printJson: (value: unknown) => void;
  /** Answers of the clients as the wire has them. */
  wire: WireJson;
  /** A line for a person; nothing with --quiet. */
  notice: (text: string) => void;
  /** The client of an API key, or that of the signed-in person in the environment they chose. */
  client: (options?: Pick<ClientOptions, "maxRetries">) => Promise<Client>;
  /** The signed-in user's client: KEELSON_USER_TOKEN, the project's, or that of `keelson login`. */
  user: () => UserClient;
  /** The client of the API key that the command line or KEELSON_API_KEY gives; null without one. */
  ofGivenKey: () => { client: Client; url: string } | null;
  /** The project and environment that the command line, the settings and the profile name. */
  place: () => ChosenPlace;
  /** An administrator's client: KEELSON_ADMIN_KEY, the project's key, or the user of `keelson login`. */
  admin: () => Client;
  /** The server that --url or KEELSON_URL names; null when neither does. */
  givenUrl: () => string | null;
  /** A client of a server with a user's token; without one, of routes that need none. */
  clientOf: (url: string, token: string | null) => Client;
};

/** A user's client and where the user acts unless told otherwise. */
export type UserClient = { client: Client; credentials: UserCredentials };

export type Style = Parameters<typeof styleText>[0];

/** Colours only where they can be seen: on a terminal, and not with NO_COLOR. */
export const paint = (stream: NodeJS.WriteStream, style: Style, text: string): string =>
  styleText(style, text, { stream });

type GlobalOptions = {
  url?: string;
  apiKey?: string;
  project?: string;
  environment?: string;
  profile?: string;
  json?: boolean;
  quiet?: boolean;
};

export function createCli(program: Command, host: Host): Cli {
  const options = (): GlobalOptions => program.opts();
  const wire = createWireJson();
  const common = { headers: { "service-cli-version": CLI_VERSION }, wireObjects: wire.objects };
  const clientOf = (url: string, token: string | null): Client =>
    new Client({ ...common, url, apiKey: token });
  let placeIds: Promise<PlaceIds> | undefined;
  const user = (): UserClient => {
    const credentials = resolveUser(options(), host.env, host.cwd);
    return { client: clientOf(credentials.url, credentials.token), credentials };
  };
  const cli: Cli = {
    host,
    isJson: () => options().json === true,
    print: (text) => void host.stdout.write(`${visibleStyled(text)}\n`),
    printJson: (value) => void host.stdout.write(`${wire.text(value)}\n`),
    wire,
    notice: (text) => {
      if (options().quiet !== true) host.stderr.write(`${visibleStyled(text)}\n`);
    },
    client: async (further = {}) => {
      const access = resolveAccess(options(), host.env, host.cwd);
      if (access.kind === "key")
        return new Client({ ...common, ...further, url: access.url, apiKey: access.apiKey });
      const { url: given, token: apiKey } = access.user;
      const url = given.replace(/\/+$/, "");
      // Looked up once for all clients of a command.
      const place = await (placeIds ??= findPlaceIds(cli, user()));
      return new Client({ ...common, ...further, url, apiKey, fetch: createSessionFetch(url, place) });
    },
    user,
    ofGivenKey: () => {
      if (givenKey(options(), host.env) === null) return null;
      const access = resolveAccess(options(), host.env, host.cwd);
      return access.kind === "key" ? { client: clientOf(access.url, access.apiKey), url: access.url } : null;
    },
    place: () => chosenPlace(options(), host.env),
    admin: () => {
      const credentials = resolveAdmin(options(), host.env, host.cwd);
      return clientOf(credentials.url, credentials.credential);
    },
    givenUrl: () => chosenPlace(options(), host.env).url,
    clientOf,
  };
  return cli;
}
