import { LIMITS, type RuntimeHost } from "@keelson/contract/plain";
import { checkText } from "../json-text.ts";
import { toJsonValue } from "./output.ts";
import { UsageError } from "../keelson-error.ts";

/**
 * The run's metadata: JSON values under names, shown on the run while it works. Reads see this attempt's own
 * changes at once; the server has them a moment later. Changes outlive a failed attempt, and are not made again when the
 * code is replayed.
 *
 * Writes throw a UsageError for a value that is not JSON (see `step`) and a UsageError past 16 KiB in all.
 */
export type RunMetadata = {
  /** All of it, as it is now. */
  get(): Record<string, unknown>;
  /** One value, or undefined. */
  get(key: string): unknown;
  /** Puts JSON in the place of what is there. */
  set(key: string, value: unknown): void;
  /** Adds to a number; an absent one counts from 0. */
  increment(key: string, by?: number): void;
  /** Adds to the end of a list; an absent one begins empty. */
  append(key: string, value: unknown): void;
  /** Takes a key away; one that is absent stays so. */
  remove(key: string): void;
};

/** Its size counts together with what is there already. */
function toJson(key: string, value: unknown): unknown {
  if (value === undefined) throw new UsageError(`metadata "${key}": the value is not JSON (undefined)`);
  return toJsonValue(value, `metadata "${key}": the value`, Number.POSITIVE_INFINITY);
}

/** A copy in which a key like `__proto__` is a key like any other. */
const withoutPrototype = (values: Record<string, unknown>): Record<string, unknown> =>
  Object.assign(Object.create(null) as Record<string, unknown>, values);

/** While `isRepeated` says that the code has been here before, `initial` has its changes already. */
export function createMetadata(
  initial: Record<string, unknown>,
  host: RuntimeHost,
  isRepeated: () => boolean,
): RunMetadata {
  // Most runs begin with none, and a clone takes microseconds even of nothing.
  let view = withoutPrototype(Object.keys(initial).length === 0 ? {} : structuredClone(initial));
  const replace = (key: string, value: unknown): void => {
    if (key === "" || key.length > 256) throw new UsageError("a metadata key has 1 to 256 characters");
    checkText(key, "a metadata key");
    const next = withoutPrototype(view);
    next[key] = value;
    const bytes = new TextEncoder().encode(JSON.stringify(next)).length;
    if (bytes > LIMITS.metadataBytes)
      throw new UsageError(`metadata "${key}": ${bytes} bytes in all, the limit is ${LIMITS.metadataBytes}`);
    view = next;
  };
  function get(key?: string): unknown {
    return structuredClone(key === undefined ? { ...view } : view[key]);
  }
  return {
    get: get as RunMetadata["get"],
    set(key, value) {
      if (isRepeated()) return;
      const json = toJson(key, value);
      replace(key, json);
      host.metadata([{ op: "set", key, value: json }]);
    },
    increment(key, by = 1) {
      if (isRepeated()) return;
      const current = view[key] ?? 0;
      if (typeof current !== "number" || !Number.isFinite(by))
        throw new UsageError(`metadata "${key}": only a number can be incremented`);
      const sum = current + by;
      if (!Number.isFinite(sum))
        throw new UsageError(`metadata "${key}": the sum is more than a number holds`);
      replace(key, sum);
      host.metadata([{ op: "increment", key, value: by }]);
    },
    append(key, value) {
      if (isRepeated()) return;
      const current = view[key] ?? [];
      if (!Array.isArray(current)) throw new UsageError(`metadata "${key}": only a list can be appended to`);
      const json = toJson(key, value);
      replace(key, [...(current as unknown[]), json]);
      host.metadata([{ op: "append", key, value: json }]);
    },
    /** Takes a key away; one that is absent stays so. */
    remove(key) {
      if (isRepeated()) return;
      checkText(key, "a metadata key");
      delete view[key];
      host.metadata([{ op: "remove", key }]);
    },
  };
}
