import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { SYSTEM_PATH } from "./sandbox.ts";

/** What the address of a socket has room for. */
const SOCKET_PATH_BYTES = 107;

/** What a program in a sandbox must not reach, made to be attacked by one. */
export type AttackTargets = {
  /** A file that everybody on the machine may read and write. */
  file: string;
  /** A process of the agent's user. */
  pid: number;
  /** Servers of the agent: on a path, when one so long can be had, by a name without one, and on the loopback address. */
  socketPath: string | null;
  socketName: string;
  port: number;
  close(): void;
};

/** @param folder that everybody may pass through. */
export async function openTargets(folder: string): Promise<AttackTargets> {
  const file = join(folder, "target");
  await writeFile(file, "not for a workspace");
  await chmod(file, 0o666);
  const path = join(folder, "socket");
  const socketPath = Buffer.byteLength(path) > SOCKET_PATH_BYTES ? null : path;
  const socketName = `keelson-probe-${randomUUID()}`;
  const listening: Server[] = [];
  const listen = async (where: { path: string } | { port: number; host: string }): Promise<Server> => {
    const server = createServer((socket) => socket.destroy());
    server.listen(where);
    await once(server, "listening");
    listening.push(server);
    return server;
  };
  // It ends with its input, and so with the agent.
  const child = spawn("cat", { stdio: ["pipe", "ignore", "ignore"], env: { PATH: SYSTEM_PATH } });
  const close = (): void => {
    for (const server of listening) server.close();
    child.kill("SIGKILL");
  };
  try {
    await once(child, "spawn");
    await listen({ path: `\0${socketName}` });
    if (socketPath !== null) {
      await listen({ path: socketPath });
      await chmod(socketPath, 0o666);
    }
    const { port } = (await listen({ port: 0, host: "127.0.0.1" })).address() as AddressInfo;
    return { file, pid: child.pid as number, socketPath, socketName, port, close };
  } catch (error) {
    close();
    throw error;
  }
}
