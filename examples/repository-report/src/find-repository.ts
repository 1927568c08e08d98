import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { NonRetryableError } from "@keelson/sdk";
import { GitError, readOutput } from "./run-git.ts";
import { resolvePath } from "./worker-folder.ts";

export type Repository = {
  /** The top folder of the checkout. */
  root: string;
  name: string;
  /** Null before the first commit. */
  head: string | null;
  /** Null when no branch is checked out. */
  branch: string | null;
  /** True when older history was left out of the clone. */
  shallow: boolean;
};

const HOW_TO_NAME_ONE = `name one in the payload, e.g. {"path": "/path/to/a/repository"}`;

/** Throws a NonRetryableError that says what to do when `path` is not inside a checkout. */
export async function findRepository(path: string, signal: AbortSignal): Promise<Repository> {
  const folder = resolvePath(path);
  await requireFolder(folder);
  const answer = await readOutput(
    folder,
    ["rev-parse", "--show-toplevel", "--is-shallow-repository"],
    signal,
  ).catch((error: unknown) => {
    if (!(error instanceof GitError)) throw error;
    throw new NonRetryableError(describeRefusal(folder, error), { cause: error });
  });
  // The folder's own name may have line breaks in it; the last line is the second answer.
  const lines = answer.trimEnd().split("\n");
  const shallow = lines.pop() === "true";
  const root = lines.join("\n");
  const [head, branch] = await Promise.all([
    readOptional(root, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], signal),
    readOptional(root, ["symbolic-ref", "--quiet", "--short", "HEAD"], signal),
  ]);
  return { root, name: basename(root) || root, head, branch, shallow };
}

async function requireFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
    throw new NonRetryableError(
      `There is no folder ${folder} that the worker can open (${error.code}); ${HOW_TO_NAME_ONE}`,
      { cause: error },
    );
  });
  if (!found.isDirectory()) {
    throw new NonRetryableError(`${folder} is a file; ${HOW_TO_NAME_ONE}`);
  }
}

function describeRefusal(folder: string, error: GitError): string {
  if (error.message.includes("dubious ownership")) {
    return `git does not read ${folder}, because it belongs to another account; run the worker as its owner`;
  }
  if (error.message.includes("must be run in a work tree")) {
    return `${folder} is a git repository without files checked out; ${HOW_TO_NAME_ONE}`;
  }
  return `${folder} is not in a git repository (${error.message}); ${HOW_TO_NAME_ONE}`;
}

/** Null when git says quietly, by its exit code, that there is no such thing. */
async function readOptional(root: string, args: string[], signal: AbortSignal): Promise<string | null> {
  try {
    return (await readOutput(root, args, signal)).trimEnd();
  } catch (error) {
    if (error instanceof GitError && error.exitCode === 1) return null;
    throw error;
  }
}
