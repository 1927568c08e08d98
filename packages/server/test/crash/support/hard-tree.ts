// A folder with everything that is hard to keep, made by its owner, and what a version is to have of it.

import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What an entry of a tree is: a mode and a content or a target, as `make-hard-tree.mjs` and `look-at-tree.mjs` write it. */
export type Facts = Record<string, string>;

export type HardTree = {
  /** What a version has, by path. */
  kept: Facts;
  renamed: string[];
  /** Paths with why they are in no version. */
  leftOut: Record<string, string>;
};

const run = (script: URL, folder: string, uid: number | null, args: string[] = []): string => {
  const file = fileURLToPath(script);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--stack-size=4000", file, folder, ...args],
    {
      encoding: "utf8",
      maxBuffer: 1 << 30,
      ...(uid === null ? {} : { uid, gid: uid }),
    },
  );
  if (status !== 0) throw new Error(`${file}: ${stderr}`);
  return stdout;
};

/** Whoever owns it may change it, and nobody else need be able to. */
const ownerOf = (folder: string): number | null => (process.getuid?.() === 0 ? statSync(folder).uid : null);

export const makeHardTree = (folder: string): HardTree =>
  JSON.parse(run(new URL("./make-hard-tree.mjs", import.meta.url), folder, ownerOf(folder))) as HardTree;

/** Makes so many empty files, 1,000 in each folder; with the folders they are the entries. */
export const makeManyFiles = (folder: string, entries: number): void =>
  void run(new URL("./make-many-files.mjs", import.meta.url), folder, ownerOf(folder), [String(entries)]);

/** Every entry whose path has at most 4,096 bytes. */
export const lookAtTree = (folder: string): Facts =>
  JSON.parse(run(new URL("./look-at-tree.mjs", import.meta.url), folder, null)) as Facts;
