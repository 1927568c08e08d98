/**
 * What a payload schema may cost. A schema is code that its author has the server run on every start, and JSON Schema has
 * four ways to make a small one run for ever: a regular expression that backtracks, references that double at each level
 * (2^n with n definitions), `uniqueItems` (the square of the items), and a wide schema over a long payload. Three bounds:
 *
 *   - size of a schema and of a `pattern`, refused at creation: compiling is linear in them;
 *   - a static estimate: schemas whose work is bounded by (their size × the payload's) are run as they are;
 *   - everything else is run under a watch that ends it after `CHECK_CPU_MS`.
 *
 * Times are milliseconds of the thread on a processor: how busy the machine is decides nothing about a payload.
 */
export const MAX_SCHEMA_BYTES = 64 * 1024;
export const MAX_PATTERN_CHARACTERS = 256;
export const COMPILE_CPU_MS = 1_000;
export const CHECK_CPU_MS = 100;

/** Steps that take about 20 ms; below them no watch is needed. */
const UNWATCHED_STEPS = 1_000_000;

/** `unbounded`: no static bound is known. */
export type SchemaCost = { nodes: number; unbounded: boolean };

const UNBOUNDED_KEYWORDS = new Set([
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
  "uniqueItems",
  "unevaluatedProperties",
  "unevaluatedItems",
]);

export function schemaCost(schema: unknown): SchemaCost {
  const cost: SchemaCost = { nodes: 0, unbounded: false };
  visit(schema, (key, value) => {
    cost.nodes += 1;
    if (key === null) return;
    // A property may be called `pattern`: taking it for the keyword only costs a watch.
    if (UNBOUNDED_KEYWORDS.has(key)) cost.unbounded = true;
    if (key === "pattern" && typeof value === "string" && !isLinearPattern(value)) cost.unbounded = true;
    if (key === "patternProperties" && Object.keys(value ?? {}).some((pattern) => !isLinearPattern(pattern)))
      cost.unbounded = true;
  });
  return cost;
}

export const needsWatch = ({ nodes, unbounded }: SchemaCost, payload: unknown): boolean =>
  unbounded || exceeds(payload, UNWATCHED_STEPS / (nodes + 1));

/** Every `pattern` and every key of `patternProperties`, with its place. */
export function patternsOf(schema: unknown): { path: string; pattern: string }[] {
  const found: { path: string; pattern: string }[] = [];
  visit(schema, (key, value, path) => {
    if (key === "pattern" && typeof value === "string") found.push({ path, pattern: value });
    if (key === "patternProperties" && typeof value === "object" && value !== null) {
      for (const pattern of Object.keys(value)) found.push({ path, pattern });
    }
  });
  return found;
}

type Visitor = (key: string | null, value: unknown, path: string) => void;

function visit(value: unknown, visitor: Visitor, key: string | null = null, path = ""): void {
  visitor(key, value, path);
  if (typeof value !== "object" || value === null) return;
  for (const [name, item] of Object.entries(value))
    visit(item, visitor, name, path === "" ? name : `${path}.${name}`);
}

/**
 * Certainly linear in the text: anchored at its start, without groups, alternatives and references, and with at most one
 * part whose length varies. `^[a-z0-9-]+$` is one; a longer one may be linear too and is watched all the same.
 */
export function isLinearPattern(pattern: string): boolean {
  if (!pattern.startsWith("^")) return false;
  const plain = pattern.replaceAll(/\\[^0-9kpPuxc]/g, "_").replaceAll(/\[[^[\]\\]*\]/g, "_");
  if (/[()|\\[\]]/.test(plain)) return false;
  return (plain.match(/[*+?]|\{\d*,\d*\}/g)?.length ?? 0) <= 1;
}

/** Whether the values and characters of a payload are more than the limit; stops counting there. */
function exceeds(payload: unknown, limit: number): boolean {
  let count = 0;
  const add = (value: unknown): boolean => {
    count += typeof value === "string" ? value.length : 1;
    if (count > limit) return true;
    if (typeof value !== "object" || value === null) return false;
    for (const [key, item] of Object.entries(value)) {
      count += key.length;
      if (add(item)) return true;
    }
    return false;
  };
  return add(payload);
}
