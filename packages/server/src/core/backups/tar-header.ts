// The headers of an archive in the `ustar` format of POSIX, which every `tar` lists and unpacks. Only what a backup needs:
// regular files, no owners, no links. A header has a checksum, so that one flipped bit of it is noticed too.

export const BLOCK_BYTES = 512;
const MAX_NAME_BYTES = 100;
const MAX_PREFIX_BYTES = 155;

export type TarEntry = { name: string; sizeBytes: number };

const paddingOf = (sizeBytes: number): number => (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;

/** How many bytes the content takes with the zeros after it. */
export const paddedBytes = (sizeBytes: number): number => sizeBytes + paddingOf(sizeBytes);

export function writeTarHeader({ name, sizeBytes }: TarEntry, atMs: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  const slash = Buffer.byteLength(name) > MAX_NAME_BYTES ? name.lastIndexOf("/") : -1;
  const prefix = slash < 0 ? "" : name.slice(0, slash);
  const rest = name.slice(slash + 1);
  if (rest.length > MAX_NAME_BYTES || prefix.length > MAX_PREFIX_BYTES)
    throw new RangeError(`The name ${name} is too long for an archive.`);
  header.write(rest, 0, "ascii");
  header.write("0000600\u00000000000\u00000000000\0", 100, "ascii");
  header.write(`${octal(sizeBytes, 11)}\0${octal(Math.floor(atMs / 1000), 11)}\0`, 124, "ascii");
  header.write("0", 156, "ascii");
  header.write("ustar\u000000", 257, "ascii");
  header.write(prefix, 345, "ascii");
  header.write(`${octal(checksumOf(header), 6)}\0 `, 148, "ascii");
  return header;
}

/** Null when the block is not a header that `writeTarHeader` has written. */
export function readTarHeader(header: Buffer): TarEntry | null {
  // Not as `ascii`, which drops the highest bit of each byte.
  const field = (start: number, length: number): string =>
    header.toString("latin1", start, start + length).replace(/\0.*$/s, "");
  const sizeText = field(124, 12);
  const checksum = header.toString("latin1", 148, 156);
  if (checksum !== `${octal(checksumOf(header), 6)}\0 ` || !/^[0-7]{11}$/.test(sizeText)) return null;
  const prefix = field(345, MAX_PREFIX_BYTES);
  const name = field(0, MAX_NAME_BYTES);
  return { name: prefix === "" ? name : `${prefix}/${name}`, sizeBytes: Number.parseInt(sizeText, 8) };
}

/** The sum of the header's bytes, those of the checksum itself counted as spaces. */
function checksumOf(header: Buffer): number {
  let sum = 0;
  for (const [at, byte] of header.entries()) sum += at >= 148 && at < 156 ? 0x20 : byte;
  return sum;
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, "0");
