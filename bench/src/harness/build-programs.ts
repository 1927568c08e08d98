import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";

const ROOT = path.join(import.meta.dirname, "..", "..", "..");

/** Compiles all packages, so that what is measured is what a package contains: hosts that load sources boot half as fast. */
export async function buildPrograms(): Promise<void> {
  await promisify(execFile)(path.join(ROOT, "node_modules", ".bin", "tsc"), ["-b"], { cwd: ROOT });
}
