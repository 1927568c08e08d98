/**
 * Credentials are opaque text: `kl_<kind>_<32 base62 of randomness><6 base62 of CRC-32>`. When an installation is one of several
 * cells and has a tag, its new credentials carry the tag: `kl_<kind>_<tag>_<randomness><check>`. A router reads the cell there.
 * The check digits cover everything before them. They let a scanner tell a real credential from noise and refuse a typing error
 * without a look-up.
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
/** Base62 has no underscore, so text before one is a tag. */
const PATTERN =
  /^kl_(key|usr|wkr|pub|tkn|adm|cap|enr|inv|lnk|dev|cod|oat|ort|run)_(?:([a-z][0-9a-z]{1,7})_)?([0-9A-Za-z]+)$/;

/** A tag can also be a label of a host name, such as `eu1.keelson.example.com`. */
const CELL_TAG = /^[a-z][0-9a-z]{1,7}$/;

/** Whether text can be the tag of a cell: 2 to 8 lower-case letters and digits, the first one a letter. */
export const isCellTag = (text: string): boolean => CELL_TAG.test(text);

/**
 * Text in the form of a credential, in a longer text and with any check digits: what a log must not show. `kind` limits it to one
 * kind. Each call makes a new expression, because an expression with the flag `g` remembers a place.
 */
export const credentialsWithin = (kind?: CredentialKind): RegExp =>
  new RegExp(`kl_${kind ?? "[a-z]{3}"}_(?:[a-z][0-9a-z]{1,7}_)?[0-9A-Za-z]+`, "g");

const RANDOM_DIGITS = 32;
const CHECK_DIGITS = 6;
const DIGITS_PER_WORD = 6;
const RUN_TOKEN_BYTES = 52;
const RUN_TOKEN_DIGITS = (RUN_TOKEN_BYTES / 4) * DIGITS_PER_WORD;

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

/** A 32-bit word as six base62 digits. */
function wordDigits(word: number): string {
  placeWord(wordCodes, 0, word);
  return String.fromCharCode(...wordCodes);
}

const wordCodes: number[] = Array.from({ length: DIGITS_PER_WORD }, () => 0);

/** Writes the character codes of a word's digits. */
function placeWord(codes: number[], at: number, word: number): void {
  let rest = word;
  for (let place = at + DIGITS_PER_WORD - 1; place >= at; place -= 1) {
    const next = Math.floor(rest / BASE62.length);
    codes[place] = BASE62.charCodeAt(rest - next * BASE62.length);
    rest = next;
  }
}

function headOf(kind: CredentialKind, cell: string | null): string {
  if (cell === null) return `kl_${kind}_`;
  if (!isCellTag(cell)) throw new RangeError(`"${cell}" cannot be the tag of a cell`);
  return `kl_${kind}_${cell}_`;
}

/**
 * Makes a credential from at least 48 random bytes; bytes from 248 up are skipped so that every digit is equally likely.
 *
 * @param cell the tag of the installation's cell; null when it has none
 */
export function formatCredential(
  kind: CredentialKind,
  random: Uint8Array,
  cell: string | null = null,
): string {
  let body = "";
  for (let i = 0; i < random.length && body.length < RANDOM_DIGITS; i += 1) {
    const byte = random[i] as number;
    if (byte < 248) body += BASE62.charAt(byte % 62);
  }
  if (body.length < RANDOM_DIGITS) throw new RangeError("not enough random bytes for a credential");
  const text = headOf(kind, cell) + body;
  return text + checkDigits(text);
}

/** What the text of a credential says. `cell`: the tag of its cell; null for a credential without a tag. */
export type CredentialParts = { kind: CredentialKind; cell: string | null };

/** The parts of a well-formed credential, or null when the text is not one. Says nothing about whether it is valid. */
export function readCredential(text: string): CredentialParts | null {
  const match = PATTERN.exec(text);
  if (match === null) return null;
  const kind = match[1] as CredentialKind;
  const digits = kind === CREDENTIAL_KINDS.run ? RUN_TOKEN_DIGITS : RANDOM_DIGITS;
  if (match[3]?.length !== digits + CHECK_DIGITS) return null;
  if (checkDigits(text.slice(0, -CHECK_DIGITS)) !== text.slice(-CHECK_DIGITS)) return null;
  return { kind, cell: match[2] ?? null };
}

/** The kind of a well-formed credential, or null when the text is not one. Says nothing about whether it is valid. */
export const parseCredential = (text: string): CredentialKind | null => readCredential(text)?.kind ?? null;

/** The text of a run's token. The first 36 bytes say whose it is, the last 16 are the proof of it. */
export function formatRunToken(bytes: Uint8Array, cell: string | null = null): string {
  if (bytes.length !== RUN_TOKEN_BYTES) throw new RangeError(`a run's token has ${RUN_TOKEN_BYTES} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  // Every lease has a token: its digits become a text at once, and not word by word.
  for (let word = 0; word < RUN_TOKEN_BYTES / 4; word += 1)
    placeWord(runTokenCodes, word * DIGITS_PER_WORD, view.getUint32(word * 4));
  const text = headOf(CREDENTIAL_KINDS.run, cell) + String.fromCharCode(...runTokenCodes);
  return text + checkDigits(text);
}

const runTokenCodes: number[] = Array.from({ length: RUN_TOKEN_DIGITS }, () => 0);

/** The bytes of a run's token, whose form `readCredential` has checked; null when they are not one's. */
export function readRunToken(text: string): Uint8Array | null {
  const bytes = new Uint8Array(RUN_TOKEN_BYTES);
  const view = new DataView(bytes.buffer);
  let place = text.length - CHECK_DIGITS - RUN_TOKEN_DIGITS;
  for (let at = 0; at < RUN_TOKEN_BYTES; at += 4) {
    const end = place + DIGITS_PER_WORD;
    let word = 0;
    for (; place < end; place += 1) word = word * 62 + BASE62.indexOf(text.charAt(place));
    if (word > 0xffffffff) return null;
    view.setUint32(at, word);
  }
  return bytes;
}

/** The credential of an `Authorization` header; null when the header is missing or has another form. */
export const bearerOf = (authorization: string | undefined): string | null =>
  authorization === undefined ? null : (/^Bearer +([^\s]+) *$/i.exec(authorization)?.[1] ?? null);
