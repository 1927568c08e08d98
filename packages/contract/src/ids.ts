/**
 * TypeIDs: `<prefix>_<26 characters>`, the suffix being the lower-case Crockford base32 of a UUIDv7.
 * On the wire an id is always the TypeID; inside the server it is the UUID's canonical text.
 * Source: the TypeID specification 0.3.
 */

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** Every resource prefix; the key is the name used in code. */
export const ID_PREFIXES = {
  organization: "org",
  user: "user",
  project: "proj",
  environment: "env",
  apiKey: "key",
  invitation: "inv",
  deployment: "dep",
  task: "task",
  actor: "actor",
  sandbox: "sbx",
  session: "sess",
  /** Bytes that were uploaded to a session. */
  sessionFile: "file",
  stream: "strm",
  record: "rec",
  /** What one `pipe()` writes to a stream, in pieces. */
  message: "msg",
  run: "run",
  errorGroup: "err",
  bulkAction: "bulk",
  /** A list of runs that a person gave a name. */
  savedView: "view",
  wait: "wait",
  token: "tok",
  publicAccessToken: "pat",
  workspace: "ws",
  workspaceVersion: "wsv",
  materialization: "mat",
  exec: "exec",
  pty: "pty",
  schedule: "sched",
  secret: "sec",
  worker: "wkr",
  workerGroup: "wgrp",
  lease: "lease",
  checkpoint: "ckpt",
  enrollmentToken: "enr",
  auditEvent: "aud",
  /** A person's signed-in session; `session` is a conversation. */
  userSession: "usess",
  /** A client of OAuth that registered itself. */
  oauthClient: "ocl",
  /** What a person lets such a client do. */
  oauthGrant: "ogr",
  /** An admin or a capacity key. */
  serviceKey: "skey",
} as const;

export type IdPrefix = (typeof ID_PREFIXES)[keyof typeof ID_PREFIXES];

declare const ofPrefix: unique symbol;

/**
 * The UUID of a resource, as its canonical text: `Uuid<"run">` is that of a run. One of another resource does not fit, and
 * neither does a TypeID. They come from `decodeId`, from the database's rows and from the server's generator.
 */
export type Uuid<Prefix extends IdPrefix> = string & { readonly [ofPrefix]: Prefix };

const DECODE = new Int8Array(128).fill(-1);
for (let i = 0; i < ALPHABET.length; i += 1) DECODE[ALPHABET.charCodeAt(i)] = i;

const HEX_CODES = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/** Character codes of the UUID that is decoded, its hyphens in place; and where its hexadecimal digits go. */
const uuidCodes = Array.from("00000000-0000-0000-0000-000000000000", (digit) => digit.charCodeAt(0));
const DIGIT_PLACES = uuidCodes.flatMap((code, place) => (code === HEX_CODES[0] ? [place] : []));

/** Two base32 digits for each 10-bit value: halves the look-ups of the hot path. */
const PAIRS = Array.from(
  { length: 1024 },
  (_, value) => ALPHABET.charAt(value >> 5) + ALPHABET.charAt(value & 31),
);

const pair = (value: number): string => PAIRS[value & 1023] as string;

const HEX_VALUES = new Uint8Array(128);
for (let value = 0; value < 16; value += 1) {
  const digit = value.toString(16);
  HEX_VALUES[digit.charCodeAt(0)] = value;
  HEX_VALUES[digit.toUpperCase().charCodeAt(0)] = value;
}

/** The number that four hexadecimal digits say: `parseInt` would take a piece of text each, five times as long. */
const word = (hex: string, at: number): number =>
  ((HEX_VALUES[hex.charCodeAt(at)] as number) << 12) |
  ((HEX_VALUES[hex.charCodeAt(at + 1)] as number) << 8) |
  ((HEX_VALUES[hex.charCodeAt(at + 2)] as number) << 4) |
  (HEX_VALUES[hex.charCodeAt(at + 3)] as number);

/** A UUID that is of no other resource. Text whose resource nobody declared is taken as it is. */
type OwnUuid<Prefix extends IdPrefix, Text extends string> =
  Text extends Uuid<infer Of extends IdPrefix> ? ([Prefix & Of] extends [never] ? Uuid<Prefix> : Text) : Text;

/** The TypeID of a UUID given as canonical text (`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`). */
export function encodeId<Prefix extends IdPrefix, Text extends string>(
  prefix: Prefix,
  uuid: Text & OwnUuid<NoInfer<Prefix>, Text>,
): string;
export function encodeId(prefix: IdPrefix, uuid: string): string {
  // 2 zero bits and the UUID's 128 bits make 13 pairs of digits, ten bits each.
  const a = (word(uuid, 0) << 16) | word(uuid, 4);
  const b = (word(uuid, 9) << 16) | word(uuid, 14);
  const c = (word(uuid, 19) << 16) | word(uuid, 24);
  const d = (word(uuid, 28) << 16) | word(uuid, 32);
  return (
    `${prefix}_${pair(a >>> 24)}${pair(a >>> 14)}${pair(a >>> 4)}${pair((a << 6) | (b >>> 26))}` +
    `${pair(b >>> 16)}${pair(b >>> 6)}${pair((b << 4) | (c >>> 28))}${pair(c >>> 18)}${pair(c >>> 8)}` +
    `${pair((c << 2) | (d >>> 30))}${pair(d >>> 20)}${pair(d >>> 10)}${pair(d)}`
  );
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The UUID that a name of our own has in it, such as a file's; null for other text. */
export const parseUuid = <Prefix extends IdPrefix>(text: string): Uuid<Prefix> | null =>
  UUID.test(text) ? (text as Uuid<Prefix>) : null;

/**
 * The UUID of a TypeID, or null when the text is not a TypeID of that prefix.
 * Upper case, wrong length and a first digit above 7 (more than 128 bits) are not TypeIDs.
 */
export function decodeId<Prefix extends IdPrefix>(prefix: Prefix, text: string): Uuid<Prefix> | null {
  const start = prefix.length + 1;
  if (text.length !== start + 26 || text.charCodeAt(prefix.length) !== 95 || !text.startsWith(prefix))
    return null;
  // The first digit has 3 bits of the UUID and two above these.
  let bits = -2;
  let held = 0;
  let at = 0;
  for (let i = 0; i < 26; i += 1) {
    const code = text.charCodeAt(start + i);
    const digit = code < 128 ? (DECODE[code] as number) : -1;
    if (digit < 0 || (i === 0 && digit > 7)) return null;
    held = (held << 5) | digit;
    for (bits += 5; bits >= 4; at += 1) {
      bits -= 4;
      uuidCodes[DIGIT_PLACES[at] as number] = HEX_CODES[(held >>> bits) & 15] as number;
    }
  }
  // Made at once: joined from pieces, it would be a string for each of them first.
  return String.fromCharCode(...uuidCodes) as Uuid<Prefix>;
}
