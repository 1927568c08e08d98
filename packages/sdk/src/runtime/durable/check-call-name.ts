import type { JournalKind } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { checkText } from "../../json-text.ts";
import { UsageError } from "../../keelson-error.ts";

/** Throws a UsageError for a name that a journal does not keep. */
export function checkCallName(kind: JournalKind, name: string): void {
  if (name === "" || name.length > LIMITS.durableNameCharacters)
    throw new UsageError(
      `The name of a ${kind} has 1 to ${LIMITS.durableNameCharacters} characters, not ${name.length}`,
    );
  checkText(name, `the name of a ${kind}`);
}
