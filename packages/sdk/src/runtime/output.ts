import { LIMITS } from "@keelson/contract/plain";
import { fail, type Failure } from "./failure.ts";

type EncodedOutput = { text: string | null } | { outcome: "failed"; failure: Failure };

/** Where in a value JSON ends: the path of the first big integer or of the first object inside itself. */
function findNonJson(value: unknown, path: string, above: readonly unknown[]): string | null {
  if (typeof value === "bigint") return `a BigInt at ${path}`;
  if (typeof value !== "object" || value === null) return null;
  if (above.includes(value)) return `a cycle at ${path}`;
  if (above.length > LIMITS.jsonDepth) return `more than ${LIMITS.jsonDepth} levels at ${path}`;
  for (const [key, part] of Object.entries(value)) {
    const found = findNonJson(part, `${path}${Array.isArray(value) ? `[${key}]` : `.${key}`}`, [
      ...above,
      value,
    ]);
    if (found !== null) return found;
  }
  return null;
}

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

/**
 * The JSON text of what a task returned, null for undefined. What is not JSON, is nested too deeply or is over
 * 512 KiB fails the run without a retry: the same code would return it again.
 */
export function encodeOutput(taskId: string, value: unknown): EncodedOutput {
  if (value === undefined) return { text: null };
  const refuse = (why: string, stack?: string): EncodedOutput =>
    fail("application_error", `The output of "${taskId}" ${why}`, { stack: stack ?? null });
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    let found: string | null = null;
    try {
      found = findNonJson(value, "output", []);
    } catch {
      found = "a property that cannot be read";
    }
    return refuse(`is not JSON: ${found ?? String(error)}`, error instanceof Error ? error.stack : undefined);
  }
  if (text === undefined) return refuse(`is not JSON: a ${typeof value}`);
  // Each UTF-16 unit is at most three bytes: most outputs need no exact count, nor can short text be deep.
  if (text.length * 3 > LIMITS.outputBytes) {
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > LIMITS.outputBytes)
      return refuse(
        `is ${bytes} bytes of JSON; the limit is ${LIMITS.outputBytes}. Store it elsewhere and return where it is`,
      );
  }
  if (text.length > 2 * LIMITS.jsonDepth && jsonDepth(text) > LIMITS.jsonDepth)
    return refuse(`is nested more than ${LIMITS.jsonDepth} levels deep`);
  return { text };
}
