/** Control characters but line feeds and tabs, and the marks that turn the direction of what follows. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
/** A colour or style, as this program writes them. */
// oxlint-disable-next-line no-control-regex
const STYLES = /\u001b\[[0-9;]*m/;

const escaped = (character: string): string => {
  const code = character.charCodeAt(0);
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
};

/**
 * Text of others for a terminal: names of files, messages of tasks. What would move the cursor, set a title or ring is shown
 * as an escape sequence, and does nothing.
 */
export const visibleText = (text: string): string => text.replaceAll("\r\n", "\n").replace(CONTROLS, escaped);

/** The same in one line. */
export const visibleLine = (text: string): string =>
  visibleText(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");

/** The same for text that this program has coloured. */
export const visibleStyled = (text: string): string =>
  text
    .split(new RegExp(`(${STYLES.source})`))
    .map((part, index) => (index % 2 === 1 ? part : visibleText(part)))
    .join("");
