// The sources of the server and of the contract, parsed, with where each name of theirs is declared.

import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { parseSync } from "oxc-parser";

// The syntax tree is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

export type SourceFile = {
  /** Absolute. */
  path: string;
  text: string;
  program: Any;
  types: ReadonlyMap<string, Any>;
  /** Initial values of constants at the top of the file. */
  values: ReadonlyMap<string, Any>;
  /** Name here → where from: a path, or a package. */
  imports: ReadonlyMap<string, { from: string; name: string }>;
};

export type Found = { file: SourceFile; node: Any };

export type SourceFiles = {
  files: readonly SourceFile[];
  findType(file: SourceFile, name: string): Found | null;
  findValue(file: SourceFile, name: string): Found | null;
};

const CONTRACT = "@keelson/contract";

/** @param root of the repository. */
export function readSourceFiles(root: string): SourceFiles {
  const server = listSources(path.join(root, "packages/server/src")).map(parseFile);
  const contract = listSources(path.join(root, "packages/contract/src")).map(parseFile);
  const byPath = new Map(server.map((file) => [file.path, file]));
  const find = (kind: "types" | "values", file: SourceFile, name: string): Found | null => {
    const own = file[kind].get(name);
    if (own !== undefined) return { file, node: own };
    const imported = file.imports.get(name);
    if (imported === undefined) return null;
    if (imported.from === CONTRACT || file.path.includes("/contract/")) {
      const found = contract.find((one) => one[kind].has(imported.name));
      return found === undefined ? null : { file: found, node: found[kind].get(imported.name) };
    }
    const target = byPath.get(path.resolve(path.dirname(file.path), imported.from));
    return target === undefined ? null : find(kind, target, imported.name);
  };
  return {
    files: server,
    findType: (file, name) => find("types", file, name),
    findValue: (file, name) => find("values", file, name),
  };
}

const listSources = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => path.join(folder, name))
    .sort();

function parseFile(file: string): SourceFile {
  const text = readFileSync(file, "utf8");
  const { program } = parseSync(file, text) as { program: Any };
  const types = new Map<string, Any>();
  const values = new Map<string, Any>();
  const imports = new Map<string, { from: string; name: string }>();
  for (const statement of program.body) {
    if (
      statement.type === "ImportDeclaration" ||
      (statement.type === "ExportNamedDeclaration" && statement.source)
    )
      for (const one of statement.specifiers)
        imports.set((one.exported ?? one.local).name, {
          from: statement.source.value,
          name: (statement.type === "ImportDeclaration" ? (one.imported ?? one.local) : one.local).name,
        });
    const declaration = statement.declaration ?? statement;
    if (declaration.type === "TSTypeAliasDeclaration" || declaration.type === "TSInterfaceDeclaration")
      types.set(declaration.id.name, declaration);
    if (declaration.type === "VariableDeclaration")
      for (const one of declaration.declarations)
        if (one.id.type === "Identifier" && one.init) values.set(one.id.name, one.init);
  }
  return { path: file, text, program, types, values, imports };
}

/** Calls `visit` for each node below, with its parents, outermost first. */
export function walk(
  node: Any,
  visit: (node: Any, parents: readonly Any[]) => void,
  parents: Any[] = [],
): void {
  visit(node, parents);
  parents.push(node);
  for (const [key, value] of Object.entries(node)) {
    if (key === "parent") continue;
    for (const child of Array.isArray(value) ? value : [value])
      if (typeof child === "object" && child !== null && typeof child.type === "string")
        walk(child, visit, parents);
  }
  parents.pop();
}

/** Line and column, both from 1, as a stack trace gives them. */
export function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `${before.length}:${(before.at(-1) ?? "").length + 1}`;
}
