const TILDE = 0x7e;
const DOT = 0x2e;
const CR = 0x0d;
const LF = 0x0a;

/** What of the typed bytes goes on, and whether the person asked to leave. */
export type Typed = { forward: Uint8Array; leaves: boolean };

/**
 * `~.` at the start of a line leaves, and `~~` there is one `~`, as with ssh: keys that no program needs to be given up.
 * A `~` at the start of a line is held until the next key says what it was.
 */
export function createEscape(): (typed: Uint8Array) => Typed {
  let isLineStart = true;
  let holdsTilde = false;
  return (typed) => {
    const forward: number[] = [];
    for (const byte of typed) {
      if (holdsTilde) {
        holdsTilde = false;
        if (byte === DOT) return { forward: Uint8Array.from(forward), leaves: true };
        forward.push(TILDE);
        isLineStart = false;
        if (byte === TILDE) continue;
      } else if (byte === TILDE && isLineStart) {
        holdsTilde = true;
        continue;
      }
      forward.push(byte);
      isLineStart = byte === CR || byte === LF;
    }
    return { forward: Uint8Array.from(forward), leaves: false };
  };
}
