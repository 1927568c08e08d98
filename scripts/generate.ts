// Writes what is made from the code and committed: OpenAPI documents, reference pages and the console's routes.
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
import { llmsText } from "./reference/llms.ts";
import { withPart } from "./reference/markdown.ts";
import { permissionsPage } from "./reference/permissions.ts";
import { consoleRoutes } from "./routes/console-routes.ts";
import { wireShapes } from "./shapes/wire-shapes.ts";
import { sdkPages } from "./reference/sdk/pages.ts";
import { stateMachinesPage } from "./reference/state-machines.ts";

const root = path.resolve(import.meta.dirname, "..");

const read = (file: string): Promise<string> => readFile(path.join(root, file), "utf8");

const LLMS = "docs/llms.txt";

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
    ...consoleRoutes(routes),
    ...wireShapes(),
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

/** Folders in which everything is generated. */
const FOLDERS = ["openapi", "packages/console/src/api/routes"];

/** Documents of families, and routes of resources, that no longer exist. */
async function listLeftOver(files: ReadonlyMap<string, string>): Promise<string[]> {
  const found = await Promise.all(
    FOLDERS.map(async (folder) => {
      const names = await readdir(path.join(root, folder)).catch(() => []);
      return names.map((name) => `${folder}/${name}`);
    }),
  );
  return found.flat().filter((file) => !files.has(file));
}

const isCheck = process.argv.includes("--check");
const files = await generated();
const leftOver = await listLeftOver(files);
// The list of pages is of the pages as they are then: it comes last.
if (isCheck) {
  files.set(LLMS, llmsText());
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
  await writeFile(path.join(root, LLMS), llmsText());
  for (const file of leftOver) await rm(path.join(root, file));
  process.stdout.write(`Wrote ${files.size + 1} files.\n`);
}
