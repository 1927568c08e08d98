import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";

export type WorkerIdentity = { workerId: string; token: string };

/** Who a worker is, kept for its next process: what it had live is given back to it. */
export type IdentityStore = {
  /** Null when there is none for this server, or none that can be read. */
  load(): Promise<WorkerIdentity | null>;
  save(identity: WorkerIdentity): Promise<void>;
  forget(): Promise<void>;
};

/** In a folder that no other process uses. The token in it is good for an hour, and longer beside an enrollment token; nobody but the owner may read it. */
export function openIdentityStore(folder: string, url: string): IdentityStore {
  const path = join(folder, "identity.json");
  return {
    load: async () => {
      try {
        const kept = JSON.parse(await readFile(path, "utf8")) as Partial<WorkerIdentity> & { url?: string };
        const { workerId, token } = kept;
        return kept.url === url && typeof workerId === "string" && typeof token === "string"
          ? { workerId, token }
          : null;
      } catch {
        // Absent, or cut short by a crash: the agent is a new worker then.
        return null;
      }
    },
    save: async ({ workerId, token }) => {
      await mkdir(folder, { recursive: true });
      await writePrivately(path, JSON.stringify({ url, workerId, token }));
    },
    forget: () => rm(path, { force: true }),
  };
}

/** Whole or not at all, and readable by nobody else from its first byte on. */
export async function writePrivately(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.partial`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
  await chmod(temporary, 0o600);
  await rename(temporary, path);
}
