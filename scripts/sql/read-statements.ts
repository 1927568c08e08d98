// Where the server runs statements, which rows it declares there, and which functions lead to them.

import type { SourceFile, SourceFiles } from "./read-files.ts";
import { placeOf, walk } from "./read-files.ts";
import type { ReadType } from "./read-types.ts";
import type { Shape } from "./shape.ts";

// The syntax tree is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

/** One call of `query`. `row` is null where nothing is said of its rows. */
export type CallSite = { file: SourceFile; place: string; row: Shape | null };
/** One `sql` template: the text between its values. */
export type Template = { file: SourceFile; place: string; pieces: readonly string[] };
export type Callable = { file: SourceFile; name: string; parameters: readonly Shape[] };
/** `conditions` make a condition at a time: loops look for what is due by them. */
export type Statements = {
  calls: CallSite[];
  templates: Template[];
  functions: Callable[];
  conditions: Callable[];
};

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
const CORE = /\/server\/src\/core\//;
/** What runs statements. */
const CONNECTIONS = new Set(["Queryable", "Tx", "Database"]);

export function readStatements(
  { files }: SourceFiles,
  readType: ReadType,
  isRead: (path: string) => boolean,
): Statements {
  const calls: CallSite[] = [];
  const templates: Template[] = [];
  const functions: Callable[] = [];
  const conditions: Callable[] = [];
  for (const file of files.filter(({ path }) => isRead(path))) {
    walk(file.program, (node, parents) => {
      if (isQuery(node))
        calls.push({
          file,
          place: placeOf(file.text, node.callee.property.start),
          row: rowOf(file, node, parents, readType),
        });
      if (node.type === "TaggedTemplateExpression" && node.tag.name === "sql")
        templates.push({
          file,
          place: placeOf(file.text, node.start),
          pieces: node.quasi.quasis.map((quasi: Any) => quasi.value.cooked),
        });
    });
    // An operation that calls only others' statements is not needed to reach them, and what is not core begins to run.
    if (!CORE.test(file.path) || !calls.some((call) => call.file === file)) continue;
    const exported = exportedFunctions(file, readType);
    functions.push(...exported.filter(({ parameters }) => parameters.some(hasConnection)));
    conditions.push(...exported.filter(isCondition));
  }
  return { calls, templates, functions, conditions };
}

/** Or of `send`, which gives no rows. The statement is made by the `sql` tag; the driver's own `query` is called on a client. */
const isQuery = (node: Any): boolean =>
  node.type === "CallExpression" &&
  node.callee.type === "MemberExpression" &&
  ["query", "send"].includes(node.callee.property.name) &&
  ["db", "tx", "connection"].includes(node.callee.object.name ?? node.callee.object.property?.name);

/** The row that the caller names; else the one that its function returns, where it returns the rows as they are. */
function rowOf(file: SourceFile, call: Any, parents: readonly Any[], readType: ReadType): Shape | null {
  const named = call.typeArguments?.params[0];
  if (named !== undefined) return readType(file, named);
  const owner = parents.findLast(({ type }) => FUNCTIONS.has(type));
  const isReturned = parents.at(-1)?.type === "ReturnStatement" || owner?.body === call;
  return isReturned ? returned(file, owner, readType) : null;
}

function returned(file: SourceFile, owner: Any, readType: ReadType): Shape | null {
  if (!owner.returnType) return null;
  const shape = readType(file, owner.returnType.typeAnnotation);
  return shape.kind === "list" ? shape.of : null;
}

function exportedFunctions(file: SourceFile, readType: ReadType): Callable[] {
  const found: Callable[] = [];
  for (const { type, declaration } of file.program.body) {
    if (type !== "ExportNamedDeclaration" || !declaration) continue;
    if (declaration.type === "FunctionDeclaration")
      found.push({ file, name: declaration.id.name, parameters: parametersOf(file, declaration, readType) });
    if (declaration.type === "VariableDeclaration")
      for (const { id, init } of declaration.declarations) {
        const made = madeBy(file, init);
        if (made !== null)
          found.push({ file, name: id.name, parameters: parametersOf(file, made, readType) });
      }
  }
  return found;
}

const isCondition = ({ name, parameters }: Callable): boolean =>
  name.startsWith("has") && parameters.length > 0 && !parameters.some(hasConnection);

/** The arrow function that a constant is; also `make(…)`, where `make` is `(…) => (…) => …`. */
function madeBy(file: SourceFile, init: Any): Any {
  if (init?.type === "ArrowFunctionExpression") return init;
  const maker = init?.type === "CallExpression" ? file.values.get(init.callee.name) : undefined;
  return maker?.body?.type === "ArrowFunctionExpression" ? maker.body : null;
}

const hasConnection = (shape: Shape): boolean =>
  (shape.kind === "other" && CONNECTIONS.has(shape.name)) ||
  (shape.kind === "object" && [...shape.fields.values()].some((field) => hasConnection(field.shape)));

const parametersOf = (file: SourceFile, owner: Any, readType: ReadType): Shape[] =>
  owner.params.map((parameter: Any): Shape => {
    const pattern = parameter.type === "AssignmentPattern" ? parameter.left : parameter;
    const type = pattern.typeAnnotation?.typeAnnotation;
    if (type === undefined || parameter.type === "RestElement")
      return { kind: "other", name: "a parameter without a type" };
    const shape = readType(file, type);
    return parameter.type === "AssignmentPattern" || pattern.optional
      ? { kind: "union", of: [shape, { kind: "undefined" }] }
      : shape;
  });
