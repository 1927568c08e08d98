// What values a TypeScript type allows, as far as statements and their rows need to know, and samples of them.

/** `other` is what is not data, such as a function, or what is not told apart. */
export type Shape =
  | { kind: "string" | "number" | "boolean" | "bytes" | "null" | "undefined" }
  | { kind: "literal"; value: string | number | boolean }
  | { kind: "union"; of: readonly Shape[] }
  | { kind: "list"; of: Shape }
  | { kind: "object"; fields: ReadonlyMap<string, Field> }
  | { kind: "other"; name: string };

export type Field = { shape: Shape; optional: boolean };

export const unionOf = (of: readonly Shape[]): Shape => {
  const flat = of.flatMap((shape) => (shape.kind === "union" ? shape.of : [shape]));
  return flat.length === 1 ? (flat[0] as Shape) : { kind: "union", of: flat };
};

export const literalsOf = (shape: Shape): readonly (string | number | boolean)[] =>
  shape.kind === "literal" ? [shape.value] : shape.kind === "union" ? shape.of.flatMap(literalsOf) : [];

/** `full`: each value is there. `empty`: lists are empty, and what may be absent is. */
export type Base = "full" | "empty";

/** Makes what is not data: a connection, a fragment, a function. */
export type MakeOther = (name: string) => unknown;

/** Short, and of every type: a UUID as text. */
const TEXT = "00000000-0000-7000-8000-000000000001";

const isAbsent = (shape: Shape): boolean => shape.kind === "null" || shape.kind === "undefined";

/** The first sample is the base; each of the others differs from it in one place. */
export function samplesOf(shape: Shape, base: Base, other: MakeOther): unknown[] {
  switch (shape.kind) {
    case "string":
      return [TEXT];
    case "number":
      return base === "full" ? [1, 0] : [0, 1];
    case "boolean":
      return base === "full" ? [true, false] : [false, true];
    case "bytes":
      return [Buffer.alloc(32)];
    case "null":
      return [null];
    case "undefined":
      return [undefined];
    case "literal":
      return [shape.value];
    case "union": {
      const isFirst = (one: Shape): boolean => isAbsent(one) === (base === "empty");
      const ordered = [...shape.of.filter(isFirst), ...shape.of.filter((one) => !isFirst(one))];
      return ordered.flatMap((one) => samplesOf(one, base, other));
    }
    case "list": {
      const items = samplesOf(shape.of, base, other);
      // One entry of a list is often asked for in another way than several.
      const lists = [...items.map((item) => [item]), [items[0], items.at(-1)]];
      return base === "full" ? [...lists, []] : [[], ...lists];
    }
    case "object":
      return objectSamples(shape.fields, base, other);
    case "other":
      return [other(shape.name)];
  }
}

function objectSamples(fields: ReadonlyMap<string, Field>, base: Base, other: MakeOther): unknown[] {
  const samples = [...fields].map(([name, { shape, optional }]) => ({
    name,
    values: samplesOf(optional ? unionOf([shape, { kind: "undefined" }]) : shape, base, other),
  }));
  const first = Object.fromEntries(samples.map(({ name, values }) => [name, values[0]]));
  const others = samples.flatMap(({ name, values }) =>
    values.slice(1).map((value) => ({ ...first, [name]: value })),
  );
  return [first, ...others];
}
