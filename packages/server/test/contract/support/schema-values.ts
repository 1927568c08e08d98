// Values for the JSON Schemas of the OpenAPI document: such as fit, and such as nearly do.

import fc from "fast-check";

// Schemas and values are looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

/** What values are made from besides their schema. */
export type Scene = {
  /** The document, in which references are looked up. */
  readonly document: Any;
  /** Values of fields of this name that mean something to the server. */
  readonly known: Readonly<Record<string, readonly unknown[]>>;
};

const MAX_DEPTH = 8;

/** Stand for JSON that no value of JavaScript writes; `toJsonText` puts the text in. */
const RAW_TEXTS: Readonly<Record<string, string>> = {
  "@huge@": "1e400",
  "@wide@": "1e131000",
  "@minus@": "-0",
  "@long@": "9".repeat(400),
  "@deep@": `${"[".repeat(3_000)}${"]".repeat(3_000)}`,
  "@object@": `${'{"a":'.repeat(63)}1${"}".repeat(63)}`,
  "@same@": '{"a":1,"a":2}',
};

export const HOSTILE_STRINGS: readonly string[] = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udfff\ud800",
  "\u{1f600}",
  "\u202e\ufeff",
  "\r\nX-Injected: 1",
  "__proto__",
  "constructor",
  "'; --",
  '"\\',
  "%",
  "%00",
  "../../etc/passwd",
  "$1",
  "null",
  "-1",
  "1e400",
  "2026-13-45T99:99:99Z",
  "0000-01-01T00:00:00Z",
  "9999-12-31T23:59:59.999999999Z",
  "2026-06-30T23:59:60Z",
  "-999999-01-01T00:00:00Z",
  "run_00000000000000000000000000",
  "run_7zzzzzzzzzzzzzzzzzzzzzzzzz",
  "999999999999d",
  "a".repeat(256),
  "\u00e9".repeat(5_000),
  "x".repeat(70_000),
];

const EDGE_TIMES = [
  "0000-01-01T00:00:00Z",
  "0001-01-01T00:00:00+23:59",
  "0099-01-01T00:00:00Z",
  "9999-12-31T23:59:59.999Z",
  "9999-12-31T23:59:59-23:59",
  "2016-12-31T23:59:60Z",
  "1970-01-01T00:00:00.000000001Z",
  "2026-02-28T24:00:00Z",
];

const HOSTILE_NUMBERS = [
  0,
  -1,
  1,
  0.5,
  1e-320,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  1e21,
  1e308,
];

/** What nobody should send. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...HOSTILE_STRINGS),
  fc.constantFrom<unknown>(...HOSTILE_NUMBERS),
  fc.constantFrom<unknown>(...Object.keys(RAW_TEXTS)),
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { a: null }, { __proto__: null }),
  fc.constantFrom<unknown>(JSON.parse('{"__proto__":{"a":1},"constructor":{"prototype":1},"toJSON":1}')),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Long polls must not hold up the test: these are answered at once, and the last two are refused. */
const WAITS = ["0ms", "0s", "1ms", "61s", "999999999999d"] as const;

/** Values that the schema takes, but for constraints that JSON Schema says beside `type`, which are met mostly. */
export function valueFor(schema: Any, scene: Scene, depth = 0): fc.Arbitrary<unknown> {
  if (schema === true || schema === undefined || depth > MAX_DEPTH) return fc.jsonValue({ maxDepth: 2 });
  if (schema.$ref !== undefined) return valueFor(lookUp(scene.document, schema.$ref), scene, depth + 1);
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined)
    return fc.oneof(...branches.map((branch: Any) => valueFor(branch, scene, depth + 1)));
  switch (schema.type) {
    case "string":
      return stringFor(schema);
    case "integer":
      return numberFor(schema, (minimum, maximum) =>
        fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) }),
      );
    case "number":
      return numberFor(schema, (minimum, maximum) =>
        fc.double({ min: minimum, max: maximum, noNaN: true, noDefaultInfinity: true }),
      );
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(valueFor(schema.items, scene, depth + 1), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 4, Math.max(schema.minItems ?? 0, 4)),
      });
    case "object":
      return objectFor(schema, scene, depth);
    default:
      return fc.oneof(fc.jsonValue({ maxDepth: 3 }), hostileValue);
  }
}

const matchings = new Map<string, fc.Arbitrary<string>>();

/** Kept by pattern: the document has the same few a thousand times, and each takes fast-check milliseconds to understand. */
function matching(pattern: string): fc.Arbitrary<string> {
  const known = matchings.get(pattern);
  if (known !== undefined) return known;
  const made = fc.stringMatching(new RegExp(pattern));
  matchings.set(pattern, made);
  return made;
}

const texts = new Map<string, fc.Arbitrary<string>>();

/** Kept by its lengths, for the same reason. */
function plainText(minLength: number, maxLength: number): fc.Arbitrary<string> {
  const key = `${minLength} ${maxLength}`;
  const made = texts.get(key) ?? fc.string({ minLength, maxLength });
  texts.set(key, made);
  return made;
}

