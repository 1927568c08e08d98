import { listOf, numberOf, textOf, type Schema } from "./json-schema.ts";

/** What the author says of a value, and what is asked of it, in a few words. Null: nothing. A title that the field is called by is not said again. */
export function hintOf(schema: Schema, isTitled = false): string | null {
  const parts = [isTitled ? null : textOf(schema, "title"), textOf(schema, "description"), boundsOf(schema)];
  const [example] = listOf(schema, "examples");
  if (example !== undefined) parts.push(`For example ${JSON.stringify(example)}`);
  const said = parts.filter((part): part is string => part !== null && part !== "");
  return said.length === 0 ? null : said.map((part) => (/[.!?]$/.test(part) ? part : `${part}.`)).join(" ");
}

const range = (least: number | null, most: number | null, unit: string): string | null => {
  if (least !== null && most !== null) return `${least} to ${most}${unit}`;
  if (least !== null) return `At least ${least}${unit}`;
  return most === null ? null : `At most ${most}${unit}`;
};

function boundsOf(schema: Schema): string | null {
  const number = (keyword: string): number | null => numberOf(schema, keyword);
  const above = number("exclusiveMinimum");
  const below = number("exclusiveMaximum");
  const of = number("multipleOf");
  const format = textOf(schema, "format");
  const parts = [
    range(number("minimum"), number("maximum"), ""),
    above === null ? null : `More than ${above}`,
    below === null ? null : `Less than ${below}`,
    of === null ? null : `In steps of ${of}`,
    range(number("minItems"), number("maxItems"), " items"),
    format === null ? null : `Format ${format}`,
  ];
  return parts.filter((part) => part !== null).join(", ") || null;
}
