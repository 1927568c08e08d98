// The `sql` tag: the one way to write a statement.
//
//     sql`SELECT id FROM runs WHERE environment_id = ${environmentId} AND status = ANY(${statuses}::text[])`
//
// Every `${value}` becomes a parameter, never text. A value that is itself a statement is a fragment and is written in,
// its parameters renumbered. The text is prepared once a connection under a name made from the text, so that a hot
// statement costs no parse and no plan; making text and name costs one look-up after the first call from a place in the
// code, and with fragments one for each place of the template.

import { createHash } from "node:crypto";

/** A statement, or a piece of one. The shape is what `pg` takes. */
export interface Sql {
  /** Name of the prepared statement: a digest of the text, so the same in every process. */
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

/** A text with its parameters, whatever their values are. */
class Shape {
  readonly text: string;
  readonly parameters: number;
  #name: string | undefined;

  constructor(text: string, parameters: number) {
    this.text = text;
    this.parameters = parameters;
  }

  // Made when asked for: fragments are never prepared.
  get name(): string {
    return (this.#name ??= `k_${createHash("sha256").update(this.text).digest("base64url").slice(0, 20)}`);
  }
}

class Statement implements Sql {
  readonly shape: Shape;
  readonly text: string;
  readonly values: unknown[];

  constructor(shape: Shape, values: unknown[]) {
    this.shape = shape;
    this.text = shape.text;
    this.values = values;
  }

  get name(): string {
    return this.shape.name;
  }
}

/** What stands at a place of a template: a value, or a fragment of that shape. */
type Part = Shape | null;

/** Shapes by what they are composed of, so that each is composed once. Bounded by the code, as values are never text. */
class Composed {
  shape: Shape | undefined;
  readonly #longer = new Map<Part, Composed>();

  with(part: Part): Composed {
    let longer = this.#longer.get(part);
    if (longer === undefined) this.#longer.set(part, (longer = new Composed()));
    return longer;
  }
}

// By the identity of their place in the code.
const plain = new WeakMap<TemplateStringsArray, Shape>();
const templates = new WeakMap<TemplateStringsArray, Composed>();
const lists = new Map<string, Composed>();
const raws = new Map<string, Shape>();

/** Makes a statement or a fragment from a template. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Sql {
  if (!values.some(isStatement)) {
    let shape = plain.get(strings);
    if (shape === undefined) plain.set(strings, (shape = compose(strings, values.map(partOf))));
    return new Statement(shape, values);
  }
  let composed = templates.get(strings);
  if (composed === undefined) templates.set(strings, (composed = new Composed()));
  const flat: unknown[] = [];
  for (const value of values) {
    composed = composed.with(partOf(value));
    if (isStatement(value)) for (const inner of value.values) flat.push(inner);
    else flat.push(value);
  }
  composed.shape ??= compose(strings, values.map(partOf));
  return new Statement(composed.shape, flat);
}

/** Joins fragments, e.g. the conditions of a filter with ` AND `. An empty list gives an empty fragment. */
export function joinSql(parts: readonly Sql[], separator: string): Sql {
  let composed = lists.get(separator);
  if (composed === undefined) lists.set(separator, (composed = new Composed()));
  const shapes = parts.map((part) => (part as Statement).shape);
  for (const shape of shapes) composed = composed.with(shape);
  composed.shape ??= compose(["", ...shapes.slice(1).map(() => separator), ""], shapes);
  return new Statement(
    composed.shape,
    parts.flatMap(({ values }) => values),
  );
}

/** Text of our own code, such as a list of columns. Never text that came from outside. */
export function rawSql(text: string): Sql {
  let shape = raws.get(text);
  if (shape === undefined) raws.set(text, (shape = new Shape(text, 0)));
  return new Statement(shape, []);
}

/** Writes a name of the database as an identifier. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function isStatement(value: unknown): value is Statement {
  return value instanceof Statement;
}

const partOf = (value: unknown): Part => (isStatement(value) ? value.shape : null);

function compose(strings: readonly string[], parts: readonly Part[]): Shape {
  let text = strings[0] ?? "";
  let parameters = 0;
  for (const [index, part] of parts.entries()) {
    text += part === null ? `$${parameters + 1}` : renumber(part.text, parameters);
    parameters += part?.parameters ?? 1;
    text += strings[index + 1] ?? "";
  }
  return new Shape(text, parameters);
}

function renumber(text: string, by: number): string {
  return by === 0 ? text : text.replace(/\$(\d+)/g, (_, number: string) => `$${Number(number) + by}`);
}
