/** Private modes that a program may leave behind, with the word that ends each: what a terminal is without programs. */
const USUAL: Readonly<Record<string, "h" | "l">> = {
  // Keys of the cursor, its visibility.
  "1": "l",
  "25": "h",
  // The other screen.
  "47": "l",
  "1047": "l",
  "1049": "l",
  // The mouse, the focus, pasted text.
  "9": "l",
  "1000": "l",
  "1002": "l",
  "1003": "l",
  "1004": "l",
  "1005": "l",
  "1006": "l",
  "1015": "l",
  "2004": "l",
};
const ESCAPE = "\u001b";
/** What follows the escape: modes by number, or the keypad's. */
const MODE = /^(?:\[\?([0-9;]+)([hl])|([=>]))/;
/** A sequence may be cut in two by the end of a chunk. */
const TAIL_CHARACTERS = 64;

export type TerminalModes = {
  /** Sees what the terminal is shown. */
  watch(shown: Uint8Array): void;
  /** What puts the terminal back as it was before the program. */
  reset(): string;
};

/**
 * Knows which modes are on, because only those are to be ended: leaving the other screen, for one, moves the cursor of a
 * terminal that is not on it.
 */
export function watchModes(): TerminalModes {
  const changed = new Set<string>();
  let hasKeypad = false;
  let tail = "";
  return {
    watch(shown) {
      const text = tail + Buffer.from(shown).toString("latin1");
      for (const sequence of text.split(ESCAPE).slice(1)) {
        const [, numbers, word, keypad] = MODE.exec(sequence) ?? [];
        if (keypad !== undefined) hasKeypad = keypad === "=";
        for (const mode of numbers?.split(";") ?? []) {
          const usual = USUAL[mode];
          if (usual === undefined) continue;
          if (word === usual) changed.delete(mode);
          else changed.add(mode);
        }
      }
      const last = text.lastIndexOf(ESCAPE);
      tail = last >= 0 && text.length - last <= TAIL_CHARACTERS ? text.slice(last) : "";
    },
    reset: () =>
      [...changed].map((mode) => `\u001b[?${mode}${USUAL[mode]}`).join("") +
      (hasKeypad ? "\u001b>" : "") +
      "\u001b[0m",
  };
}
