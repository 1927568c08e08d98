import { mkdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Plan } from "./plan-project.ts";

/** Carries out a plan. A file that appeared since then makes it throw (EEXIST) and stays. */
export function writeProject({ directory, files }: Plan): void {
  for (const { name, action, text } of files) {
    const file = path.join(directory, name);
    mkdirSync(path.dirname(file), { recursive: true });
    if (action === "create") writeFileSync(file, text, { flag: "wx" });
    if (action !== "change") continue;
    // Renamed into place: an interruption leaves the old file whole.
    const temporary = `${file}.${process.pid}.tmp`;
    writeFileSync(temporary, text, { mode: statSync(file).mode });
    renameSync(temporary, file);
  }
}
