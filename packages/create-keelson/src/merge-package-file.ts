/** What a project needs in its package.json. */
export type Additions = {
  scripts: Readonly<Record<string, string>>;
  dependencies: Readonly<Record<string, string>>;
  devDependencies: Readonly<Record<string, string>>;
};

type PackageFile = Record<string, unknown> & Partial<Record<keyof Additions, Record<string, string>>>;

const indentOf = (text: string): string => /^([ \t]+)"/m.exec(text)?.[1] ?? "  ";

function isListed(file: PackageFile, name: string): boolean {
  return file.dependencies?.[name] !== undefined || file.devDependencies?.[name] !== undefined;
}

/** Only what is missing: what stands there stays as it is. */
function addMissing(
  have: Record<string, string> | undefined,
  wanted: Readonly<Record<string, string>>,
  isThere: (name: string) => boolean,
): Record<string, string> | undefined {
  const missing = Object.entries(wanted).filter(([name]) => !isThere(name));
  return missing.length === 0 ? have : { ...have, ...Object.fromEntries(missing) };
}

/**
 * A package.json with what is missing, in its own indentation. Gives the same text when nothing is.
 *
 * @throws SyntaxError when the text is not JSON
 */
export function mergePackageFile(
  text: string,
  { scripts, dependencies, devDependencies }: Additions,
): string {
  const file = JSON.parse(text.replace(/^\uFEFF/, "")) as PackageFile;
  const isDependency = (name: string): boolean => isListed(file, name);
  const merged: PackageFile = { ...file };
  const parts = {
    scripts: addMissing(file.scripts, scripts, (name) => file.scripts?.[name] !== undefined),
    dependencies: addMissing(file.dependencies, dependencies, isDependency),
    devDependencies: addMissing(file.devDependencies, devDependencies, isDependency),
  };
  let isChanged = false;
  for (const [name, value] of Object.entries(parts) as [
    keyof Additions,
    Record<string, string> | undefined,
  ][]) {
    if (value === file[name] || value === undefined) continue;
    merged[name] = value;
    isChanged = true;
  }
  return isChanged ? `${JSON.stringify(merged, null, indentOf(text))}\n` : text;
}

/** A .gitignore with the lines that it lacks. */
export function mergeGitignore(text: string, wanted: readonly string[]): string {
  const plain = (line: string): string => line.trim().replace(/^\/|\/$/g, "");
  const have = new Set(text.split("\n").map(plain));
  const missing = wanted.filter((line) => !have.has(plain(line)));
  if (missing.length === 0) return text;
  const start = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  return `${start}${missing.join("\n")}\n`;
}
