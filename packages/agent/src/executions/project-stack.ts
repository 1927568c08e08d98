const FRAME = /^\s+at /;
/** Of Node.js, of the program that runs the code, and of the SDK: as it is installed, and as it is in a checkout. */
const INTERNAL =
  /(?:^|[\s(])node:|node_modules\/@keelson\/sdk\/|\/packages\/(?:sdk\/src|agent\/(?:src|dist)\/host)\//;

type Origin = "own" | "package" | "internal";
type Line = { text: string; origin: Origin | null };

/** A frame's file is relative to the archive's root, as its source maps have it; own ones are of no package. */
function readLine(line: string, root: string): Line {
  const text = withoutRoot(line, root);
  if (!FRAME.test(line)) return { text, origin: null };
  if (INTERNAL.test(line)) return { text, origin: "internal" };
  return { text, origin: text !== line && !text.includes("node_modules/") ? "own" : "package" };
}

/** What people are told of a file of the bundle: its path in the project. */
export const withoutRoot = (text: string, root: string): string =>
  text.replaceAll(`file://${root}/`, "").replaceAll(`${root}/`, "");

/**
 * A stack as people read it: files are named relative to the project, and the frames of its own code come before those of
 * packages. Each cause keeps frames of its own. Where a stack has own frames, those of Node.js, of the host program and of the SDK
 * say nothing more and are left out.
 */
export function projectStack(stack: string, root: string): string {
  const all = stack.split("\n").map((line) => readLine(line, root));
  const hasOwn = all.some(({ origin }) => origin === "own");
  const shown: string[] = [];
  const others: string[] = [];
  const flush = (): void => {
    shown.push(...others.splice(0));
  };
  for (const { text, origin } of all) {
    if (origin === "internal" && hasOwn) continue;
    if (origin === null) flush();
    if (origin === null || origin === "own") shown.push(text);
    else others.push(text);
  }
  flush();
  return shown.join("\n");
}
