// Reads types from the sources, without a type checker: as much of the language as rows and arguments of statements use.
// What it cannot read is of the kind `other`, and the checks say so where that hides something.

import type { SourceFile, SourceFiles } from "./read-files.ts";
import { literalsOf, unionOf, type Field, type Shape } from "./shape.ts";

// The syntax tree is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

/** What the parameters of a generic type stand for. */
type Bound = ReadonlyMap<string, Shape>;

/** What the parts of the reader share. */
type Reader = {
  files: SourceFiles;
  read(file: SourceFile, node: Any, bound: Bound, depth: number): Shape;
};

export type ReadType = (file: SourceFile, node: Any) => Shape;

const KEYWORDS: Record<string, Shape> = {
  TSStringKeyword: { kind: "string" },
  TSNumberKeyword: { kind: "number" },
  TSBooleanKeyword: { kind: "boolean" },
  TSNullKeyword: { kind: "null" },
  TSUndefinedKeyword: { kind: "undefined" },
};
const MAX_DEPTH = 24;

const other = (name: string): Shape => ({ kind: "other", name });
const objectOf = (fields: Iterable<[string, Field]>): Shape => ({ kind: "object", fields: new Map(fields) });

/** The fields of an object, or of all parts of an intersection. */
const fieldsOf = (shape: Shape): [string, Field][] => (shape.kind === "object" ? [...shape.fields] : []);

export function createTypeReader(files: SourceFiles): ReadType {
  const NONE: Bound = new Map();
  const reader: Reader = { files, read };

  function read(file: SourceFile, node: Any, bound: Bound, depth: number): Shape {
    if (depth > MAX_DEPTH) return other("a type within itself");
    const inner = (next: Any): Shape => read(file, next, bound, depth + 1);
    const keyword = KEYWORDS[node.type];
    if (keyword !== undefined) return keyword;
    switch (node.type) {
      case "TSLiteralType":
        return "value" in node.literal ? { kind: "literal", value: node.literal.value } : other("a literal");
      case "TSParenthesizedType":
        return inner(node.typeAnnotation);
      case "TSUnionType":
        return unionOf(node.types.map(inner));
      case "TSIntersectionType":
        return intersection(node.types.map(inner));
      case "TSArrayType":
        return { kind: "list", of: inner(node.elementType) };
      case "TSTupleType":
        return { kind: "list", of: unionOf(node.elementTypes.map(inner)) };
      case "TSTypeOperator":
        return node.operator === "keyof" ? keysOf(inner(node.typeAnnotation)) : inner(node.typeAnnotation);
      case "TSTypeLiteral":
        return membersOf(node.members, inner);
      case "TSIndexedAccessType":
        return elementOf(inner(node.objectType), inner(node.indexType));
      case "TSTypeQuery":
        return valueOf(files, file, node.exprName.name, depth);
      case "TSMappedType":
        return mapped(reader, file, node, bound, depth);
      case "TSTypeReference":
        return reference(reader, file, node, bound, depth);
      case "TSFunctionType":
        return other("a function");
      default:
        return other(node.type);
    }
  }

  return (file, node) => read(file, node, NONE, 0);
}

function reference({ files, read }: Reader, file: SourceFile, node: Any, bound: Bound, depth: number): Shape {
  const { name } = node.typeName;
  if (typeof name !== "string") return other("a qualified name");
  const known = bound.get(name);
  if (known !== undefined) return known;
  const given: Shape[] = (node.typeArguments?.params ?? []).map((next: Any) =>
    read(file, next, bound, depth + 1),
  );
  const found = files.findType(file, name);
  if (found === null) return builtIn(name, given);
  const parameters: Any[] = found.node.typeParameters?.params ?? [];
  // One that is not given is what it is when nobody says.
  const within = new Map<string, Shape>();
  for (const [index, { name: parameter, default: unsaid }] of parameters.entries())
    within.set(
      parameter.name,
      given[index] ??
        (unsaid ? read(found.file, unsaid, within, depth + 1) : other(parameter.name as string)),
    );
  if (found.node.type === "TSTypeAliasDeclaration")
    return read(found.file, found.node.typeAnnotation, within, depth + 1);
  const own = membersOf(found.node.body.body, (next) => read(found.file, next, within, depth + 1));
  // What has methods is not data.
  if (fieldsOf(own).some(([, { shape }]) => shape.kind === "other" && shape.name === "a method"))
    return other(name);
  return own;
}

function mapped({ read }: Reader, file: SourceFile, node: Any, bound: Bound, depth: number): Shape {
  const keys = literalsOf(read(file, node.constraint, bound, depth + 1)).map(String);
  if (keys.length === 0 || node.typeAnnotation === null) return other("a mapped type");
  return objectOf(
    keys.map((key) => {
      const within = new Map([...bound, [node.key.name as string, { kind: "literal", value: key } as Shape]]);
      const name = node.nameType === null ? key : textOf(node.nameType, within);
      return [
        name,
        { shape: read(file, node.typeAnnotation, within, depth + 1), optional: Boolean(node.optional) },
      ];
    }),
  );
}

