/**
 * Text of users, runs and streams as it may be shown: nothing in it is unseen or changes what stands around it. Marks that
 * turn the direction of what follows, and control characters, would let a text look like another one.
 */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

const nameOf = (character: string): string =>
  `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** The small picture of a control character of ASCII; the number of others. */
function pictureOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x24_00 + code);
  return code === 0x7f ? "␡" : nameOf(character);
}

export const visibleText = (text: string): string =>
  text.toWellFormed().replaceAll("\r\n", "\n").replaceAll(TURNING, nameOf).replaceAll(CONTROL, pictureOf);
