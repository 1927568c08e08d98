import type { BuildLoader, ProjectConfig } from "@keelson/sdk";
import { BundleError } from "../bundle/bundle-error.ts";

const LOADERS: readonly BuildLoader[] = ["text", "json", "base64", "binary", "dataurl"];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((pattern) => typeof pattern === "string");

function checkLoader(file: string, loader: unknown): void {
  const isValid = isObject(loader) && Object.keys(loader).every((extension) => extension.startsWith("."));
  if (!isValid)
    throw new BundleError(
      `${file}: "build.loader" must map extensions to loaders, e.g. { ".md": "text" }`,
      [],
    );
  for (const [extension, value] of Object.entries(loader))
    if (!(LOADERS as readonly unknown[]).includes(value))
      throw new BundleError(
        `${file}: "build.loader" gives ${extension} the loader ${JSON.stringify(value)}; use one of ${LOADERS.join(", ")}`,
        [],
      );
}

function refuseUnknown(file: string, where: string, value: object, known: readonly string[]): void {
  for (const name of Object.keys(value))
    if (!known.includes(name))
      throw new BundleError(`${file}: "${where}${name}" is unknown; known are ${known.join(", ")}`, []);
}

/** Throws a BundleError that names the setting and what it may be. */
export function checkProjectConfig(file: string, config: unknown): ProjectConfig {
  if (!isObject(config))
    throw new BundleError(`${file} must export an object: \`export default defineConfig({ … })\``, []);
  refuseUnknown(file, "", config, ["project", "tasks", "build"]);
  const { project, tasks, build } = config;
  if (project !== undefined && (typeof project !== "string" || project === ""))
    throw new BundleError(`${file}: "project" must be the slug of a project`, []);
  if (tasks !== undefined && !isTexts(tasks))
    throw new BundleError(`${file}: "tasks" must be a list of file patterns, e.g. ["src/tasks/**/*.ts"]`, []);
  if (build === undefined) return config;
  if (!isObject(build)) throw new BundleError(`${file}: "build" must be an object`, []);
  refuseUnknown(file, "build.", build, ["loader", "assets", "external"]);
  for (const [name, example] of [
    ["assets", `["prompts/**"]`],
    ["external", `["sharp"]`],
  ] as const)
    if (build[name] !== undefined && !isTexts(build[name]))
      throw new BundleError(
        `${file}: "build.${name}" must be a list of ${name === "assets" ? "file patterns" : "package names"}, e.g. ${example}`,
        [],
      );
  if (build["loader"] !== undefined) checkLoader(file, build["loader"]);
  return config;
}
