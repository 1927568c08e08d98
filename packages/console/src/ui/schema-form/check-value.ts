import { checkText } from "./check-text.ts";
import {
  followReference,
  isObject,
  listOf,
  memberOf,
  numberOf,
  toSchema,
  type Schema,
} from "./json-schema.ts";
import { Unparsed } from "./unparsed.ts";

/** As the server's: members and positions joined by dots, after the name of what is checked. */
export type Issue = {
  path: string;
  message: string;
  /** What tells variants from each other: their types, and constants in them. */
  differsIn?: "type" | "constant";
};

const MAX_DEPTH = 64;
/** A schema whose parts lead to each other has more of them than can be held against a value. */
const MAX_CHECKS = 20_000;

/** What does not fit, as far as it is understood here. Nothing found means that the server is asked. */
export const checkValue = (schema: Schema, value: unknown, root: Schema, path: string): Issue[] =>
  check(schema, value, path, { root, made: 0 }, 0);

type Checks = { readonly root: Schema; made: number };

function check(schema: Schema, value: unknown, path: string, all: Checks, depth: number): Issue[] {
  if (value instanceof Unparsed) return [{ path, message: value.message }];
  all.made += 1;
  if (depth > MAX_DEPTH || all.made > MAX_CHECKS) return [];
  const followed = followReference(schema, all.root);
  const issue = (message: string): Issue[] => [{ path, message }];
  if (Object.hasOwn(followed, "const") && !isSame(followed["const"], value))
    return [{ path, message: `must be ${JSON.stringify(followed["const"])}`, differsIn: "constant" }];
  const values = listOf(followed, "enum");
  if (values.length > 0 && !values.some((one) => isSame(one, value)))
    return issue(`must be one of ${values.map((one) => JSON.stringify(one)).join(", ")}`);
  const types = [followed["type"] ?? []].flat().filter((type) => typeof type === "string");
  if (types.length > 0 && !types.some((type) => isOfType(type, value)))
    return [{ path, message: `must be ${types.map(wordOf).join(" or ")}`, differsIn: "type" }];
  const inner = (part: unknown, member: unknown, at = path): Issue[] =>
    check(toSchema(part), member, at, all, depth + 1);
  return [
    ...(typeof value === "string" ? checkText(followed, value).flatMap(issue) : []),
    ...(typeof value === "number" ? checkNumber(followed, value).flatMap(issue) : []),
    ...(Array.isArray(value) ? checkList(followed, value as unknown[], path, inner) : []),
    ...(isObject(value) ? checkObject(followed, value, path, inner) : []),
    ...listOf(followed, "allOf").flatMap((part) => inner(part, value)),
    ...checkVariants(followed, path, all, (part) => inner(part, value)),
  ];
}

type Inner = (part: unknown, member: unknown, at?: string) => Issue[];

const wordOf = (type: string): string => (type === "integer" ? "a whole number" : type);

function isOfType(type: string, value: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "null") return value === null;
  if (type === "object") return isObject(value);
  return typeof value === type;
}

function checkNumber(schema: Schema, value: number): string[] {
  const bounds = [
    ["minimum", "must be at least", (bound: number) => value >= bound],
    ["maximum", "must be at most", (bound: number) => value <= bound],
    ["exclusiveMinimum", "must be more than", (bound: number) => value > bound],
    ["exclusiveMaximum", "must be less than", (bound: number) => value < bound],
    ["multipleOf", "must be a multiple of", (bound: number) => isMultiple(value, bound)],
  ] as const;
  return bounds.flatMap(([keyword, words, fits]) => {
    const bound = numberOf(schema, keyword);
    return bound === null || fits(bound) ? [] : [`${words} ${bound}`];
  });
}

/** Tenths are no tenths in binary: a quotient that is as near as doubles get is whole. */
const isMultiple = (value: number, of: number): boolean => {
  const quotient = value / of;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient));
};

