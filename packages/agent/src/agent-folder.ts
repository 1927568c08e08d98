import { createHash } from "node:crypto";
import { chmod, mkdir, realpath } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";

/** What an agent keeps for its next process, and that nobody else uses meanwhile. */
export type AgentFolder = { path: string; release(): Promise<void> };

/** More agents than this do not share a data folder and a name. */
const MAX_AGENTS = 64;

/**
 * Claims a folder under the data folder for one agent of that name. Several agents may share a data folder; the next
 * process of one finds what it left. The claim is a socket without a file: it ends with the process, however that ends.
 * It says nothing to other machines, so machines do not share a data folder.
 */
export async function claimAgentFolder(dataDir: string, name: string): Promise<AgentFolder> {
  const stem = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 48);
  await mkdir(join(dataDir, "agents"), { recursive: true, mode: 0o711 });
  const root = await realpath(join(dataDir, "agents"));
  // Only Linux has such sockets; elsewhere nothing is found again.
  const first = process.platform === "linux" ? 1 : process.pid;
  for (let number = first; number < first + MAX_AGENTS; number += 1) {
    const path = join(root, `${stem}-${number}`);
    const claim = process.platform === "linux" ? await tryClaim(path) : createServer();
    if (claim === null) continue;
    await mkdir(path, { recursive: true });
    // Tasks and workspaces with users of their own pass through, and see nothing there.
    if (process.getuid?.() === 0) for (const folder of [root, path]) await chmod(folder, 0o711);
    return {
      path,
      release: () => new Promise((resolve) => (claim.listening ? claim.close(() => resolve()) : resolve())),
    };
  }
  throw new Error(`${MAX_AGENTS} agents named ${name} use ${dataDir}; give this one another name.`);
}

const socketOf = (path: string): string =>
  `\0keelson-agent-${createHash("sha256").update(path).digest("hex").slice(0, 40)}`;

/** Whether a running agent of this machine has that folder. Where that cannot be told, it counts as claimed. */
export function isClaimed(path: string): Promise<boolean> {
  if (process.platform !== "linux") return Promise.resolve(isRunning(Number(/\d+$/.exec(path)?.[0])));
  const socket = connect({ path: socketOf(path) });
  return new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED"));
  }).finally(() => socket.destroy());
}

/** There the folder has the number of its process. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Null when another process has it. */
function tryClaim(path: string): Promise<Server | null> {
  const name = socketOf(path);
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(null) : reject(error),
    );
    server.listen({ path: name }, () => resolve(server.unref()));
  });
}
