import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NonRetryableError } from "@keelson/sdk";
import { drawReport } from "./chart/draw-report.ts";
import type { Report } from "./report.ts";
import { resolvePath } from "./worker-folder.ts";

export type WrittenReport = { json: string; svg: string };

const REFUSALS = ["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "ENAMETOOLONG"];

/**
 * Writes `report.json` and `report.svg`; each is there whole or not at all, and an attempt after this one replaces
 * them. Throws a NonRetryableError when the folder cannot be written to.
 */
export async function writeReport(folder: string, report: Report): Promise<WrittenReport> {
  const target = resolvePath(folder);
  try {
    await mkdir(target, { recursive: true });
    const json = await writeWhole(join(target, "report.json"), `${JSON.stringify(report, null, 2)}\n`);
    const svg = await writeWhole(join(target, "report.svg"), drawReport(report));
    return { json, svg };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined || !REFUSALS.includes(code)) throw error;
    throw new NonRetryableError(
      `The report cannot be written to ${target} (${message}); name another folder in the payload's "output"`,
      { cause: error },
    );
  }
}

async function writeWhole(path: string, text: string): Promise<string> {
  await writeFile(`${path}.part`, text);
  await rename(`${path}.part`, path);
  return path;
}
