/**
 * Credentials are opaque text: `kl_<kind>_<32 base62 of randomness><6 base62 of CRC-32>`.
 * The check digits let a scanner tell a real credential from noise and refuse a typing error without a look-up.
 *
 * The token of a run says whose it is, so it is longer: 78 base62 digits in place of the 32, six for each 32-bit word of
 * its 52 bytes.
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
  authorizationCode: "cod",
  accessToken: "oat",
  refreshToken: "ort",
  run: "run",
} as const;

export type CredentialKind = (typeof CREDENTIAL_KINDS)[keyof typeof CREDENTIAL_KINDS];

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PATTERN =
  /^kl_(?:(key|usr|wkr|pub|tkn|adm|cap|enr|inv|lnk|dev|cod|oat|ort)_[0-9A-Za-z]{32}|(run)_[0-9A-Za-z]{78})[0-9A-Za-z]{6}$/;

const DIGITS_PER_WORD = 6;
const PAIRS = 62 ** 2;
const RUN_TOKEN_BYTES = 52;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

function checkDigits(text: string): string {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i += 1)
    crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ text.charCodeAt(i)) & 255] as number);
  return wordDigits((crc ^ 0xffffffff) >>> 0);
}

let pairs: string[] | undefined;

/** A 32-bit word as six base62 digits, by pairs: every lease has a token made of fourteen words. */
function wordDigits(word: number): string {
  pairs ??= Array.from(BASE62).flatMap((first) => Array.from(BASE62, (second) => first + second));
  const high = Math.floor(word / PAIRS ** 2);
  const middle = Math.floor(word / PAIRS) % PAIRS;
  return `${pairs[high]}${pairs[middle]}${pairs[word % PAIRS]}`;
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
  if (match === null || checkDigits(text.slice(0, -6)) !== text.slice(-6)) return null;
  return (match[1] ?? match[2]) as CredentialKind;
}

/** The text of a run's token. The first 36 bytes say whose it is, the last 16 are the proof of it. */
export function formatRunToken(bytes: Uint8Array): string {
  if (bytes.length !== RUN_TOKEN_BYTES) throw new RangeError(`a run's token has ${RUN_TOKEN_BYTES} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let head = `kl_${CREDENTIAL_KINDS.run}_`;
  for (let at = 0; at < RUN_TOKEN_BYTES; at += 4) head += wordDigits(view.getUint32(at));
  return head + checkDigits(head);
}

/** The bytes of a run's token, whose form `parseCredential` has checked; null when they are not one's. */
export function readRunToken(text: string): Uint8Array | null {
  const bytes = new Uint8Array(RUN_TOKEN_BYTES);
  const view = new DataView(bytes.buffer);
  let place = `kl_${CREDENTIAL_KINDS.run}_`.length;
  for (let at = 0; at < RUN_TOKEN_BYTES; at += 4) {
    const end = place + DIGITS_PER_WORD;
    let word = 0;
    for (; place < end; place += 1) word = word * 62 + BASE62.indexOf(text.charAt(place));
    if (word > 0xffffffff) return null;
    view.setUint32(at, word);
  }
  return bytes;
}
