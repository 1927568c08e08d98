import type { DurableError, ExecuteResult, FailureKind } from "@keelson/contract";
import { readRetryAdvice } from "../retry-advice.ts";

export type Failure = Extract<ExecuteResult, { outcome: "failed" }>["failure"];

const MAX_CHARACTERS = 16_384;
const MAX_CAUSES = 8;
/** Of an error that the journal keeps, which every later execution of the run loads. */
const MAX_JOURNALED_STACK = 4_096;
const MAX_NAME_CHARACTERS = 256;

/** Text that every part of the way can store: no NUL, no half of a surrogate pair, bounded. */
function storable(text: string): string {
  const cut = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}… (cut)` : text;
  return cut.replaceAll("\u0000", "\uFFFD").toWellFormed();
}

function describe(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** An error's stack followed by those of its causes and, for an AggregateError, of its parts. */
function stackChain(error: Error): string {
  const seen = new Set<unknown>();
  const parts: string[] = [];
  const visit = (value: unknown, label: string): void => {
    if (parts.length >= MAX_CAUSES || seen.has(value)) return;
    seen.add(value);
    if (!(value instanceof Error)) {
      parts.push(`${label}${describe(value)}`);
      return;
    }
    parts.push(`${label}${value.stack ?? `${value.name}: ${value.message}`}`);
    if (value instanceof AggregateError) value.errors.forEach((part, i) => visit(part, `[errors ${i}] `));
    if (value.cause !== undefined) visit(value.cause, "[cause] ");
  };
  visit(error, "");
  return parts.join("\n");
}

export function fail(
  kind: FailureKind,
  message: string,
  options: { stack?: string | null; retryable?: boolean } = {},
): { outcome: "failed"; failure: Failure } {
  const stack = options.stack ?? null;
  return {
    outcome: "failed",
    failure: {
      kind,
      message: storable(message),
      stack: stack === null ? null : storable(stack),
      retryable: options.retryable ?? false,
    },
  };
}

/**
 * The failure of anything that a task may throw. Reading a hostile thrown value may throw too, hence the outer guard.
 */
export function failureOf(thrown: unknown): { outcome: "failed"; failure: Failure } {
  try {
    const advice = readRetryAdvice(thrown);
    const result =
      thrown instanceof Error
        ? fail("application_error", thrown.message || thrown.name, {
            stack: stackChain(thrown),
            retryable: advice.retryable,
          })
        : fail(
            "application_error",
            `Thrown ${thrown === null ? "null" : typeof thrown}: ${describe(thrown)}`,
            { retryable: advice.retryable },
          );
    if (advice.retryAfterMs !== undefined) result.failure.retryAfterMs = advice.retryAfterMs;
    return result;
  } catch {
    return fail("application_error", "The task threw a value that cannot be read", { retryable: true });
  }
}

/** An error as the journal keeps it. Never throws, whatever was thrown. */
export function toDurableError(thrown: unknown): DurableError {
  const { failure } = failureOf(thrown);
  let name = "Error";
  try {
    if (thrown instanceof Error) name = storable(thrown.name).slice(0, MAX_NAME_CHARACTERS);
  } catch {
    name = "Error";
  }
  const stack = failure.stack === null ? null : failure.stack.slice(0, MAX_JOURNALED_STACK).toWellFormed();
  return { name, message: failure.message, stack, code: null };
}
