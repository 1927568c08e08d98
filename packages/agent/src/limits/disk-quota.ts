import { spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { text } from "node:stream/consumers";
import type { Clock } from "../clock.ts";
import { SYSTEM_PATH } from "../sandboxes/sandbox.ts";
import type { Members } from "./find-members.ts";
import { processFolder } from "./measure-usage.ts";

/** Between two walks; a walk that takes long is made more seldom, so that it takes this part of a core at most. */
const SHORTEST_PAUSE_MS = 2_000;
const PAUSE_PER_WALK = 20;
const LONGEST_WALK_MS = 120_000;

/** What a walk over the live folder found, and who wrote since the one before. */
export type DiskSight = { usedBytes: number; hasGrown: boolean; written: Map<string | null, number> };

/**
 * Measures what the files of a workspace take on disk, by a program of the system that walks the folder beside this
 * process. It follows no links, stays on the file system and counts a file of several names once.
 */
export class DiskQuota {
  readonly device: number | null;
  readonly #root: string;
  readonly #clock: Clock;
  readonly #written = new Map<string, number>();
  #usedBytes: number | null = null;
  #nextAt = 0;
  #walk: Promise<number | null> | null = null;
  #over = new AbortController();

  constructor(root: string, clock: Clock) {
    this.#root = root;
    this.#clock = clock;
    this.device = statSync(root, { throwIfNoEntry: false })?.dev ?? null;
  }

  /** At the last look; null when there was none. */
  usedBytes(): number | null {
    return this.#usedBytes;
  }

  /** Walks when it is time to. Null when it is not, or the walk could not be made. */
  async look(members: () => Members, deletedBytes: () => number): Promise<DiskSight | null> {
    const startedAt = this.#clock.monotonic();
    if (startedAt < this.#nextAt || this.#walk !== null) return null;
    this.#walk = walk(this.#root, this.#over.signal);
    const walked = await this.#walk;
    this.#walk = null;
    const endedAt = this.#clock.monotonic();
    this.#nextAt = endedAt + Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_WALK * (endedAt - startedAt));
    if (walked === null) return null;
    const former = this.#usedBytes ?? 0;
    const usedBytes = walked + deletedBytes();
    this.#usedBytes = usedBytes;
    return { usedBytes, hasGrown: usedBytes > former, written: this.#countWritten(members()) };
  }

  /** Something was ended or deleted: the next look is made at once. */
  lookSoon(): void {
    this.#nextAt = 0;
  }

  close(): void {
    this.#over.abort();
  }

  #countWritten(members: Members): Map<string | null, number> {
    const written = new Map<string | null, number>();
    const present = new Set<string>();
    for (const [id, processes] of members) {
      for (const process of processes) {
        const key = `${process.pid}:${process.startedAt}`;
        const bytes = readWrittenBytes(processFolder(process));
        present.add(key);
        written.set(id, (written.get(id) ?? 0) + bytes - (this.#written.get(key) ?? 0));
        this.#written.set(key, bytes);
      }
    }
    for (const key of this.#written.keys()) if (!present.has(key)) this.#written.delete(key);
    return written;
  }
}

function readWrittenBytes(folder: string): number {
  try {
    return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`${folder}/io`, "latin1"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/**
 * What a folder takes, in bytes. `du` opens each folder from the one above it and follows no link, so that programs which swap
 * names meanwhile lead it nowhere. A user namespace lets a walker that is not root into folders that their owner closed.
 */
async function walk(root: string, signal: AbortSignal): Promise<number | null> {
  const asOwner = process.getuid?.() === 0 ? [] : ["unshare", "--user", "--map-root-user"];
  const used = await runDu([...asOwner, "du", "-skx", root], signal);
  return used === null && asOwner.length > 0 ? runDu(["du", "-skx", root], signal) : used;
}

async function runDu([file, ...args]: string[], signal: AbortSignal): Promise<number | null> {
  const child = spawn(file as string, args, {
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: SYSTEM_PATH },
    cwd: "/",
    timeout: LONGEST_WALK_MS,
    killSignal: "SIGKILL",
    signal,
  });
  const failed = new Promise<string>((resolve) => child.once("error", () => resolve("")));
  const printed = await Promise.race([text(child.stdout).catch(() => ""), failed]);
  // What vanished on the way is complained of, and the sum of the rest is printed all the same.
  const kibibytes = /^(\d+)\s/.exec(printed)?.[1];
  return kibibytes === undefined ? null : Number(kibibytes) * 1024;
}
