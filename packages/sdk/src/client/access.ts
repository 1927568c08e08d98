import { findCurrentRun, isInBundle } from "../current-run.ts";
import type { DurableRun } from "../runtime/durable/durable-run.ts";
import type { ClientOptions } from "./config.ts";
import { AuthenticationError } from "./errors.ts";
import { toServerUrl } from "./server-url.ts";
import { UsageError } from "../keelson-error.ts";

/** Where a request goes and what it shows. */
export type Access = { url: string; apiKey: string | null };

/** Asked at each request. */
export type AccessSource = {
  find(): Access;
  /** Requests of different owners are never sent as one. */
  owner(): object;
};

type Settings = { url: string | undefined; apiKey: string | undefined };
type NodeLike = { process?: { env?: Record<string, string | undefined> } };

/** An option of `ctx.client` alone: the run that the client is bound to. */
export const BOUND_RUN = Symbol("keelson.bound-run");
export type BoundOptions = ClientOptions & { [BOUND_RUN]?: DurableRun };

/**
 * Whose credential a client shows. With `apiKey`, or with a `url`, it is the one that it was made with. Without either, a
 * request from the code of a run shows that run's own, whoever made the client, and any other request what the
 * environment names.
 *
 * Throws a UsageError that says which setting is missing or wrong.
 */
export function resolveAccess(options: BoundOptions): AccessSource {
  const bound = options[BOUND_RUN];
  if (bound !== undefined) return accessOfRun(bound);
  const isGiven = options.apiKey !== undefined || options.url !== undefined;
  if (isGiven) {
    const url = options.url ?? readSettings().url ?? findCurrentRun()?.run.input.access?.url;
    return fixedAccess({
      url,
      apiKey: options.apiKey === undefined ? readSettings().apiKey : options.apiKey,
    });
  }
  // Code of a bundle may make its client before there is a run; elsewhere a missing setting is told at once.
  const fixed = isInBundle() ? null : fixedAccess(readSettings());
  return {
    find: () => {
      const current = findCurrentRun();
      if (current !== undefined) return checkedAccess(current.run);
      return (fixed ?? fixedAccess(readSettings())).find();
    },
    owner: () => findCurrentRun()?.run ?? options,
  };
}

/** `ctx.client`: of its run wherever it is used, and of no use to the code of another one. */
function accessOfRun(run: DurableRun): AccessSource {
  return {
    find: () => {
      const current = findCurrentRun();
      if (current !== undefined && current.run !== run)
        throw new UsageError(
          `This client is that of ${run.input.run.id}, and the code of ${current.run.input.run.id} used it. Use ctx.client of the run whose code it is.`,
        );
      return checkedAccess(run);
    },
    owner: () => run,
  };
}

function checkedAccess(run: DurableRun): Access {
  const { access, run: leased, client } = run.input;
  if (access === undefined && client !== undefined)
    throw new UsageError(
      "A test in process has no server. Use `ctx.client` and pass `client` in the options of the test, or give this client `url` and `apiKey`.",
    );
  if (access === undefined)
    throw new UsageError(
      "This worker gives its runs no credential; update its agent, or pass `url` and `apiKey`.",
    );
  if (run.over)
    throw new AuthenticationError({
      code: "unauthenticated",
      message: `${leased.id} no longer runs here, and its client is refused. Await what the run does before it ends; what goes on afterwards needs a Client with an \`apiKey\` of its own.`,
    });
  return { url: access.url, apiKey: access.credential };
}

/** Only for what is not given: a runtime such as Deno refuses the environment to code without the permission. */
function readSettings(): Settings {
  const env = (globalThis as NodeLike).process?.env ?? {};
  return { url: env["KEELSON_URL"], apiKey: env["KEELSON_API_KEY"] };
}

function fixedAccess({
  url,
  apiKey,
}: {
  url: string | undefined;
  apiKey: string | null | undefined;
}): AccessSource {
  if (url === undefined || url === "") throw new UsageError("No server URL: pass `url` or set KEELSON_URL");
  // A file that a key was read from ends with a line break.
  const key = apiKey?.trim() ?? apiKey;
  if (key === undefined || key === "")
    throw new UsageError("No API key: pass `apiKey` or set KEELSON_API_KEY");
  if (key !== null && !/^[!-~]+$/.test(key))
    throw new UsageError(
      "The API key has a character that no key has, such as a space: pass it as it was created",
    );
  const access = { url: toServerUrl(url), apiKey: key };
  return { find: () => access, owner: () => access };
}
