/** Bytes that are not UTF-8, as text: what is not printable ASCII is `\xNN`. */
export const escapeText = (bytes: Buffer): string =>
  bytes.toString("latin1").replaceAll(/[^\x20-\x7e]/g, escapeOne);

/** Each byte as `\xNN`. */
export const escapeAll = (bytes: Buffer): string => bytes.toString("latin1").replaceAll(/[^]/g, escapeOne);

const escapeOne = (character: string): string =>
  `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