function checkList(schema: Schema, value: readonly unknown[], path: string, inner: Inner): Issue[] {
  const issues: Issue[] = [];
  const [least, most] = [numberOf(schema, "minItems"), numberOf(schema, "maxItems")];
  if (least !== null && value.length < least)
    issues.push({ path, message: `must have at least ${least} ${least === 1 ? "item" : "items"}` });
  if (most !== null && value.length > most)
    issues.push({ path, message: `must have at most ${most} ${most === 1 ? "item" : "items"}` });
  if (schema["uniqueItems"] === true && new Set(value.map(canonical)).size < value.length)
    issues.push({ path, message: "must not contain duplicates" });
  const prefix = listOf(schema, "prefixItems");
  const rest = schema["items"];
  value.forEach((item, index) => {
    const part = index < prefix.length ? prefix[index] : rest;
    if (part !== undefined) issues.push(...inner(part, item, `${path}.${index}`));
  });
  return issues;
}

function checkObject(schema: Schema, value: Schema, path: string, inner: Inner): Issue[] {
  const issues: Issue[] = [];
  const names = Object.keys(value);
  const required = new Set(listOf(schema, "required"));
  for (const [name, needs] of Object.entries(toSchema(schema["dependentRequired"])))
    if (Object.hasOwn(value, name)) for (const need of needs as unknown[]) required.add(need);
  for (const name of required)
    if (typeof name === "string" && !Object.hasOwn(value, name))
      issues.push({ path: `${path}.${name}`, message: "is required" });
  const [least, most] = [numberOf(schema, "minProperties"), numberOf(schema, "maxProperties")];
  if (least !== null && names.length < least)
    issues.push({ path, message: `must have at least ${least} members` });
  if (most !== null && names.length > most)
    issues.push({ path, message: `must have at most ${most} members` });
  const properties = toSchema(schema["properties"]);
  const others = schema["additionalProperties"];
  for (const name of names) {
    const part = memberOf(properties, name);
    const at = `${path}.${name}`;
    if (part !== undefined) issues.push(...inner(part, value[name], at));
    else if (Object.hasOwn(schema, "patternProperties")) continue;
    else if (others === false) issues.push({ path: at, message: "is not in the declared schema. Remove it" });
    else if (isObject(others)) issues.push(...inner(others, value[name], at));
  }
  return issues;
}

function checkVariants(
  schema: Schema,
  path: string,
  all: Checks,
  issuesOf: (variant: unknown) => Issue[],
): Issue[] {
  return ["anyOf", "oneOf"].flatMap((keyword) => {
    const found = listOf(schema, keyword).map(issuesOf);
    // What was not looked at seems to fit.
    if (found.length === 0 || all.made > MAX_CHECKS) return [];
    const fitting = found.filter((issues) => issues.length === 0).length;
    if (fitting === 1 || (fitting > 1 && keyword === "anyOf")) return [];
    if (fitting > 1) return [{ path, message: "matches more than one choice" }];
    return found[closestOf(found, path)] ?? [];
  });
}

/** Which of the variants a value is meant to be: of the same type, with the same constants, and with the least amiss. */
export const closestVariant = (variants: readonly Schema[], value: unknown, root: Schema): number =>
  closestOf(
    variants.map((variant) => checkValue(variant, value, root, "")),
    "",
  );

/** By what is amiss with each of them, for a value at `at`. */
function closestOf(found: readonly (readonly Issue[])[], at: string): number {
  const distances = found.map((issues) => {
    const constants = issues.filter(({ differsIn }) => differsIn === "constant").length;
    const isOther = issues.some(({ path, differsIn }) => path === at && differsIn !== undefined);
    return issues.length + constants * 100 + (isOther ? 1000 : 0);
  });
  return Math.max(0, distances.indexOf(Math.min(...distances)));
}

const isSame = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other);

/** Equal values have the same text, whatever the order of their members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${(value as unknown[]).map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "undefined";
  const members = Object.keys(value).toSorted();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}
