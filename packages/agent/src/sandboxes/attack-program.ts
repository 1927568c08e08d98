import type { Architecture } from "./system-calls.ts";

/**
 * A program that makes system calls and says what the kernel answered to each: an executable for Linux, written here byte
 * by byte. A sandbox has neither a compiler nor, for certain, an interpreter that can make calls by their numbers.
 */

/** A system call by its number; bytes are given by their address. */
export type SystemCall = { number: number; args: readonly (number | Buffer)[] };

/** The number of the call and its six arguments, of 8 bytes each. */
const WORDS = 7;
const CODE_AT = 0x40_0000;
const DATA_AT = 0x800_0000;
/** Pages are at most this large: parts of a file that are mapped begin at the same place in a page as in the file. */
const PAGE = 0x1_0000;
const ELF_HEADER = 64;
const SEGMENT_HEADER = 56;

const MACHINES = {
  x64: { elf: 62, write: 1, exitGroup: 231, code: codeForX64 },
  arm64: { elf: 183, write: 64, exitGroup: 94, code: codeForArm64 },
} as const;

/** Writes an answer of 8 bytes for each call to its standard output and exits with 0. */
export function buildAttackProgram(architecture: Architecture, calls: readonly SystemCall[]): Buffer {
  const { elf, write, exitGroup, code } = MACHINES[architecture];
  const codeOffset = ELF_HEADER + 3 * SEGMENT_HEADER;
  const dataOffset = align(codeOffset + code(0, 0).length);
  const table = DATA_AT + dataOffset;
  const answersLength = calls.length * 8;
  const blobsOffset = (calls.length + 2) * WORDS * 8;
  const blobs: Buffer[] = [];
  let end = table + blobsOffset;
  const place = (bytes: Buffer): number => {
    const at = end;
    const padded = Buffer.concat([bytes], align(bytes.length));
    blobs.push(padded);
    end += padded.length;
    return at;
  };
  const placed = calls.map(({ number, args }) => [
    number,
    ...args.map((value) => (typeof value === "number" ? value : place(value))),
  ]);
  const answers = end;
  // The two calls at the end have answers too, which nobody is given.
  const rows = [...placed, [write, 1, answers, answersLength], [exitGroup, 0]];
  const data = Buffer.concat([...rows.map(encodeRow), ...blobs]);
  const instructions = code(table, answers);
  return Buffer.concat([
    elfHeader(elf, CODE_AT + codeOffset),
    segmentHeader({ flags: 5, offset: 0, address: CODE_AT, length: codeOffset + instructions.length }),
    segmentHeader({
      ...{ flags: 6, offset: dataOffset, address: table, length: data.length },
      memory: data.length + (rows.length + 1) * 8,
    }),
    NO_EXECUTABLE_STACK,
    Buffer.concat([instructions], dataOffset - codeOffset),
    data,
  ]);
}

/** The answers in the output of a program with that many calls: a result, or a negative error number. */
export function readAnswers(output: Buffer, calls: number): number[] | null {
  if (output.length !== calls * 8) return null;
  return Array.from({ length: calls }, (_, index) => Number(output.readBigInt64LE(index * 8)));
}

const align = (length: number): number => (length + 7) & ~7;

function encodeRow(row: readonly number[]): Buffer {
  const bytes = Buffer.alloc(WORDS * 8);
  for (const [index, value] of row.entries()) bytes.writeBigInt64LE(BigInt(value), index * 8);
  return bytes;
}

function elfHeader(machine: number, entry: number): Buffer {
  const header = Buffer.alloc(ELF_HEADER);
  // 64 bits, little endian, version 1.
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(header);
  // An executable, of version 1.
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(machine, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(BigInt(entry), 24);
  header.writeBigUInt64LE(BigInt(ELF_HEADER), 32);
  header.writeUInt16LE(ELF_HEADER, 52);
  header.writeUInt16LE(SEGMENT_HEADER, 54);
  header.writeUInt16LE(3, 56);
  header.writeUInt16LE(64, 58);
  return header;
}

type Segment = { flags: number; offset: number; address: number; length: number; memory?: number };

function segmentHeader({ flags, offset, address, length, memory = length }: Segment, type = 1): Buffer {
  const header = Buffer.alloc(SEGMENT_HEADER);
  header.writeUInt32LE(type, 0);
  header.writeUInt32LE(flags, 4);
  for (const [index, value] of [offset, address, address, length, memory, PAGE].entries())
    header.writeBigUInt64LE(BigInt(value), 8 + index * 8);
  return header;
}

/** PT_GNU_STACK, to be read and written. */
const NO_EXECUTABLE_STACK = segmentHeader({ flags: 6, offset: 0, address: 0, length: 0 }, 0x6474e551);

function codeForX64(table: number, answers: number): Buffer {
  const immediate = (value: number): number[] => [...new Uint8Array(new Uint32Array([value]).buffer)];
  const body = [
    ...[0x49, 0x8b, 0x04, 0x24], // mov rax, [r12]
    ...[0x49, 0x8b, 0x7c, 0x24, 8], // mov rdi, [r12 + 8]
    ...[0x49, 0x8b, 0x74, 0x24, 16], // mov rsi, [r12 + 16]
    ...[0x49, 0x8b, 0x54, 0x24, 24], // mov rdx, [r12 + 24]
    ...[0x4d, 0x8b, 0x54, 0x24, 32], // mov r10, [r12 + 32]
    ...[0x4d, 0x8b, 0x44, 0x24, 40], // mov r8, [r12 + 40]
    ...[0x4d, 0x8b, 0x4c, 0x24, 48], // mov r9, [r12 + 48]
    ...[0x0f, 0x05], // syscall
    ...[0x49, 0x89, 0x45, 0x00], // mov [r13], rax
    ...[0x49, 0x83, 0xc5, 8], // add r13, 8
    ...[0x49, 0x83, 0xc4, WORDS * 8], // add r12, 56
  ];
  return Buffer.from([
    ...[0x41, 0xbc, ...immediate(table)], // mov r12d, table
    ...[0x41, 0xbd, ...immediate(answers)], // mov r13d, answers
    ...body,
    ...[0xeb, 256 - (body.length + 2)], // jmp to the body
  ]);
}

function codeForArm64(table: number, answers: number): Buffer {
  const [x19, x20] = [19, 20];
  const set = (register: number, value: number): number[] => [
    0xd2a00000 | ((value >>> 16) << 5) | register, // movz register, the upper half
    0xf2800000 | ((value & 0xffff) << 5) | register, // movk register, the lower half
  ];
  /** ldp first, second, [x19 + offset] */
  const loadPair = (first: number, second: number, offset: number): number =>
    0xa9400000 | ((offset / 8) << 15) | (second << 10) | (x19 << 5) | first;
  const body = [
    loadPair(8, 0, 0),
    loadPair(1, 2, 16),
    loadPair(3, 4, 32),
    0xf9400000 | ((48 / 8) << 10) | (x19 << 5) | 5, // ldr x5, [x19 + 48]
    0xd4000001, // svc 0
    0xf8000400 | (8 << 12) | (x20 << 5), // str x0, [x20], 8
    0x91000000 | ((WORDS * 8) << 10) | (x19 << 5) | x19, // add x19, x19, 56
  ];
  const words = [
    ...set(x19, table),
    ...set(x20, answers),
    ...body,
    0x14000000 | (-body.length & 0x3ffffff), // b to the body
  ];
  const bytes = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) bytes.writeUInt32LE(word >>> 0, index * 4);
  return bytes;
}
