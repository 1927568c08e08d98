// Finds and reads the numbered files of the migrations folder.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";

export interface Migration {
  readonly number: number;
  /** The file's name, e.g. `0001_identity.sql`. */
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the text, in hex. */
  readonly checksum: string;
}

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;

/** All migrations in order. Throws when two have the same number or a file is named otherwise. */
export async function readMigrations(directory: string = findDirectory()): Promise<Migration[]> {
  const migrations: Migration[] = [];
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql"));
  for (const name of names.toSorted()) {
    const number = Number(FILE_NAME.exec(name)?.[1]);
    if (!Number.isInteger(number))
      throw new Error(`The migration ${name} must be named like 0001_what_it_does.sql.`);
    const previous = migrations.at(-1);
    if (previous?.number === number)
      throw new Error(
        `The migrations ${previous.name} and ${name} have the same number; give one of them the next free number.`,
      );
    // A checkout may turn line ends; that is no edit.
    const text = (await readFile(path.join(directory, name), "utf8")).replaceAll("\r\n", "\n");
    migrations.push({ number, name, text, checksum: createHash("sha256").update(text).digest("hex") });
  }
  return migrations;
}

/** In a checkout the folder is at the root; the published package carries a copy beside its `dist`. */
function findDirectory(): string {
  const packageDir = path.resolve(import.meta.dirname, "../..");
  const atRoot = path.resolve(packageDir, "../../migrations");
  const inPackage = path.join(packageDir, "migrations");
  return path.basename(path.dirname(import.meta.dirname)) === "src" || !existsSync(inPackage)
    ? atRoot
    : inPackage;
}