function stringFor(schema: Any): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = 300 } = schema as { minLength?: number; maxLength?: number };
  if (schema.format === "date-time") {
    const range = { min: new Date("1970-01-01"), max: new Date("2100-01-01"), noInvalidDate: true };
    return fc.oneof(
      { weight: 5, arbitrary: fc.date(range).map((date) => date.toISOString()) },
      { weight: 1, arbitrary: fc.constantFrom(...EDGE_TIMES) },
    );
  }
  if (schema.pattern !== undefined) return matching(schema.pattern).map((text) => text.slice(0, maxLength));
  const plain = plainText(minLength, Math.min(maxLength, Math.max(minLength, 40)));
  // Its edges: as long as may be, and one more.
  const edge = fc.constantFrom(minLength, maxLength, maxLength + 1).map((length) => "a".repeat(length));
  return fc.oneof({ weight: 4, arbitrary: plain }, { weight: 1, arbitrary: edge });
}

function numberFor(
  schema: Any,
  within: (minimum: number, maximum: number) => fc.Arbitrary<number>,
): fc.Arbitrary<number> {
  const minimum = (schema.minimum ?? schema.exclusiveMinimum ?? -(2 ** 31)) as number;
  const maximum = Math.min((schema.maximum ?? schema.exclusiveMaximum ?? 2 ** 31 - 1) as number, 2 ** 31 - 1);
  const edges = [minimum, minimum - 1, maximum, maximum + 1, schema.maximum ?? maximum];
  return fc.oneof(
    { weight: 4, arbitrary: within(Math.max(minimum, -(2 ** 31)), maximum) },
    { weight: 1, arbitrary: fc.constantFrom(...(edges as number[])) },
  );
}

function objectFor(schema: Any, scene: Scene, depth: number): fc.Arbitrary<unknown> {
  const required = new Set<string>([...(schema.required ?? []), "wait"]);
  const entries = Object.entries<Any>(schema.properties ?? {}).map(([name, property]) => {
    const value = fieldFor(name, property, scene, depth);
    return fc.tuple(fc.constant(name), value, required.has(name) ? fc.constant(true) : fc.boolean());
  });
  const extra = schema.additionalProperties ?? Object.values(schema.patternProperties ?? {})[0] ?? false;
  const extras =
    extra === false
      ? fc.constant({})
      : fc.dictionary(fc.string({ maxLength: 20 }), valueFor(extra, scene, depth + 1), { maxKeys: 3 });
  return fc
    .tuple(fc.tuple(...entries), extras)
    .map(([fields, others]) =>
      Object.fromEntries([
        ...fields.filter(([, , isThere]) => isThere).map(([name, value]) => [name, value] as const),
        ...Object.entries(others),
      ]),
    );
}

/** A field's value: mostly one that means something, where there are such. */
export function fieldFor(name: string, schema: Any, scene: Scene, depth = 0): fc.Arbitrary<unknown> {
  if (name === "wait") return fc.constantFrom(...WAITS);
  const known = Object.hasOwn(scene.known, name) ? scene.known[name] : undefined;
  const free = valueFor(schema, scene, depth + 1);
  if (known === undefined || known.length === 0) return free;
  return fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: free });
}

function lookUp(document: Any, reference: string): Any {
  return reference
    .slice(2)
    .split("/")
    .reduce((value: Any, part) => value[part.replaceAll("~1", "/").replaceAll("~0", "~")], document);
}

/** The value with one place of it changed. */
export const spoiled = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(
      value,
      fc.nat(),
      fc.constantFrom("replace", "remove", "add", "wrap", "repeat" as const),
      hostileValue,
    )
    .map(([whole, place, how, hostile]) => {
      const places = placesOf(whole);
      return change(whole, places[place % places.length] ?? [], how, hostile);
    });

type Change = "replace" | "remove" | "add" | "wrap" | "repeat";

function placesOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, item]) => placesOf(item, [...path, key]))];
}

function change(value: unknown, path: readonly string[], how: Change, hostile: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return changeHere(value, how, hostile);
  const isRemoved = rest.length === 0 && how === "remove" && key !== "wait";
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      String(index) !== key ? [item] : isRemoved ? [] : [change(item, rest, how, hostile)],
    );
  }
  return Object.fromEntries(
    Object.entries(value as object).flatMap(([name, item]) =>
      name !== key ? [[name, item]] : isRemoved ? [] : [[name, change(item, rest, how, hostile)]],
    ),
  );
}

function changeHere(value: unknown, how: Change, hostile: unknown): unknown {
  if (how === "wrap") return [value];
  const isList = Array.isArray(value);
  if (how === "repeat" && isList) return Array.from({ length: 600 }, () => value[0] as unknown);
  if (how === "add" && isList) return [...(value as unknown[]), hostile];
  if (how === "add" && typeof value === "object" && value !== null) {
    const name = typeof hostile === "string" ? hostile.slice(0, 300) : "unknown_field";
    return Object.fromEntries([...Object.entries(value), [name, hostile]]);
  }
  return hostile;
}

/** JSON, with the texts put in that no value has. */
export const toJsonText = (value: unknown): string =>
  JSON.stringify(value ?? null).replaceAll(/"(@[a-z]+@)"/g, (all, name: string) => RAW_TEXTS[name] ?? all);
