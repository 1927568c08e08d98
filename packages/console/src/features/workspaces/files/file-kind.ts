/** What a file's bytes are, told by the bytes alone: its name says nothing about what the browser may do with it. */

export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];
export type FileKind = { kind: "text" } | { kind: "binary" } | { kind: "image"; type: ImageType };

const PROBE_BYTES = 8192;

const begins = (bytes: Uint8Array, text: string, at = 0): boolean =>
  text.split("").every((character, index) => bytes[at + index] === character.charCodeAt(0));

function imageType(bytes: Uint8Array): ImageType | null {
  if (begins(bytes, "\u0089PNG\r\n\u001a\n")) return "image/png";
  if (begins(bytes, "\u00ff\u00d8\u00ff")) return "image/jpeg";
  if (begins(bytes, "GIF87a") || begins(bytes, "GIF89a")) return "image/gif";
  return begins(bytes, "RIFF") && begins(bytes, "WEBP", 8) ? "image/webp" : null;
}

/** Of the beginning of a file. What has NUL in it is no text; an SVG is text. */
export function fileKindOf(bytes: Uint8Array): FileKind {
  const type = imageType(bytes);
  if (type !== null) return { kind: "image", type };
  return { kind: bytes.subarray(0, PROBE_BYTES).includes(0) ? "binary" : "text" };
}

export type DecodedText = {
  text: string;
  /** Some bytes are no UTF-8; U+FFFD stands for them. */
  isDamaged: boolean;
};

/** `isWhole`: the bytes are all of the file; else a character that is cut off at their end is left out. */
export function decodeText(bytes: Uint8Array, isWhole: boolean): DecodedText {
  const stream = { stream: !isWhole };
  try {
    return {
      text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, stream),
      isDamaged: false,
    };
  } catch {
    // Not UTF-8: shown as far as it is.
    return { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, stream), isDamaged: true };
  }
}

export type LineEnd = "\n" | "\r\n";

/** How the lines of a text end; null when not all do alike, so that an editor could not give them back as they were. */
export function lineEndOf(text: string): LineEnd | null {
  const returns = text.split("\r").length - 1;
  if (returns === 0) return "\n";
  const both = text.split("\r\n").length - 1;
  return both === returns && both === text.split("\n").length - 1 ? "\r\n" : null;
}

export type HexRow = { offset: string; bytes: string; text: string };

/** Sixteen bytes a row, as `xxd` shows them. */
export function hexRows(bytes: Uint8Array, maxBytes: number): HexRow[] {
  const rows: HexRow[] = [];
  for (let at = 0; at < Math.min(bytes.length, maxBytes); at += 16) {
    const part = [...bytes.subarray(at, Math.min(at + 16, maxBytes))];
    rows.push({
      offset: at.toString(16).padStart(8, "0"),
      bytes: part.map((byte) => byte.toString(16).padStart(2, "0")).join(" "),
      text: part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join(""),
    });
  }
  return rows;
}
