import { readFileSync } from "node:fs";
import path from "node:path";
import { parseSync, type Node } from "oxc-parser";

/** An exported thing, as its source declares it. */
export type Declaration = {
  name: string;
  /** The file, relative to the package's `src`; a package's name where it is another package's. */
  from: string;
  kind: "function" | "value" | "class" | "type";
  doc: string;
  signature: string;
  members: Member[];
};

/** A field, a method, or a member of a class. */
export type Member = { name: string; signature: string; doc: string; isMethod: boolean };

type Source = { text: string; body: Node[]; docs: Map<number, string> };
// The syntax tree is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

const sources = new Map<string, Source>();

/** The text of a doc comment without its stars. */
const docText = (value: string): string =>
  value
    .slice(1)
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim();

function read(file: string): Source {
  const known = sources.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, "utf8");
  const { program, comments, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const docs = new Map<number, string>();
  for (const { type, value, end } of comments) {
    if (type !== "Block" || !value.startsWith("*")) continue;
    const next = end + (/^\s*/.exec(text.slice(end))?.[0].length ?? 0);
    docs.set(next, docText(value));
  }
  const source = { text, body: program.body as Node[], docs };
  sources.set(file, source);
  return source;
}

/** On one line, without comments and without what only a line break needs. */
const flat = (text: string): string =>
  text
    .replaceAll(/\/\*\*?[\s\S]*?\*\//g, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll("( ", "(")
    .replaceAll(/,? \)/g, ")")
    .trim();

function typeMembers(source: Source, members: Any[]): Member[] {
  return (
    members
      .filter(({ type }) => type === "TSPropertySignature" || type === "TSMethodSignature")
      // Names like "~types" are for compilers.
      .filter(({ key }) => key.type === "Identifier")
      .map((member) => ({
        name: source.text.slice(member.key.start, member.key.end),
        signature: flat(source.text.slice(member.start, member.end)).replace(/;$/, ""),
        doc: source.docs.get(member.start) ?? "",
        isMethod: member.type === "TSMethodSignature",
      }))
  );
}

/** The members of a type that is written out, also of each part of an intersection. */
function membersOf(source: Source, type: Any): Member[] {
  if (type.type === "TSTypeLiteral") return typeMembers(source, type.members);
  if (type.type === "TSIntersectionType") return type.types.flatMap((part: Any) => membersOf(source, part));
  return [];
}

function classMembers(source: Source, body: Any[]): Member[] {
  return body
    .filter(
      (member) =>
        member.key?.type === "Identifier" &&
        !member.computed &&
        !member.override &&
        member.kind !== "constructor",
    )
    .filter(({ type }) => type === "PropertyDefinition" || type === "MethodDefinition")
    .map((member) => {
      const stop = member.value?.body?.start ?? member.end;
      const end = member.type === "PropertyDefinition" && member.value ? member.value.start : stop;
      return {
        name: source.text.slice(member.key.start, member.key.end),
        signature: flat(source.text.slice(member.start, end)).replace(/\s*[=;{]+$/, ""),
        doc: source.docs.get(member.start) ?? "",
        isMethod: member.type === "MethodDefinition",
      };
    });
}

const KINDS: Record<string, Declaration["kind"]> = {
  TSTypeAliasDeclaration: "type",
  TSInterfaceDeclaration: "type",
  FunctionDeclaration: "function",
  ClassDeclaration: "class",
  VariableDeclaration: "value",
};

/** What stands before the body: of a function its head, of a value its type or the head of its arrow function. */
function signatureOf(source: Source, declaration: Any): string {
  const slice = (start: number, end: number): string => flat(source.text.slice(start, end));
  switch (declaration.type) {
    case "FunctionDeclaration":
      return slice(declaration.start, declaration.body?.start ?? declaration.end).replace(/^async /, "");
    case "ClassDeclaration":
      return slice(declaration.start, declaration.body.start);
    case "VariableDeclaration": {
      const [{ id, init }] = declaration.declarations;
      if (id.typeAnnotation) return `const ${slice(id.start, id.end)}`;
      if (init?.type === "ArrowFunctionExpression") {
        const head = slice(init.start, init.body.start)
          .replace(/\s*=>\s*\(?$/, "")
          .replace(/^async /, "");
        return `function ${id.name}${head}`;
      }
      return `const ${id.name}`;
    }
    default:
      return slice(declaration.start, declaration.end).replace(/;$/, "");
  }
}

/** Each way to call a function that has several, a line each. */
const overloads = (source: Source, name: string): string =>
  (source.body as Any[])
    .map(({ declaration }) => declaration)
    .filter((declaration) => declaration?.type === "TSDeclareFunction" && declaration.id.name === name)
    .map((declaration) => signatureOf(source, declaration))
    .join("\n");

function declared(source: Source, file: string, name: string): Declaration | null {
  for (const statement of source.body as Any[]) {
    if (statement.type !== "ExportNamedDeclaration" || !statement.declaration) continue;
    const { declaration } = statement;
    const id = declaration.id ?? declaration.declarations?.[0]?.id;
    if (id?.name !== name) continue;
    const type = declaration.typeAnnotation;
    const members =
      declaration.type === "ClassDeclaration"
        ? classMembers(source, declaration.body.body)
        : type === undefined
          ? []
          : membersOf(source, type);
    const signature =
      declaration.type === "TSDeclareFunction" ? overloads(source, name) : signatureOf(source, declaration);
    return {
      name,
      from: file,
      kind: signature.startsWith("function") ? "function" : (KINDS[declaration.type] ?? "value"),
      doc: source.docs.get(statement.start) ?? "",
      signature,
      members,
    };
  }
  return null;
}

/**
 * What a file exports, in its order: declared there, or in the file that it names.
 *
 * @throws Error when something exported is not found
 */
export function exportsOf(file: string): Declaration[] {
  const source = read(file);
  return (source.body as Any[]).flatMap((statement) => {
    if (statement.type === "ExportAllDeclaration")
      return exportsOf(path.resolve(path.dirname(file), statement.source.value));
    if (statement.type !== "ExportNamedDeclaration") return [];
    if (statement.declaration) {
      const id = statement.declaration.id ?? statement.declaration.declarations[0].id;
      return [declared(source, file, id.name)].filter((found) => found !== null);
    }
    return statement.specifiers.map(({ local, exported }: Any) => {
      const from: string = statement.source.value;
      const base = { kind: "type" as const, doc: "", signature: "", members: [] };
      if (!from.startsWith(".")) return { ...base, name: exported.name, from };
      const found = follow(path.resolve(path.dirname(file), from), local.name);
      return { ...found, name: exported.name };
    });
  });
}

function follow(file: string, name: string): Declaration {
  const own = declared(read(file), file, name);
  if (own !== null) return own;
  const passed = exportsOf(file).find((declaration) => declaration.name === name);
  if (passed === undefined) throw new Error(`${file} does not export ${name}.`);
  return passed;
}
