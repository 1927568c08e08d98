import type { RunFailure } from "@keelson/contract";

/**
 * What makes failures the same: kind, name of the error, the message without what differs from run to run, and the first own
 * frame without its line. Both texts are the run's own, and of any length: what is read of them is bounded, and the expressions
 * are ours and go through a text once.
 */
export type Fingerprint = { kind: string; name: string | null; message: string; frame: string | null };

const READ_CHARACTERS = 8_192;
const MESSAGE_CHARACTERS = 300;
const NAME_CHARACTERS = 100;
const FRAME_CHARACTERS = 300;
const READ_LINES = 100;
/** Letters and digits mixed in a word this long are an id more often than a name. */
const ID_CHARACTERS = 6;

/**
 * Values in quotation marks, an apostrophe in a word aside; UUIDs; numbers with points, colons and commas in them; words.
 * The mark that ends a value is looked for only as far as the next one, so no text takes longer than it is long.
 */
const VALUES =
  /"[^"]*"|`[^`]*`|“[^”“]*”|(?<!\w)'[^']*'(?!\w)|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|-?\b\d+(?:[.,:]\d+)*\b|\w+/giu;
const HEX_WORD = /^(?:0x[0-9a-f]+|[0-9a-f]{8,})$/iu;

function withoutValue(text: string): string {
  const first = text[0] ?? "";
  if (`"'\`“`.includes(first)) return "“…”";
  if (text.includes("-") && text.length === 36) return "<id>";
  if (/^-?\d[\d.,:]*$/u.test(text)) return "<n>";
  if (HEX_WORD.test(text)) return "<id>";
  if (!/\d/u.test(text)) return text;
  return text.length >= ID_CHARACTERS && /[a-z]/iu.test(text) ? "<id>" : text.replaceAll(/\d+/gu, "<n>");
}

/** A message without numbers, ids and quoted values. */
export const normalizeMessage = (message: string): string =>
  message
    .slice(0, READ_CHARACTERS)
    .replaceAll(VALUES, withoutValue)
    .replaceAll(/\s+/gu, " ")
    .trim()
    .slice(0, MESSAGE_CHARACTERS)
    .toWellFormed();

/** The error's name, as a stack begins with it. */
function nameOf(stack: string | null): string | null {
  const [name] = /^[\p{L}_$][\p{L}\p{N}_$.]*/u.exec(stack?.slice(0, NAME_CHARACTERS) ?? "") ?? [];
  if (name === undefined || stack === null) return null;
  const next = stack.charAt(name.length);
  return next === ":" || next === "\n" || next === "" ? name : null;
}

/** Of Node.js, of a package, or of no file. A path of the machine is of what runs the code. */
const isForeign = (place: string): boolean =>
  place === "" ||
  place === "native" ||
  place.startsWith("<") ||
  place.startsWith("/") ||
  place.startsWith("node:") ||
  place.startsWith("file:") ||
  place.includes("node_modules/");

/** Reads `at send (src/report.ts:18:11)`, or `at src/report.ts:18:11`; null for a frame that is not the project's own. */
function readFrame(line: string): string | null {
  const text = line.trim().slice(0, FRAME_CHARACTERS);
  if (!text.startsWith("at ")) return null;
  const frame = text.slice(3).replace(/^async /u, "");
  const open = frame.endsWith(")") ? frame.lastIndexOf(" (") : -1;
  const place = open === -1 ? frame : frame.slice(open + 2, -1);
  const file = place.replace(/:\d+(?::\d+)?$/u, "");
  if (file === place || isForeign(file)) return null;
  return (open === -1 ? file : `${frame.slice(0, open)} (${file})`).toWellFormed();
}

/** The first frame of the project's own code, without its line: an edit above it does not make another error of it. */
export function firstOwnFrame(stack: string | null): string | null {
  if (stack === null) return null;
  for (const line of stack.split("\n", READ_LINES)) {
    const frame = readFrame(line);
    if (frame !== null) return frame;
  }
  return null;
}

export const fingerprintOf = ({ kind, message, stack }: RunFailure): Fingerprint => ({
  kind,
  name: nameOf(stack),
  message: normalizeMessage(message),
  frame: firstOwnFrame(stack),
});
