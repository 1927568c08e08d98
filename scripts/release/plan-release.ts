import { globSync, readFileSync } from "node:fs";
import path from "node:path";

export type Edit = { file: string; text: string };

/** Files with the version that the packages, the chart and their code say they have. */
const PACKAGES = ["package.json", "packages/*/package.json", "examples/*/package.json", "bench/package.json"];
const CONSTANTS = ["packages/{sdk,cli,create-keelson}/src/version.ts"];
const CHART = "deploy/helm/keelson/Chart.yaml";
const UNRELEASED = "## Unreleased\n";

const VERSION = /^\d+\.\d+\.\d+(-[0-9a-z.-]+)?$/;

type PackageFile = { name?: string; version?: string; dependencies?: Record<string, string> } & Partial<
  Record<"devDependencies" | "optionalDependencies", Record<string, string>>
>;

/** Sets a package's version, and that of ours that it depends on. */
function setVersion(file: PackageFile, version: string): void {
  file.version = version;
  for (const kind of ["dependencies", "devDependencies", "optionalDependencies"] as const)
    for (const name of Object.keys(file[kind] ?? {}))
      if (name.startsWith("@keelson/")) (file[kind] as Record<string, string>)[name] = version;
}

const toText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function editLock(text: string, version: string): string {
  const lock = JSON.parse(text) as { version: string; packages: Record<string, PackageFile> };
  lock.version = version;
  for (const [place, entry] of Object.entries(lock.packages))
    if (!place.includes("node_modules/")) setVersion(entry, version);
  return toText(lock);
}

function replaceOnce(file: string, text: string, pattern: RegExp, replacement: string): string {
  if (!pattern.test(text))
    throw new Error(`${file} has nothing like ${pattern}: the release script has to learn of it.`);
  return text.replace(pattern, replacement);
}

function editChangelog(text: string, version: string, date: string): string {
  const [, body = ""] = text.split(UNRELEASED);
  if (!text.includes(UNRELEASED) || (body.split(/^## /m)[0] ?? "").trim() === "")
    throw new Error("CHANGELOG.md says nothing under Unreleased: write what users get.");
  return text.replace(UNRELEASED, `${UNRELEASED}\n## ${version} (${date})\n`);
}

/**
 * What a release changes, all of it together: one version for every package, the chart, the lock file, and the CHANGELOG's
 * heading. Nothing is written.
 *
 * @throws Error when the version is none or not after the present one, or a file is not as expected
 */
export function planRelease(root: string, version: string, date: string): Edit[] {
  const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
  const find = (patterns: string[]): string[] => globSync(patterns, { cwd: root }).toSorted();
  if (!VERSION.test(version))
    throw new Error(`${version} is no version: write it like 0.2.0 or 0.2.0-beta.1.`);
  const { version: present = "" } = JSON.parse(read("package.json")) as PackageFile;
  if (present.localeCompare(version, "en", { numeric: true }) >= 0)
    throw new Error(`${version} does not come after ${present}, the present version: choose a higher one.`);
  const packages = find(PACKAGES).map((file): Edit => {
    const content = JSON.parse(read(file)) as PackageFile;
    setVersion(content, version);
    return { file, text: toText(content) };
  });
  const constants = find(CONSTANTS).map((file): Edit => {
    return { file, text: replaceOnce(file, read(file), /VERSION = "[^"]+"/, `VERSION = "${version}"`) };
  });
  const chart = replaceOnce(CHART, read(CHART), /^version: .*$/m, `version: ${version}`);
  return [
    ...packages,
    ...constants,
    { file: CHART, text: replaceOnce(CHART, chart, /^appVersion: .*$/m, `appVersion: ${version}`) },
    { file: "package-lock.json", text: editLock(read("package-lock.json"), version) },
    { file: "CHANGELOG.md", text: editChangelog(read("CHANGELOG.md"), version, date) },
  ];
}
