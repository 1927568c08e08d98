// Really runs the blocks of a page that say `<!-- run -->`, in order, in one shell: files of TypeScript are written, commands
// are typed as they stand, and a block of text right after commands is what they must have printed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileNameOf } from "./check-code.ts";
import { programArguments } from "../../packages/server/test/support/programs.ts";
import { placeOf, type Block, type Page } from "./read-pages.ts";

const DEADLINE_MS = 180_000;
const POLL_MS = 50;
const END = "\u001e";

const COMMAND = [process.execPath, ...programArguments("cli/src/main.ts")]
  .map((each) => `"${each}"`)
  .join(" ");
/** `keelson`, and `npm run keelson --`, without what npm takes to begin. Its other scripts are not for here. */
const SHIMS = {
  keelson: `exec ${COMMAND} "$@"`,
  npm: `[ "$1" = run ] && shift; [ "$1" = --silent ] && shift
[ "$1 $2" = "keelson --" ] || { echo "not run here: npm $*"; exit 1; }
shift 2; exec keelson "$@"`,
};

/** Whether what was printed is what the page shows: `…` stands for anything, alone in a line for any lines. */
export function showsAs(shown: string, printed: string): boolean {
  const escaped = shown.trimEnd().replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = escaped.replaceAll(/^…$/gm, "[^]*?").replaceAll("…", ".*");
  return new RegExp(`^${pattern}$`).test(printed.trimEnd());
}

type Shell = {
  /** Types the text and gives what it printed. Throws when a command fails. */
  type(text: string): Promise<string>;
  end(): Promise<void>;
};

function startShell(folder: string, env: Record<string, string>): Shell {
  const bin = path.join(folder, ".bin");
  mkdirSync(bin, { recursive: true });
  for (const [name, script] of Object.entries(SHIMS))
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const child = spawn("bash", ["--norc", "--noprofile", "-s"], {
    cwd: folder,
    env: { ...env, PATH: `${bin}:${path.dirname(process.execPath)}:${process.env["PATH"] ?? ""}` },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  child.stdin.write("shopt -s expand_aliases; set -o pipefail; trap 'failed=1' ERR\n");
  let count = 0;
  return {
    async type(text) {
      const file = path.join(bin, `${(count += 1)}.sh`);
      writeFileSync(file, text);
      printed = "";
      child.stdin.write(`failed=0; . "${file}" </dev/null 2>&1; printf '%s' "${END}$failed${END}"\n`);
      const deadline = performance.now() + DEADLINE_MS;
      for (;;) {
        const [output = "", code] = printed.split(END);
        if (code !== undefined && printed.endsWith(END)) {
          if (code !== "0") throw new Error(`a command failed:\n${output}`);
          return output;
        }
        if (child.exitCode !== null || performance.now() > deadline)
          throw new Error(`no end of:\n${printed}`);
        await pause(POLL_MS);
      }
    },
    async end() {
      child.stdin.end();
      child.kill();
      await closed;
    },
  };
}

/** Placeholders as `run_…` become the id of that kind that was printed last. */
function fillIn(text: string, seen: readonly string[]): string {
  return text.replaceAll(/\b([a-z]+)_…/g, (all, prefix: string) => {
    const found = seen.findLast((id) => id.startsWith(`${prefix}_`));
    return found ?? all;
  });
}

export type Ran = { blocks: number; compared: number };

/** Runs a page in the folder; throws with the block's place when one does not do what it shows. */
export async function runPage(page: Page, folder: string, env: Record<string, string>): Promise<Ran> {
  const shell = startShell(folder, env);
  const seen: string[] = [];
  const ran = { blocks: 0, compared: 0 };
  try {
    for (const [i, block] of page.blocks.entries()) {
      if (block.marks.run === null) continue;
      ran.blocks += 1;
      if (fileNameOf(block) !== null) {
        const file = path.join(folder, fileNameOf(block) as string);
        mkdirSync(path.dirname(file), { recursive: true });
        writeFileSync(file, block.text);
        continue;
      }
      const next = page.blocks[i + 1];
      const shown = next?.language === "text" ? next : null;
      if (shown !== null) ran.compared += 1;
      await runCommands(block, shown, async () => {
        const output = await shell.type(fillIn(block.text, seen));
        seen.push(...(output.match(/\b[a-z]+_[0-9a-z]{26}\b/g) ?? []));
        return output;
      });
    }
  } finally {
    await shell.end();
  }
  return ran;
}

async function runCommands(block: Block, shown: Block | null, type: () => Promise<string>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    let output: string;
    try {
      output = await type();
    } catch (error) {
      throw new Error(`${placeOf(block)} fails`, { cause: error });
    }
    if (shown === null || showsAs(shown.text, output)) return;
    if (block.marks.run === "once" || performance.now() > deadline)
      throw new Error(`${placeOf(shown)} shows\n${shown.text}\nbut printed was\n${output}`);
    await pause(POLL_MS);
  }
}
