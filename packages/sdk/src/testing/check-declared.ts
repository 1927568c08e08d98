import type { ExecuteInput } from "@keelson/contract";
import { UsageError } from "../keelson-error.ts";
import type { TaskOptions } from "../task.ts";

type Declared = Readonly<Pick<TaskOptions, "sandbox" | "secrets">>;

/** The secrets that the code declares, as a worker gives it no others. Throws a UsageError for what a test in process cannot do. */
export function checkDeclared(
  { kind, declaredId }: ExecuteInput["entrypoint"],
  { sandbox, secrets = [] }: Declared,
  given: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const what = `The ${kind} "${declaredId}"`;
  if (sandbox !== undefined)
    throw new UsageError(
      `${what} declares a sandbox, and a test in process has no workspaces. Move the code that works in the workspace into a child task, and pass a function for it in \`children\`; or test it on a server.`,
    );
  const missing = secrets.filter((name) => !Object.hasOwn(given, name));
  if (missing.length > 0)
    throw new UsageError(
      `${what} declares the secret ${missing.join(", ")}: pass its value in \`secrets\` of the test's options.`,
    );
  return Object.fromEntries(secrets.map((name) => [name, given[name] as string]));
}