/** The type of a constant: a list of literals, with the lists that it is made of. */
function valueOf(files: SourceFiles, file: SourceFile, name: string, depth: number): Shape {
  const found = files.findValue(file, name);
  if (found === null) return other(`typeof ${name}`);
  const expression = (next: Any): Shape => {
    if (next.type === "TSAsExpression" || next.type === "TSSatisfiesExpression")
      return expression(next.expression);
    if (next.type === "Literal") return { kind: "literal", value: next.value };
    if (next.type === "Identifier") return valueOf(files, found.file, next.name, depth + 1);
    if (next.type === "ArrayExpression")
      return {
        kind: "list",
        of: unionOf(
          next.elements.map((item: Any) =>
            item.type === "SpreadElement"
              ? elementOf(expression(item.argument), { kind: "number" })
              : expression(item),
          ),
        ),
      };
    return other(`typeof ${name}`);
  };
  return depth > MAX_DEPTH ? other(name) : expression(found.node);
}

function membersOf(members: readonly Any[], inner: (node: Any) => Shape): Shape {
  const fields = members.flatMap((member): [string, Field][] => {
    const name = member.key?.name ?? member.key?.value;
    if (typeof name !== "string") return [];
    if (member.type === "TSMethodSignature")
      return [[name, { shape: other("a method"), optional: Boolean(member.optional) }]];
    return [
      [name, { shape: inner(member.typeAnnotation.typeAnnotation), optional: Boolean(member.optional) }],
    ];
  });
  return objectOf(fields);
}

function intersection(parts: readonly Shape[]): Shape {
  // A union in an intersection: one of its objects, whose fields the others share in a row.
  const objects = parts.map((part) => (part.kind === "union" ? (part.of[0] as Shape) : part));
  const unknown = objects.find((part) => part.kind !== "object");
  return unknown ?? objectOf(objects.flatMap(fieldsOf));
}

const keysOf = (shape: Shape): Shape =>
  unionOf(fieldsOf(shape).map(([name]): Shape => ({ kind: "literal", value: name })));

function elementOf(shape: Shape, index: Shape): Shape {
  if (shape.kind === "list") return shape.of;
  const names = literalsOf(index);
  const found = fieldsOf(shape).filter(([name]) => names.includes(name));
  return found.length === 0 ? other("an indexed type") : unionOf(found.map(([, field]) => field.shape));
}

function textOf(node: Any, bound: Bound): string {
  if (node.type === "TSTemplateLiteralType")
    return node.quasis
      .map(
        (quasi: Any, index: number) =>
          quasi.value.cooked + (index in node.types ? textOf(node.types[index], bound) : ""),
      )
      .join("");
  const { name } = node.typeName;
  if (name === "Capitalize") {
    const text = textOf(node.typeArguments.params[0], bound);
    return text.charAt(0).toUpperCase() + text.slice(1);
  }
  return String(literalsOf(bound.get(name) ?? other(name))[0]);
}

function builtIn(name: string, given: readonly Shape[]): Shape {
  const [first = other(name), second = other(name)] = given;
  const names = literalsOf(second);
  const without = (isDropped: (shape: Shape) => boolean): Shape =>
    first.kind === "union" ? unionOf(first.of.filter((shape) => !isDropped(shape))) : first;
  const isAmong = (shape: Shape): boolean => shape.kind === "literal" && names.includes(shape.value);
  const asOptional = (optional: boolean): Shape =>
    first.kind === "object"
      ? objectOf(fieldsOf(first).map(([key, field]) => [key, { ...field, optional }]))
      : first;
  switch (name) {
    case "Buffer":
    case "Uint8Array":
      return { kind: "bytes" };
    case "Array":
    case "ReadonlyArray":
      return { kind: "list", of: first };
    case "Readonly":
    case "Promise":
      return first;
    case "Record": {
      const keys = literalsOf(first).map(String);
      const named = keys.length > 0 ? keys : ["name"];
      return objectOf(named.map((key) => [key, { shape: second, optional: keys.length === 0 }]));
    }
    case "Omit":
      return first.kind === "object"
        ? objectOf(fieldsOf(first).filter(([key]) => !names.includes(key)))
        : first;
    case "Pick":
      return first.kind === "object"
        ? objectOf(fieldsOf(first).filter(([key]) => names.includes(key)))
        : first;
    case "Partial":
      return asOptional(true);
    case "Required":
      return asOptional(false);
    case "NonNullable":
      return without((shape) => shape.kind === "null" || shape.kind === "undefined");
    case "Exclude":
      return without(isAmong);
    case "Extract":
      return without((shape) => !isAmong(shape));
    default:
      return other(name);
  }
}
