import { CREDENTIAL_KINDS, credentialsWithin, type LogStream } from "@keelson/contract";

/** What stands in the output in place of a secret's value. */
const REDACTED = "[redacted]";
const NOTHING = Buffer.alloc(0);
const REDACTED_BYTES = Buffer.from(REDACTED);

/** Shorter values are not looked for: they are parts of ordinary words, and output without these cannot be read. */
const MIN_BYTES = 4;

/**
 * Takes the values of secrets out of what a run says, where they appear whole: as they are, or as they stand in JSON.
 * Output comes in pieces; what may be the beginning of a value is held back until the next piece or the end.
 */
export type Redactor = {
  write(stream: LogStream, bytes: Buffer): void;
  /** Gives out what was held back: nothing more will come. */
  end(): void;
  text(text: string): string;
  /** Strings anywhere in a JSON value. */
  json<T>(value: T): T;
};

export function createRedactor(
  secrets: Readonly<Record<string, string>>,
  output: (stream: LogStream, bytes: Buffer) => void,
): Redactor {
  // Made for the first text: most runs say nothing.
  let made: Redactor | null = null;
  const redactor = (): Redactor => (made ??= redactorOf(patternsOf(Object.values(secrets)), output));
  return {
    write: (stream, bytes) => redactor().write(stream, bytes),
    end: () => made?.end(),
    text: (text) => redactor().text(text),
    json: (value) => redactor().json(value),
  };
}

function redactorOf(values: readonly string[], output: (stream: LogStream, bytes: Buffer) => void): Redactor {
  if (values.length === 0)
    return { write: output, end: () => undefined, text: (text) => text, json: (value) => value };
  const patterns = values.map((value) => Buffer.from(value));
  const held: Record<LogStream, Buffer> = { stdout: NOTHING, stderr: NOTHING };
  const text = (original: string): string => redactText(values, original);
  return {
    text,
    json: (value) => redactJson(text, value),
    write: (stream, bytes) => {
      const before = held[stream];
      const all = before.length === 0 ? bytes : Buffer.concat([before, bytes]);
      const { clean, rest } = redactBytes(patterns, all);
      held[stream] = rest;
      if (clean.length > 0) output(stream, clean);
    },
    end: () => {
      for (const stream of ["stdout", "stderr"] as const) {
        if (held[stream].length > 0) output(stream, held[stream]);
        held[stream] = NOTHING;
      }
    },
  };
}

/** Each run has a token of its own, so the tokens of a process's earlier runs are known by their form. */
const RUN_TOKEN = credentialsWithin(CREDENTIAL_KINDS.run);

/** Values that runs of one process were given over time: it may still say them when no run is there to say it for. */
export function createGivenSecrets(): {
  add(secrets: Readonly<Record<string, string>>): void;
  redact(text: string): string;
} {
  const values = new Set<string>();
  return {
    add: (secrets) => {
      for (const value of Object.values(secrets)) values.add(value);
    },
    redact: (text) => redactText(patternsOf([...values]), text).replace(RUN_TOKEN, REDACTED),
  };
}

const redactText = (values: readonly string[], text: string): string =>
  values.reduce((clean, value) => clean.replaceAll(value, REDACTED), text);

/** What is looked for, the longest first: a value may be a part of another. */
function patternsOf(secrets: readonly string[]): string[] {
  const written = secrets.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]);
  return [...new Set(written)]
    .filter((value) => Buffer.byteLength(value) >= MIN_BYTES)
    .sort((a, b) => b.length - a.length);
}

function redactJson<T>(text: (original: string) => string, value: T): T {
  if (typeof value === "string") return text(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => redactJson(text, item)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]: [string, unknown]) => [text(key), redactJson(text, item)]),
  ) as T;
}

function redactBytes(patterns: readonly Buffer[], bytes: Buffer): { clean: Buffer; rest: Buffer } {
  const parts: Buffer[] = [];
  let from = 0;
  for (;;) {
    const found = findFirst(patterns, bytes, from);
    if (found === null) break;
    parts.push(bytes.subarray(from, found.at), REDACTED_BYTES);
    from = found.at + found.length;
  }
  const rest = bytes.length - heldBackBytes(patterns, bytes, from);
  // Nearly all output: nothing to take out, and nothing that is copied.
  if (from === 0 && rest === bytes.length) return { clean: bytes, rest: NOTHING };
  parts.push(bytes.subarray(from, rest));
  return { clean: Buffer.concat(parts), rest: Buffer.from(bytes.subarray(rest)) };
}

function findFirst(
  patterns: readonly Buffer[],
  bytes: Buffer,
  from: number,
): { at: number; length: number } | null {
  let first: { at: number; length: number } | null = null;
  for (const pattern of patterns) {
    const at = bytes.indexOf(pattern, from);
    if (at >= 0 && (first === null || at < first.at)) first = { at, length: pattern.length };
  }
  return first;
}

/** How many bytes at the end may be the beginning of a value. */
function heldBackBytes(patterns: readonly Buffer[], bytes: Buffer, from: number): number {
  let most = 0;
  for (const pattern of patterns) {
    const start = Math.max(from, bytes.length - pattern.length + 1);
    for (
      let at = bytes.indexOf(pattern[0] as number, start);
      at >= 0;
      at = bytes.indexOf(pattern[0] as number, at + 1)
    ) {
      const length = bytes.length - at;
      if (length <= most) break;
      if (bytes.compare(pattern, 0, length, at) === 0) {
        most = length;
        break;
      }
    }
  }
  return most;
}
