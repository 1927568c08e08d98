// Writes what is made from the code and committed: OpenAPI documents and reference pages.
// `--check` writes nothing and fails when something is stale.

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { familiesOf, openApiDocument } from "../packages/server/src/http/openapi/document.ts";
import { routes } from "../packages/server/src/http/routes.ts";
import { commandSections, exitCodes } from "./reference/command-line.ts";
import { configurationPage } from "./reference/configuration.ts";
import { errorsPage } from "./reference/errors.ts";
import { eventsPage } from "./reference/events.ts";
import { limitsTable } from "./reference/limits.ts";
import { withPart } from "./reference/markdown.ts";
import { permissionsPage } from "./reference/permissions.ts";
import { sdkPages } from "./reference/sdk/pages.ts";
import { stateMachinesPage } from "./reference/state-machines.ts";

const root = path.resolve(import.meta.dirname, "..");

const read = (file: string): Promise<string> => readFile(path.join(root, file), "utf8");

/** Pages that people write, with parts that are generated. */
async function mixedPages(): Promise<[file: string, text: string][]> {
  const commandLine = "docs/reference/command-line.md";
  const limits = "docs/reference/limits.md";
  const commands = withPart(await read(commandLine), "commands", await commandSections());
  return [
    [commandLine, withPart(commands, "exit codes", exitCodes())],
    [limits, withPart(await read(limits), "sizes", limitsTable())],
  ];
}

async function generated(): Promise<Map<string, string>> {
  const files = new Map([
    ["docs/reference/state-machines.md", stateMachinesPage()],
    ["docs/reference/errors.md", errorsPage()],
    ["docs/reference/events.md", eventsPage()],
    ["docs/reference/permissions.md", permissionsPage()],
    ["docs/reference/configuration.md", configurationPage()],
    ...sdkPages(),
    ...(await mixedPages()),
  ]);
  for (const family of familiesOf(routes)) {
    files.set(
      `openapi/${family}.json`,
      `${JSON.stringify(openApiDocument(routes, { families: [family] }), null, 2)}\n`,
    );
  }
  return files;
}

/** Documents of families that no longer exist. */
async function listLeftOver(files: ReadonlyMap<string, string>): Promise<string[]> {
  const names = await readdir(path.join(root, "openapi")).catch(() => []);
  return names.map((name) => `openapi/${name}`).filter((file) => file.endsWith(".json") && !files.has(file));
}

const files = await generated();
const leftOver = await listLeftOver(files);
if (process.argv.includes("--check")) {
  const stale = [...leftOver];
  for (const [file, text] of files) {
    if ((await read(file).catch(() => null)) !== text) stale.push(file);
  }
  if (stale.length > 0) {
    process.stderr.write(`Stale: ${stale.join(", ")}. Run npm run generate and commit what it writes.\n`);
    process.exitCode = 1;
  }
} else {
  for (const [file, text] of files) {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), text);
  }
  for (const file of leftOver) await rm(path.join(root, file));
  process.stdout.write(`Wrote ${files.size} files.\n`);
}
