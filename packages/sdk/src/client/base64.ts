/** Text is encoded as UTF-8. */
export const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? new TextEncoder().encode(content) : content;

/** The bytes of a log chunk or snapshot. */
export const decodeBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** As many arguments as every engine lets a call have. */
const SLICE_BYTES = 8192;

export function encodeBase64(bytes: Uint8Array): string {
  let characters = "";
  for (let at = 0; at < bytes.length; at += SLICE_BYTES)
    characters += String.fromCharCode(...bytes.subarray(at, at + SLICE_BYTES));
  return btoa(characters);
}
