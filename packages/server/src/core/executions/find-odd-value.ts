import type { Operation } from "@keelson/contract";

/** Escapes of NUL and of surrogates, of which one may be half of a pair. */
const ODD_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/** Whether a JSON text may hold NUL or half of a surrogate pair: valid UTF-8 and JSON can hold them only as an escape. */
export const mayHoldOddText = (json: string): boolean => json.includes("\\u") && ODD_ESCAPE.test(json);

/**
 * The path of the first value of a run's code that holds NUL or half of a surrogate pair, null when there is none. The SDK
 * refuses such values at the call; one that is older does not. Messages, stacks and events are left alone, because a failure
 * must always be reportable.
 */
export function findOddValue(operation: Operation): string | null {
  switch (operation.kind) {
    case "metadata":
      return find(operation.changes, "changes");
    case "release":
      return find(operation.output, "output");
    case "steps":
      return find(
        operation.entries.map(({ name, value }) => ({ name, value })),
        "entries",
      );
    case "waits":
      return find(operation.waits, "waits");
    case "usage":
      return find(operation.used, "used");
    case "tokens":
    case "child-runs":
    case "outputs":
    case "inputs":
    case "execs":
    case "states":
      return find(operation, "");
    case "start":
    case "logs":
    case "events":
    case "checkpoints/ready":
    case "checkpoints/failed":
      return null;
  }
}

const isOdd = (text: string): boolean => text.includes("\0") || !text.isWellFormed();

function find(value: unknown, path: string): string | null {
  if (typeof value === "string") return isOdd(value) ? path : null;
  if (typeof value !== "object" || value === null) return null;
  for (const [key, part] of Object.entries(value)) {
    const at = path === "" ? key : `${path}.${key}`;
    const found = isOdd(key) ? at : find(part, at);
    if (found !== null) return found;
  }
  return null;
}
