// Calls the functions that run statements, with samples of the arguments that their types allow, on a connection that
// only writes down what it is asked. Every branch that an argument decides is taken by one of the samples.

import { fileURLToPath, pathToFileURL } from "node:url";
import { sql, type Sql } from "../../packages/server/src/db/sql.ts";
import type { SourceFile } from "./read-files.ts";
import type { Statements } from "./read-statements.ts";
import { samplesOf, type Base, type MakeOther, type Shape } from "./shape.ts";

/** A text that was run, and from which call of `query`. */
export type Recorded = { text: string; call: string };

/** Ends a function that runs statements until there is nothing left. */
const MAX_STATEMENTS = 40;
const NEVER: Shape = { kind: "object", fields: new Map() };

/** How a call site is named: file and place. */
export const keyOf = (call: { file: { path: string }; place: string }): string =>
  `${call.file.path}:${call.place}`;

/** What a statement is answered with: rows with everything in them, rows with nothing that may be absent, no rows. */
const ANSWERS = ["full", "empty", "none"] as const;

export async function recordStatements({ calls, functions, conditions }: Statements): Promise<Recorded[]> {
  const rows = new Map(calls.map((call) => [keyOf(call), call.row ?? NEVER]));
  const recorded = new Map<string, Recorded>();
  let left = 0;
  let answers: (typeof ANSWERS)[number] = "none";
  const connection = connectionOf((statement, call) => {
    recorded.set(`${call} ${statement.text}`, { text: statement.text, call });
    if (--left < 0) throw new Error("It does not end.");
    return answers === "none" ? [] : samplesOf(rows.get(call) ?? NEVER, answers, other).slice(0, 1);
  });
  const other = makeOther(connection);
  for (const { file, name, parameters } of functions) {
    const run = await load(file, name);
    for (const given of argumentsOf(parameters, other))
      for (answers of ANSWERS) {
        left = MAX_STATEMENTS;
        // A sample may be refused; what it reached until then counts.
        await callWith(run, given).catch(() => undefined);
      }
  }
  for (const { file, name, parameters } of conditions) {
    const make = await load(file, name);
    for (const given of argumentsOf(parameters, other)) {
      const { text } = sql`SELECT ${make(...given)} AS is_due`;
      recorded.set(`${name} ${text}`, { text, call: `${file.path}:${name}` });
    }
  }
  return [...recorded.values()];
}

type Exported = (...given: unknown[]) => unknown;

async function load(file: SourceFile, name: string): Promise<Exported> {
  const module = (await import(pathToFileURL(file.path).href)) as Record<string, Exported>;
  const found = module[name];
  if (found === undefined) throw new Error(`${file.path} does not export ${name}.`);
  return found;
}

const callWith = async (run: Exported, given: readonly unknown[]): Promise<unknown> => run(...given);

/** Each list of arguments. */
function argumentsOf(parameters: readonly Shape[], other: MakeOther): unknown[][] {
  const fields = new Map(parameters.map((shape, index) => [String(index), { shape, optional: false }]));
  return (["full", "empty"] satisfies Base[]).flatMap((base) =>
    samplesOf({ kind: "object", fields }, base, other).map((sample) => Object.values(sample as object)),
  );
}

const makeOther =
  (connection: unknown) =>
  (name: string): unknown => {
    switch (name) {
      case "Queryable":
      case "Tx":
      case "Database":
        return connection;
      case "Sql":
        return sql`NULL`;
      case "Map":
      case "ReadonlyMap":
        return new Map();
      case "Set":
      case "ReadonlySet":
        return new Set();
      case "Clock":
      case "a function":
        return () => 1;
      default:
        return undefined;
    }
  };

function connectionOf(answer: (statement: Sql, call: string) => unknown[]): object {
  const connection = {
    isTransaction: true,
    wake: () => undefined,
    note: () => undefined,
    query: async (statement: Sql) => answer(statement, callerOf(new Error("here"))),
    send: async (statement: Sql) => void answer(statement, callerOf(new Error("here"))),
    transaction: async (work: (tx: unknown) => unknown) => work(connection),
  };
  return connection;
}

/** Who called `query`: file, line and column of its name. */
function callerOf({ stack = "" }: Error): string {
  const [, , frame = ""] = stack.split("\n");
  const [, url = "", place = ""] = /(file:\/\/[^)]*?):(\d+:\d+)\)?$/.exec(frame) ?? [];
  return url === "" ? frame : `${fileURLToPath(url)}:${place}`;
}
