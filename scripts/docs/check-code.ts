// Blocks of TypeScript and JavaScript: type-checked against the packages as they are, all in one program.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Finding } from "./finding.ts";
import { OTHER_PACKAGES } from "./other-packages.ts";
import { placeOf, ROOT, type Block } from "./read-pages.ts";
import { VOCABULARY } from "./vocabulary.ts";

const TSC = path.join(ROOT, "node_modules/typescript/bin/tsc");

/** `// hello/tasks/greet.ts – …` in the first line of a block is the file that it is. */
export const fileNameOf = (block: Block): string | null =>
  /^\/\/ ((?:[\w-]+\/)*[\w-]+\.[jt]s)\b/.exec(block.text)?.[1] ?? null;

const WORDS = "vocabulary.d.ts";
const PACKAGES = "other-packages.d.ts";

type Source = { file: string; block: Block; text: string; linesBefore: number };

const folderOf = (page: string): string => page.replace(/\.md$/, "");

/** The file of each block, beside the others of its page. */
function sourcesOf(blocks: readonly Block[]): Source[] {
  const sources: Source[] = [];
  for (const block of blocks) {
    const name = fileNameOf(block)?.replace(/\.js$/, ".ts") ?? `line-${block.line}.ts`;
    const last = sources.at(-1);
    const shown = block.marks.goesOn && last?.block.page === block.page ? last.text : "";
    const before = shown + block.marks.given;
    sources.push({
      file: `${folderOf(block.page)}/${name}`,
      block,
      text: `${before}${block.text}`,
      linesBefore: before.split("\n").length - 1,
    });
  }
  return sources;
}

/** Strict as a reader's project; what a block leaves unused is not wrong. */
const projectOf = (files: readonly string[], folder: string): object => ({
  extends: path.join(ROOT, "tsconfig.base.json"),
  compilerOptions: {
    composite: false,
    declaration: false,
    noEmit: true,
    exactOptionalPropertyTypes: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
    rewriteRelativeImportExtensions: false,
    allowImportingTsExtensions: true,
    moduleDetection: "force",
    // A page of an example may import what is under the example's `src`.
    rootDirs: [folder, ROOT, ...exampleRoots(files, folder)],
  },
  files,
});

function exampleRoots(files: readonly string[], folder: string): string[] {
  const examples = new Set(files.map((file) => /^examples\/[^/]+\//.exec(file)?.[0] ?? "").filter(Boolean));
  return [...examples].flatMap((example) => [
    path.join(folder, example, "README"),
    path.join(ROOT, example, "src"),
  ]);
}

export function checkCode(blocks: readonly Block[]): Finding[] {
  const sources = sourcesOf(blocks);
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "keelson-docs-")));
  try {
    const write = (file: string, text: string): void => {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    };
    symlinkSync(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"));
    write("package.json", `{ "type": "module" }`);
    write(WORDS, VOCABULARY);
    write(PACKAGES, OTHER_PACKAGES);
    for (const { file, text } of sources) write(file, text);
    const files = [WORDS, PACKAGES, ...sources.map(({ file }) => file)];
    write("tsconfig.json", JSON.stringify(projectOf(files, folder)));
    const args = [TSC, "-p", "tsconfig.json", "--pretty", "false"];
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    const findings = findingsOf(stdout, sources, folder);
    if (status !== 0 && findings.length === 0) throw new Error(`tsc failed:\n${stdout}`);
    return findings;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function findingsOf(output: string, sources: readonly Source[], folder: string): Finding[] {
  const found: Finding[] = [];
  for (const [, file, at, message = ""] of output.matchAll(/^(\S+?)\((\d+),\d+\): error (TS\d+: .*)$/gm)) {
    const source = sources.find((candidate) => candidate.file === file);
    if (source === undefined) {
      found.push({ place: `${path.relative(ROOT, path.resolve(folder, file as string))}:${at}`, message });
      continue;
    }
    const line = Number(at) - source.linesBefore;
    // What stands before it is reported where it is shown.
    if (line < 1 && source.block.marks.given === "") continue;
    const { page, line: first } = source.block;
    const advice = /TS(2304|2552|18004):/.test(message)
      ? " (what the reader has and the block does not show: <!-- given: declare const x: T; --> before it)"
      : "";
    found.push({ place: placeOf({ page, line: first + Math.max(line, 1) - 1 }), message: message + advice });
  }
  return found;
}
