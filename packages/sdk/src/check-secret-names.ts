import { SECRET_NAME_PATTERN } from "@keelson/contract/plain";
import { UsageError } from "./keelson-error.ts";

/** Throws a UsageError for a declared name that no secret can have. */
export function checkSecretNames(kind: string, id: string, names: readonly string[] = []): void {
  const badName = names.find((name) => !new RegExp(SECRET_NAME_PATTERN).test(name));
  if (badName === undefined) return;
  throw new UsageError(
    `${kind}(): "${id}" declares ${JSON.stringify(badName)}, which is not a secret's name (letters, digits, _, up to 128 characters)`,
  );
}
