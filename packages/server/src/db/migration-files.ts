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
  /** The number of the newest migration that a server has to know to run after this one; null: any number. */
  readonly oldestServer: number | null;
}

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
/** A line of a migration that takes something away from older servers. */
const OLDEST_SERVER = /^-- oldest server: (\d{4})$/m;

/** All migrations in order. Throws when two have the same number or a file is named otherwise. */
export async function readMigrations(directory: string = findDirectory()): Promise<Migration[]> {
  const migrations: Migration[] = [];
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).toSorted();
  const contents = await Promise.all(names.map((name) => readFile(path.join(directory, name), "utf8")));
  for (const [index, name] of names.entries()) {
    const number = Number(FILE_NAME.exec(name)?.[1]);
    if (!Number.isInteger(number))
      throw new Error(`The migration ${name} must be named like 0001_what_it_does.sql.`);
    const previous = migrations.at(-1);
    if (previous?.number === number)
      throw new Error(
        `The migrations ${previous.name} and ${name} have the same number; give one of them the next free number.`,
      );
    // A checkout may turn line ends; that is no edit.
    const text = (contents[index] as string).replaceAll("\r\n", "\n");
    const oldestServer = OLDEST_SERVER.exec(text)?.[1];
    migrations.push({
      ...{ number, name, text },
      checksum: createHash("sha256").update(text).digest("hex"),
      oldestServer: oldestServer === undefined ? null : Number(oldestServer),
    });
  }
  return migrations;
}

/** Whether a server that knows the migrations up to a number can run on a database that has had a newer one. */
export const canRunAfter = ({ oldestServer }: Pick<Migration, "oldestServer">, newest: number): boolean =>
  oldestServer === null || oldestServer <= newest;

/** In a checkout the folder is at the root; the published package carries a copy beside its `dist`. */
function findDirectory(): string {
  const packageDir = path.resolve(import.meta.dirname, "../..");
  const atRoot = path.resolve(packageDir, "../../migrations");
  const inPackage = path.join(packageDir, "migrations");
  return path.basename(path.dirname(import.meta.dirname)) === "src" || !existsSync(inPackage)
    ? atRoot
    : inPackage;
}
