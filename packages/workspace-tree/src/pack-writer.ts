import { giveBack } from "./give-back.ts";
import { PIECE_BYTES, sealPiece, type BlobSink, type Piece } from "./piece.ts";
import type { Extent } from "./tree.ts";

/** Pieces that are compressed or stored at a time. */
const IN_FLIGHT = 4;

/**
 * Puts the contents of files into pieces: small ones one after the other into a common piece, large ones into pieces of
 * their own. Where a small one went is known once its piece is full, so it is given a list that is filled by then.
 */
export type PackWriter = {
  /** Room for a small file of that size. Not valid after the next call of any method. */
  room(size: number): Promise<Buffer>;
  /** Keeps the first bytes of the room; its extents are there after `seal`. */
  keep(size: number): Extent[];
  /** A piece of a large file, whose memory is given back. One of zeros alone, as holes of sparse files give many, is stored once. */
  addPiece(raw: Buffer): Promise<Extent[]>;
  /** Resolves when it is known where everything goes, which may be still on its way there. Nothing is added after it. */
  seal(): Promise<void>;
  /** Resolves when everything is stored. */
  finish(): Promise<void>;
  readonly storedBytes: () => number;
};

/** Every piece of it has the same list of extents, which is filled by the time that all are. */
const ZEROS = Buffer.alloc(PIECE_BYTES);

type Kept = { extents: Extent[]; offset: number; length: number };

/** Gives its memory back, and says how large it was. */
async function putPiece(sink: BlobSink, { digest, bytes }: Piece): Promise<number> {
  const size = bytes.byteLength;
  await sink.put(digest, bytes);
  giveBack(bytes);
  return size;
}

type Seals = {
  /** Makes a piece, and says where in it is what. */
  make(raw: Buffer, parts: readonly Kept[]): Promise<Piece>;
  /** Resolves when all are made that were begun. */
  made(): Promise<unknown>;
};

function createSeals(): Seals {
  const sealing = new Set<Promise<Piece>>();
  const seal = async (raw: Buffer, parts: readonly Kept[]): Promise<Piece> => {
    const piece = await sealPiece(raw);
    for (const { extents, offset, length } of parts) extents.push({ blob: piece.digest, offset, length });
    return piece;
  };
  return {
    make: (raw, parts) => {
      const sealed = seal(raw, parts);
      sealing.add(sealed);
      return sealed.finally(() => sealing.delete(sealed));
    },
    made: () => Promise.all(sealing),
  };
}

/** @param known pieces that the sink has. */
export function createPackWriter(sink: BlobSink, known: ReadonlySet<string>): PackWriter {
  // Sealed packs give their memory back: hundreds of them would otherwise be made and collected.
  const free: Buffer[] = [];
  const newPack = (): Buffer => free.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES);
  let pack = newPack();
  let used = 0;
  let kept: Kept[] = [];
  let storedBytes = 0;
  let zeros: Extent[] | null = null;
  let failure: { error: unknown } | null = null;
  const underway = new Set<Promise<void>>();
  const seals = createSeals();

  const store = async (raw: Buffer, parts: Kept[], memory: Buffer | null): Promise<void> => {
    const piece = await seals.make(raw, parts);
    if (memory !== null) free.push(memory);
    else giveBack(raw);
    const newBytes = known.has(piece.digest) ? 0 : await putPiece(sink, piece);
    storedBytes += newBytes;
  };

  /** Waits for a free place, and tells of a failure at the first call after it. */
  const launch = async (raw: Buffer, parts: Kept[], memory: Buffer | null): Promise<void> => {
    const work: Promise<void> = store(raw, parts, memory)
      .catch((error: unknown) => void (failure ??= { error }))
      .finally(() => underway.delete(work));
    underway.add(work);
    if (underway.size >= IN_FLIGHT) await Promise.race(underway);
    if (failure !== null) throw failure.error;
  };

  const flush = async (): Promise<void> => {
    if (used === 0) return;
    const [full, raw, parts] = [pack, pack.subarray(0, used), kept];
    pack = newPack();
    used = 0;
    kept = [];
    await launch(raw, parts, full);
  };

  const settle = async (rest: () => Promise<unknown>): Promise<void> => {
    await flush();
    await rest();
    if (failure !== null) throw failure.error;
  };

  return {
    room: async (size) => {
      if (used + size > PIECE_BYTES) await flush();
      return pack.subarray(used, used + size);
    },
    keep: (length) => {
      const extents: Extent[] = [];
      if (length > 0) kept.push({ extents, offset: used, length });
      used += length;
      return extents;
    },
    addPiece: async (raw) => {
      const isZeros = raw.equals(ZEROS);
      if (isZeros && zeros !== null) return zeros;
      const extents: Extent[] = isZeros ? (zeros = []) : [];
      await launch(raw, [{ extents, offset: 0, length: raw.length }], null);
      return extents;
    },
    seal: () => settle(seals.made),
    finish: () => settle(() => Promise.all(underway)),
    storedBytes: () => storedBytes,
  };
}
