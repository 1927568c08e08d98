/**
 * What is not seen or changes how other text is seen: controls, marks and overrides of direction, zero-width characters
 * but the joiners that scripts and emoji need, and tags.
 */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{fff9}-\u{fffb}\u{e0000}-\u{e007f}]/gu;

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const escapeOf = (character: string): string =>
  SHORT[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** A name or a short text of others on one line, such as `a\nb` or `\u{202e}gpj.exe`: nothing in it is invisible. */
export const visibleText = (text: string): string => text.replace(UNSEEN, escapeOf);

/** A line of a file or of an output: as `visibleText`, and tabs stay. */
export const visibleLine = (text: string): string =>
  text.replace(UNSEEN, (character) => (character === "\t" ? character : escapeOf(character)));

/** What a text of several lines has of these: its lines, and the marks that right-to-left writing needs. */
const PART_OF_TEXT = new Set("\n\t\u200e\u200f");

/** A text of several lines, such as a message. */
export const visibleLines = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll("\r\n", "\n")
    .replace(UNSEEN, (character) => (PART_OF_TEXT.has(character) ? character : escapeOf(character)));
