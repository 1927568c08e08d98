import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { limitServedTime } from "@keelson/agent/served-time";
import type { DeploymentManifest } from "@keelson/contract";
import type { PackedArchive } from "./archive-files.ts";
import { BundleError } from "./bundle-error.ts";

/** Loads the bundle as a task host does, tells what it declares, and ends whatever the code has left running. */
const BOOT = `
const describe = (error) => error instanceof Error
  ? { message: error.message, stack: String(error.stack) }
  : { message: "Thrown: " + String(error), stack: "" };
let answer;
try {
  const { keelson } = await import(process.argv[1]);
  answer = { manifest: keelson.manifest() };
} catch (error) {
  answer = { error: describe(error) };
}
process.send(answer, () => process.exit(0));
`;

type Answer = { manifest: DeploymentManifest } | { error: { message: string; stack: string } };

const OUTPUT_CHARACTERS = 4096;

/** Frames of packages rather than of the project; of ours when they are sources beside it. */
const OF_A_PACKAGE = /(^|\/)(node_modules|packages\/sdk\/src)\//;

/** The place in the project's code where a stack begins, relative to the project as the source map has it. */
function findPlace(stack: string, folder: string): string {
  const places: string[] = [];
  for (const line of stack.split("\n")) {
    const place = /\(?((?:file:\/\/)?\/[^()]*:\d+:\d+)\)?$/.exec(line)?.[1];
    if (place !== undefined) places.push(relative(folder, place.replace("file://", "")));
  }
  const found = places.find((place) => !OF_A_PACKAGE.test(place)) ?? places[0];
  return found === undefined ? "" : `${found}: `;
}

/** Node's exit code where nothing is left that could settle a top-level `await`. */
const UNSETTLED = 13;

/** On the clock, of a process that the machine hardly runs. */
const LONGEST_FACTOR = 10;

function boot(
  file: string,
  timeoutMs: number,
): Promise<{ answer: Answer | null; output: string; ended: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ["--enable-source-maps", "--input-type=module", "--eval", BOOT, pathToFileURL(file).href],
      {
        stdio: ["ignore", "pipe", "pipe", "ipc"],
      },
    );
    let answer: Answer | null = null;
    let output = "";
    let over: "slow" | "starved" | null = null;
    const endLimit = limitServedTime({
      boundMs: timeoutMs,
      longestMs: timeoutMs * LONGEST_FACTOR,
      pid: () => child.pid,
      onOver: (isStarved) => {
        over = isStarved ? "starved" : "slow";
        child.kill("SIGKILL");
      },
    });
    const keep = (part: Buffer): void => {
      output = (output + part.toString()).slice(-OUTPUT_CHARACTERS);
    };
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
    child.on("message", (message) => {
      answer = message as Answer;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      endLimit();
      const seconds = timeoutMs / 1_000;
      const reasons = {
        slow: `was not loaded in ${seconds} s; does a module wait for something at its top level?`,
        starved: `could not be loaded: this machine is too busy. Run the command again.`,
      };
      const ended =
        over !== null
          ? reasons[over]
          : code === UNSETTLED
            ? "was not loaded: an `await` outside of all functions waits for something that never happens"
            : `ended with ${signal ?? `exit code ${code}`} while it was loaded`;
      // What Node says of it points into the loader.
      resolve({ answer, output: code === UNSETTLED ? "" : output.trim(), ended });
    });
  });
}

/** What a bundle declares, read by loading it in a process of its own. Throws a BundleError with the place in the code. */
export async function readManifest(
  archive: Pick<PackedArchive, "entry" | "files">,
  timeoutMs = 20_000,
): Promise<DeploymentManifest> {
  const base = await mkdtemp(join(tmpdir(), "keelson-bundle-"));
  // Deep enough that sources above the project (`../../packages/…`) keep their relative path in a stack.
  const folder = join(base, ...Array.from({ length: 16 }, () => "d"));
  try {
    for (const { path, bytes, executable } of archive.files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), bytes, { mode: executable ? 0o700 : 0o600 });
    }
    const { answer, output, ended } = await boot(join(folder, archive.entry), timeoutMs);
    if (answer === null)
      throw new BundleError(`The bundle ${ended}`, output === "" ? [] : output.split("\n"));
    if ("error" in answer)
      throw new BundleError("The bundle cannot be loaded", [
        `${findPlace(answer.error.stack, folder)}${answer.error.message}`,
      ]);
    return answer.manifest;
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}
