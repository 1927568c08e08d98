// Blocks of shell: read by bash itself, with every program replaced by one that only notes how it was called. So quotes,
// variables, functions, pipes and here-documents mean what they mean to whoever types them, and nothing is done.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Block } from "./read-pages.ts";

/** A program that a block calls, with its arguments. */
export type Call = readonly string[];

/** Has `$KEELSON_URL` of a reader: a server. */
export const SERVER = "http://keelson.invalid";
const ELSEWHERE = "http://elsewhere.invalid";
const TIMEOUT_MS = 20_000;

// bash calls command_not_found_handle for whatever it does not know, and with this PATH it knows no program. What is
// written to standard output is what a variable gets that takes a command's output.
const RECORDER = `
PATH=/nowhere
set -f
shopt -s expand_aliases
command_not_found_handle() { printf '%s\\0' "$#" "$@" >> "$KEELSON_DOCS_CALLS"; echo value; }
cd() { :; }
kill() { command_not_found_handle kill "$@"; }
exec() { "$@"; }
value() { :; }
`;

export const hasRecorder = (): boolean => {
  const { stdout } = spawnSync("bash", ["-c", "echo ${BASH_VERSINFO[0]}"], { encoding: "utf8" });
  return Number(stdout) >= 4;
};

/** Something for each variable that the block uses and does not set. */
function variablesOf(text: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [, name = ""] of text.matchAll(/\$\{?([A-Za-z_]\w*)/g)) {
    if (/^(KEELSON_)?URL$/.test(name)) variables[name] = SERVER;
    else variables[name] = name.endsWith("URL") ? ELSEWHERE : name.toLowerCase();
  }
  return variables;
}

function readCalls(file: string): Call[] {
  const parts = readFileSync(file, "utf8").split("\0");
  const calls: Call[] = [];
  for (let at = 0; at < parts.length - 1;) {
    const count = Number(parts[at]);
    calls.push(parts.slice(at + 1, at + 1 + count));
    at += 1 + count;
  }
  return calls;
}

/** What the block would call, in order, or why bash cannot read it. */
export function recordCommands(block: Block): { calls: Call[] } | { refused: string } {
  const absolute = /^[^#'"\n]*>>?\s*(\/(?!dev\/(null|stdout|stderr)\b)\S*)/m.exec(block.text);
  if (absolute !== null) return { refused: `writes to ${absolute[1]}; let a reader choose the place` };
  const folder = mkdtempSync(path.join(tmpdir(), "keelson-docs-"));
  try {
    const calls = path.join(folder, ".calls");
    writeFileSync(calls, "");
    const script = `${RECORDER}\n${block.text}\nwait\n`;
    const { error, stderr } = spawnSync("bash", ["--norc", "--noprofile", "-c", script], {
      cwd: folder,
      env: { ...variablesOf(block.text), KEELSON_DOCS_CALLS: calls },
      encoding: "utf8",
      input: "",
      timeout: TIMEOUT_MS,
    });
    if (error !== undefined) return { refused: `does not end on its own: ${error.message} ${stderr}` };
    const unreadable = /^.*(syntax error|unexpected EOF|unexpected end of file).*$/m.exec(stderr);
    if (unreadable !== null) return { refused: unreadable[0] };
    return { calls: readCalls(calls) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
