import { dirname, posix } from "node:path";
import { parseSync, visitorKeys } from "oxc-parser";
import type { Use } from "./rules.ts";

/** A file as the checks see it: `path` from the repository's root, `text` whole. */
export interface RepositoryFile {
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** Erased before running: `import type`, `export type`, `import("…")` in a type. */
  readonly isType: boolean;
  /** `import("…")` as an expression: loaded later, so it closes no cycle. */
  readonly isDynamic: boolean;
}

export interface Source extends RepositoryFile {
  readonly imports: readonly Import[];
  /** Relative paths and repository paths in string literals: forks, `new URL("./x.ts", import.meta.url)`. */
  readonly mentions: readonly string[];
  /** String literals and pieces of templates. */
  readonly texts: readonly { text: string; line: number }[];
  readonly uses: readonly { use: Use; line: number }[];
  readonly functions: readonly { name: string; line: number; lineCount: number }[];
  /** Names and properties in snake_case: words of the wire, outside of strings and SQL. */
  readonly wireWords: readonly { name: string; line: number }[];
  /** Templates tagged `sql`. */
  readonly statements: readonly { line: number }[];
  /** Calls of a method `transaction`. */
  readonly transactions: readonly { line: number }[];
  readonly lineCount: number;
  /** Message of the first syntax error, or null. */
  readonly error: string | null;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const SNAKE_CASE = /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/;
const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** Parses one source file and keeps what the checks ask about. */
export function readSource(file: RepositoryFile): Source {
  const { program, module, errors } = parseSync(file.path, file.text);
  const lineOf = lineCounter(file.text);
  const imports: Import[] = [];
  for (const { moduleRequest, entries, start } of module.staticImports) {
    const isType = entries.length > 0 && entries.every((entry) => entry.isType);
    imports.push({ specifier: moduleRequest.value, line: lineOf(start), isType, isDynamic: false });
  }
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest, isType, start } of entries) {
      if (moduleRequest === null) continue;
      imports.push({ specifier: moduleRequest.value, line: lineOf(start), isType, isDynamic: false });
    }
  }

  const mentions: string[] = [];
  const texts: { text: string; line: number }[] = [];
  const uses: { use: Use; line: number }[] = [];
  const functions: { name: string; line: number; lineCount: number }[] = [];
  const wireWords: { name: string; line: number }[] = [];
  const statements: { line: number }[] = [];
  const transactions: { line: number }[] = [];
  walk(program as unknown as Node, [], (node, parents) => {
    const line = lineOf(node.start);
    const imported = dynamicImport(node);
    if (imported) imports.push({ ...imported, line });
    if (node.type === "Literal" && typeof node.value === "string") mentions.push(node.value);
    const text = textOf(node);
    if (text !== null) texts.push({ text, line });
    const name = identifier(node);
    if (name !== null && SNAKE_CASE.test(name)) wireWords.push({ name, line });
    if (node.type === "TaggedTemplateExpression" && identifier(node.tag) === "sql") statements.push({ line });
    if (node.type === "CallExpression" && isTransaction(node.callee)) transactions.push({ line });
    const use = findUse(node);
    if (use) uses.push({ use, line });
    if (FUNCTIONS.has(node.type) && !isSuite(parents.at(-1))) {
      const lineCount = lineOf(node.end) - line + 1;
      functions.push({ name: functionName(node, parents), line, lineCount });
    }
  });
  return {
    ...file,
    imports,
    mentions,
    texts,
    uses,
    functions,
    wireWords,
    statements,
    transactions,
    lineCount: file.text.trimEnd().split("\n").length,
    error: errors[0]?.message ?? null,
  };
}

function walk(
  node: Node,
  parents: readonly Node[],
  visit: (node: Node, parents: readonly Node[]) => void,
): void {
  visit(node, parents);
  const inner = [...parents, node];
  for (const key of visitorKeys[node.type] ?? []) {
    const child = node[key];
    for (const item of Array.isArray(child) ? child : [child]) {
      if (isNode(item)) walk(item, inner, visit);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

function dynamicImport(node: Node): Omit<Import, "line"> | null {
  if (node.type !== "ImportExpression" && node.type !== "TSImportType") return null;
  const request = node.source;
  if (!isNode(request) || typeof request.value !== "string") return null;
  return { specifier: request.value, isType: node.type === "TSImportType", isDynamic: true };
}

function textOf({ type, value }: Node): string | null {
  if (type === "Literal") return typeof value === "string" ? value : null;
  return type === "TemplateElement" ? (value as { raw: string }).raw : null;
}

function findUse(node: Node): Use | null {
  switch (node.type) {
    case "MemberExpression": {
      const object = identifier(node.object);
      const property = identifier(node.property);
      if (object === "console") return "console";
      if (object === "process" && property === "env") return "process.env";
      if (object === "Date" && property === "now") return "the current time";
      if (object === "Math" && property === "random") return "Math.random";
      return null;
    }
    case "NewExpression":
      return identifier(node.callee) === "Date" && isEmpty(node.arguments) ? "the current time" : null;
    case "CallExpression":
      return identifier(node.callee) === "Date" ? "the current time" : null;
    case "AssignmentExpression":
      return isNode(node.left) && node.left.type === "MemberExpression" && isFunction(node.right)
        ? "a function as the value of an assignment to a property"
        : null;
    case "ImportSpecifier":
      return identifier(node.imported) === "env" && identifier(node.local) === "env" ? "process.env" : null;
    default:
      return null;
  }
}

function isFunction(value: unknown): boolean {
  return (
    isNode(value) &&
    (value.type === "ParenthesizedExpression" ? isFunction(value.expression) : FUNCTIONS.has(value.type))
  );
}

function isTransaction(callee: unknown): boolean {
  return (
    isNode(callee) && callee.type === "MemberExpression" && identifier(callee.property) === "transaction"
  );
}

function identifier(value: unknown): string | null {
  return isNode(value) && value.type === "Identifier" && typeof value.name === "string" ? value.name : null;
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** `describe("…", () => { … })` only groups tests: its length says nothing. */
function isSuite(parent: Node | undefined): boolean {
  if (parent?.type !== "CallExpression") return false;
  const name = identifier(parent.callee);
  return name === "describe" || name === "suite";
}

function functionName(node: Node, parents: readonly Node[]): string {
  const own = identifier(node.id);
  if (own) return own;
  const parent = parents.at(-1);
  if (!parent) return "a function";
  return identifier(parent.id) ?? identifier(parent.key) ?? "a function without a name";
}

function lineCounter(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

/**
 * The repository file a specifier means, or null for a package from outside, a Node module or an absent file.
 * `workspaces` maps `@keelson/contract` (and subpaths) to the source file of that export.
 */
export function resolveImport(
  from: string,
  specifier: string,
  paths: ReadonlySet<string>,
  workspaces: ReadonlyMap<string, string>,
): string | null {
  const workspace = workspaces.get(specifier);
  if (workspace !== undefined) return workspace;
  if (!specifier.startsWith(".")) return null;
  const target = posix.join(dirname(from), specifier);
  return paths.has(target) ? target : null;
}
