import type { FileAnswers, FileCall, FilePiece, LiveFile, RuntimeHost } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import {
  WorkspaceFileError,
  type RunFile,
  type RunFileContent,
  type RunWorkspaceFiles,
  type WorkspaceFileErrorCode,
} from "../workspace-files.ts";
import { UsageError } from "../keelson-error.ts";

/** Calls under way at once: with the size of a piece, this bounds what a run's calls have in memory. */
const MAX_CALLS = 8;

type Ask = <C extends FileCall>(call: C) => Promise<FileAnswers[C["op"]]>;

/** Asks the host, a few calls at a time. */
function createAsk(host: RuntimeHost): Ask {
  let free = MAX_CALLS;
  const waiting: (() => void)[] = [];
  return async (call) => {
    if (host.file === undefined)
      throw new UsageError("This worker has no `ctx.workspace.files`; update its agent.");
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      return await host.file(call);
    } catch (error) {
      const { code, message } = error as { code: WorkspaceFileErrorCode; message: string };
      throw new WorkspaceFileError(code, message);
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

const decode = ({ bytes }: FilePiece): Uint8Array => Buffer.from(bytes, "base64");
const encode = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

const toRunFile = ({ path, kind, size_bytes, mode, link_target, modified_at }: LiveFile): RunFile => ({
  ...{ path, name: path.slice(path.lastIndexOf("/") + 1), kind, sizeBytes: size_bytes, mode },
  ...{ linkTarget: link_target, modifiedAt: new Date(modified_at) },
});

async function* readPieces(ask: Ask, path: string): AsyncGenerator<Uint8Array> {
  let piece = await ask({ op: "read", path });
  try {
    for (;;) {
      const bytes = decode(piece);
      if (bytes.length > 0) yield bytes;
      if (piece.handle === null) return;
      piece = await ask({ op: "read_on", handle: piece.handle });
    }
  } finally {
    if (piece.handle !== null) await ask({ op: "close", handle: piece.handle });
  }
}

async function readAll(ask: Ask, path: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of readPieces(ask, path)) {
    size += piece.length;
    if (size > LIMITS.workspaceFileBytes)
      throw new WorkspaceFileError(
        "too_large",
        `${JSON.stringify(path)} has more than ${LIMITS.workspaceFileBytes} bytes; read it with \`readStream\`.`,
      );
    pieces.push(piece);
  }
  return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
}

async function* cut(content: RunFileContent): AsyncGenerator<Uint8Array> {
  const parts = typeof content === "string" || content instanceof Uint8Array ? [content] : content;
  for await (const part of parts) {
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    for (let at = 0; at < bytes.length; at += LIMITS.runFilePieceBytes)
      yield bytes.subarray(at, at + LIMITS.runFilePieceBytes);
  }
}

/** One piece is held back, so that the last one says that it is: a small file is one call. */
async function writeAll(ask: Ask, path: string, content: RunFileContent, mode: string | null): Promise<void> {
  let handle: number | null = null;
  const send = async (piece: Uint8Array, more: boolean): Promise<void> => {
    const bytes = encode(piece);
    const call: FileCall =
      handle === null ? { op: "write", path, mode, bytes, more } : { op: "write_on", handle, bytes, more };
    ({ handle } = await ask(call as Extract<FileCall, { op: "write" }>));
  };
  let held: Uint8Array = new Uint8Array();
  try {
    for await (const piece of cut(content)) {
      if (held.length > 0) await send(held, true);
      held = piece;
    }
  } catch (error) {
    if (handle !== null) await ask({ op: "close", handle }).catch(() => undefined);
    throw error;
  }
  await send(held, false);
}

function toStream(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

export function createRunFiles(host: RuntimeHost): RunWorkspaceFiles {
  const ask = createAsk(host);
  return {
    read: (path) => readAll(ask, path),
    readText: async (path) => new TextDecoder().decode(await readAll(ask, path)),
    readStream: (path) => toStream(readPieces(ask, path)),
    write: (path, content, { mode } = {}) => writeAll(ask, path, content, mode ?? null),
    list: async (path = "") => (await ask({ op: "list", path })).map(toRunFile),
    stat: async (path) => toRunFile(await ask({ op: "stat", path })),
    async remove(path, { recursive = false, force = false } = {}) {
      try {
        await ask({ op: "remove", path, recursive });
      } catch (error) {
        if (!force || !(error instanceof WorkspaceFileError) || error.code !== "not_found") throw error;
      }
    },
  };
}
