import { LIMITS } from "@keelson/contract/plain";
import { toJsonText } from "../json-text.ts";
import { fail, type Failure } from "./failure.ts";
import { UsageError } from "../keelson-error.ts";

type EncodedOutput = { text: string | null } | { outcome: "failed"; failure: Failure };

/** The deepest nesting of JSON text. */
function jsonDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 92) i += 1;
      else if (code === 34) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 123 || code === 91) deepest = Math.max(deepest, (depth += 1));
    else if (code === 125 || code === 93) depth -= 1;
  }
  return deepest;
}

/** JSON text, or why there is none. */
export type EncodedJson = { text: string | undefined } | { problem: string; stack: string | null };

/**
 * The JSON text of a value, undefined for undefined. `root` names the value in the path of what is not JSON; `problem`
 * goes on a sentence that began with what the value is.
 */
export function encodeJson(value: unknown, root: string, maxBytes: number): EncodedJson {
  if (value === undefined) return { text: undefined };
  const refuse = (problem: string, stack: string | null = null): EncodedJson => ({ problem, stack });
  let text: string | undefined;
  try {
    text = toJsonText(value, root);
  } catch (error) {
    const { message, cause } = error as Error;
    return refuse(`is not JSON: ${message}`, cause instanceof Error ? (cause.stack ?? null) : null);
  }
  if (text === undefined) return refuse(`is not JSON: a ${typeof value}`);
  // Each UTF-16 unit is at most three bytes: most values need no exact count, nor can short text be deep.
  if (text.length * 3 > maxBytes) {
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > maxBytes)
      return refuse(
        `is ${bytes} bytes of JSON; the limit is ${maxBytes}. Store it elsewhere and keep where it is`,
      );
  }
  if (text.length > 2 * LIMITS.jsonDepth && jsonDepth(text) > LIMITS.jsonDepth)
    return refuse(`is nested more than ${LIMITS.jsonDepth} levels deep`);
  return { text };
}

/**
 * The JSON text of what a task returned, null for undefined. What is not JSON, is nested too deeply or is over
 * 512 KiB fails the run without a retry: the same code would return it again.
 */
export function encodeOutput(taskId: string, value: unknown): EncodedOutput {
  const encoded = encodeJson(value, "output", LIMITS.outputBytes);
  if ("text" in encoded) return { text: encoded.text ?? null };
  return fail("application_error", `The output of "${taskId}" ${encoded.problem}`, { stack: encoded.stack });
}

/**
 * The value as JSON has it, null for undefined: what a call sends is what it was when the call was made. Throws a
 * TypeError that begins with `what`.
 */
export function toJsonValue(value: unknown, what: string, maxBytes: number): unknown {
  const encoded = encodeJson(value, "value", maxBytes);
  if ("problem" in encoded) throw new UsageError(`${what} ${encoded.problem}`);
  return encoded.text === undefined ? null : (JSON.parse(encoded.text) as unknown);
}
