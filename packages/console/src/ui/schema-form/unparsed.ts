/** What was typed where a number or JSON is asked for, and is none. It stands in the value's place and is never sent. */
export class Unparsed {
  readonly text: string;
  readonly message: string;

  constructor(text: string, message: string) {
    this.text = text;
    this.message = message;
  }

  toJSON(): string {
    return this.text;
  }
}

/** Nothing is undefined: the field is left out. */
export function parseNumber(text: string, isWhole = false): number | Unparsed | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(trimmed)) {
    const value = Number(trimmed);
    // Digits that a double has no room for would be sent as others.
    if (/^[+-]?\d+$/.test(trimmed) && !Number.isSafeInteger(value))
      return new Unparsed(text, `must be within ±${Number.MAX_SAFE_INTEGER}`);
    if (Number.isFinite(value)) return value;
  }
  return new Unparsed(text, isWhole ? "must be a whole number" : "must be a number");
}

export function parseJson(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    return new Unparsed(text, `is not JSON: ${(error as Error).message}`);
  }
}
