/**
 * Credentials are opaque text: `kl_<kind>_<32 base62 of randomness><6 base62 of CRC-32>`.
 * The check digits let a scanner tell a real credential from noise and refuse a typing error without a look-up.
 */
export const CREDENTIAL_KINDS = {
  apiKey: "key",
  userSession: "usr",
  worker: "wkr",
  publicAccess: "pub",
  completionToken: "tkn",
  admin: "adm",
  capacity: "cap",
  enrollment: "enr",
  invitation: "inv",
  magicLink: "lnk",
  device: "dev",
} as const;

export type CredentialKind = (typeof CREDENTIAL_KINDS)[keyof typeof CREDENTIAL_KINDS];

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PATTERN = /^kl_(key|usr|wkr|pub|tkn|adm|cap|enr|inv|lnk|dev)_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

function checkDigits(text: string): string {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i += 1)
    crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ text.charCodeAt(i)) & 255] as number);
  let value = (crc ^ 0xffffffff) >>> 0;
  let digits = "";
  for (let i = 0; i < 6; i += 1) {
    digits = BASE62.charAt(value % 62) + digits;
    value = Math.floor(value / 62);
  }
  return digits;
}

/** Makes a credential from at least 48 random bytes; bytes from 248 up are skipped so that every digit is equally likely. */
export function formatCredential(kind: CredentialKind, random: Uint8Array): string {
  let body = "";
  for (let i = 0; i < random.length && body.length < 32; i += 1) {
    const byte = random[i] as number;
    if (byte < 248) body += BASE62.charAt(byte % 62);
  }
  if (body.length < 32) throw new RangeError("not enough random bytes for a credential");
  const head = `kl_${kind}_${body}`;
  return head + checkDigits(head);
}

/** The kind of a well-formed credential, or null when the text is not one. Says nothing about whether it is valid. */
export function parseCredential(text: string): CredentialKind | null {
  const match = PATTERN.exec(text);
  if (match === null) return null;
  return checkDigits(text.slice(0, -6)) === match[3] ? (match[1] as CredentialKind) : null;
}
