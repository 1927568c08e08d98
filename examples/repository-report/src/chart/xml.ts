type Attributes = Readonly<Record<string, string | number | undefined>>;

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/** Characters that XML 1.0 cannot hold, not even escaped. */
// oxlint-disable-next-line no-control-regex
const IMPOSSIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/g;

/** Text that is safe between tags and in quotes, whatever a file or an author is called. */
export const escapeXml = (text: string): string =>
  text
    .toWellFormed()
    .replace(IMPOSSIBLE, "\uFFFD")
    .replace(/[&<>"]/g, (character) => ESCAPES[character] as string);

/** Coordinates need no more than two decimals. */
const valueText = (value: string | number): string =>
  typeof value === "number" ? String(Math.round(value * 100) / 100) : escapeXml(value);

/** An element around `content`, which is markup already. */
export function element(name: string, attributes: Attributes, content = ""): string {
  const written = Object.entries(attributes)
    .filter((entry): entry is [string, string | number] => entry[1] !== undefined)
    .map(([key, value]) => ` ${key}="${valueText(value)}"`)
    .join("");
  return content === "" ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}

export const group = (attributes: Attributes, parts: readonly string[]): string =>
  element("g", attributes, `\n${parts.join("\n")}\n`);

/** A line of text; `label` is not markup yet. */
export const textAt = (x: number, y: number, label: string, attributes: Attributes = {}): string =>
  element("text", { x, y, ...attributes }, escapeXml(label));

/** What a browser shows when the pointer rests on the element it is in. */
export const tooltip = (label: string): string => `<title>${escapeXml(label)}</title>`;
