// The `sql` tag: the one way to write a statement.
//
//     sql`SELECT id FROM runs WHERE environment_id = ${environmentId} AND status = ANY(${statuses}::text[])`
//
// Every `${value}` becomes a parameter, never text. A value that is itself a statement is a fragment and is written in,
// its parameters renumbered. The text is prepared once a connection under a name made from the text, so that a hot
// statement costs no parse and no plan; making text and name costs one look-up after the first call from a place in the
// code (with fragments: one concatenation more).

import { createHash } from "node:crypto";

/** A statement, or a piece of one. The shape is what `pg` takes. */
export interface Sql {
  /** Name of the prepared statement: a digest of the text, so the same in every process. */
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

class Statement implements Sql {
  readonly text: string;
  readonly values: unknown[];
  readonly #name: string | undefined;

  constructor(text: string, values: unknown[], name?: string) {
    this.text = text;
    this.values = values;
    this.#name = name;
  }

  // Made when asked for: fragments are never prepared.
  get name(): string {
    return this.#name ?? nameOf(this.text);
  }
}

// Statements without fragments, by the identity of their place in the code.
const plain = new WeakMap<TemplateStringsArray, { text: string; name: string }>();
// Names of composed texts. Bounded by the code, as values are never text; each is also a prepared statement in the server.
const names = new Map<string, string>();

/** Makes a statement or a fragment from a template. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Sql {
  const known = plain.get(strings);
  if (known !== undefined && !values.some(isStatement)) return new Statement(known.text, values, known.name);
  let text = strings[0] ?? "";
  const flat: unknown[] = [];
  let hasFragments = false;
  for (const [index, value] of values.entries()) {
    if (isStatement(value)) {
      hasFragments = true;
      text += renumber(value.text, flat.length);
      flat.push(...value.values);
    } else {
      flat.push(value);
      text += `$${flat.length}`;
    }
    text += strings[index + 1] ?? "";
  }
  if (hasFragments) return new Statement(text, flat);
  const name = nameOf(text);
  plain.set(strings, { text, name });
  return new Statement(text, flat, name);
}

/** Joins fragments, e.g. the conditions of a filter with ` AND `. An empty list gives an empty fragment. */
export function joinSql(parts: readonly Sql[], separator: string): Sql {
  let text = "";
  const values: unknown[] = [];
  for (const [index, part] of parts.entries()) {
    text += (index === 0 ? "" : separator) + renumber(part.text, values.length);
    values.push(...part.values);
  }
  return new Statement(text, values);
}

/** Text of our own code, such as a list of columns. Never text that came from outside. */
export function rawSql(text: string): Sql {
  return new Statement(text, []);
}

/** Writes a name of the database as an identifier. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function isStatement(value: unknown): value is Statement {
  return value instanceof Statement;
}

function renumber(text: string, by: number): string {
  return by === 0 ? text : text.replace(/\$(\d+)/g, (_, number: string) => `$${Number(number) + by}`);
}

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `k_${createHash("sha256").update(text).digest("base64url").slice(0, 20)}`;
    names.set(text, name);
  }
  return name;
}
