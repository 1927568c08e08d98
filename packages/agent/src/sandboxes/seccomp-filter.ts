import { ALLOWED_CALLS, CHECKED_CALLS, FIRST_UNKNOWN, type Architecture } from "./system-calls.ts";

/**
 * The filter of system calls of the namespace tier, as a classic BPF program for `seccomp(2)`: an allow list.
 *
 * A call that is not on it fails with EPERM. One that is younger than the list fails with ENOSYS, as on an older kernel, and
 * programs do without it. So does `clone3`, whose flags a filter cannot see: C libraries then use `clone`.
 */

const AUDIT: Record<Architecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x7e020080;
/** Linux as it is, for 32 bits, with the names of an old kernel, both, and the question which it is. */
const PERSONALITIES = [0, 0x0008, 0x0002_0000, 0x0002_0008, 0xffff_ffff];
/** They put what is typed into a terminal. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
/** C libraries ask it for the addresses of the machine; its other protocols speak to the rest of the kernel. */
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;

const KILL_PROCESS = 0x80000000;
const refuse = (errno: number): number => 0x00050000 + errno;
const EPERM = refuse(1);
const ENOSYS = refuse(38);
const EPROTONOSUPPORT = refuse(93);
const EAFNOSUPPORT = refuse(97);

/** Offsets in `struct seccomp_data`. The low half of an argument comes first; the kernel takes only that of those looked at. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const argument = (n: number): number => 16 + 8 * n;

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

const load = (offset: number): Instruction => [LOAD, 0, 0, offset];
const answer = (value: number): Instruction => [RETURN, 0, 0, value];
const ALLOW = answer(0x7fff0000);
/** Answers when the test holds, goes on when it does not. */
const when = (test: number, value: number, result: Instruction): Instruction[] => [
  [test, 0, 1, value],
  result,
];
const whenEqual = (values: number[], result: Instruction): Instruction[] =>
  values.flatMap((value) => when(JUMP_EQUAL, value, result));

const WITHOUT_NAMESPACES = [load(argument(0)), ...when(JUMP_ANY_BIT, NEW_NAMESPACES, answer(EPERM)), ALLOW];

/** What the filter does in calls that depend on their arguments. Each ends in an answer. */
const CHECKS: Record<keyof typeof CHECKED_CALLS, readonly Instruction[]> = {
  clone: WITHOUT_NAMESPACES,
  unshare: WITHOUT_NAMESPACES,
  clone3: [answer(ENOSYS)],
  personality: [load(argument(0)), ...whenEqual(PERSONALITIES, ALLOW), answer(EPERM)],
  socket: [
    load(argument(0)),
    ...whenEqual([AF_UNIX, AF_INET, AF_INET6], ALLOW),
    [JUMP_EQUAL, 1, 0, AF_NETLINK],
    answer(EAFNOSUPPORT),
    load(argument(2)),
    ...whenEqual([NETLINK_ROUTE], ALLOW),
    answer(EPROTONOSUPPORT),
  ],
  socketpair: [load(argument(0)), ...whenEqual([AF_UNIX], ALLOW), answer(EAFNOSUPPORT)],
  ioctl: [load(argument(1)), ...whenEqual([TIOCSTI, TIOCLINUX], answer(EPERM)), ALLOW],
  sched_setaffinity: [ALLOW],
};

/** From one number up to the next part's, the same happens. */
type Part = { from: number; body: readonly Instruction[] };

/** @throws Error on an architecture without a table: the namespace tier does not work there. */
export function buildSeccompFilter(architecture: string, options: { pinned: boolean }): Buffer {
  if (architecture !== "x64" && architecture !== "arm64")
    throw new Error(`There is no system call filter for ${architecture}.`);
  return encode([
    load(ARCHITECTURE),
    [JUMP_EQUAL, 1, 0, AUDIT[architecture]],
    answer(KILL_PROCESS),
    load(NUMBER),
    ...search(listParts(architecture, options)),
  ]);
}

function listParts(architecture: Architecture, { pinned }: { pinned: boolean }): Part[] {
  const decided = new Map<number, readonly Instruction[]>();
  for (const numbers of ALLOWED_CALLS.values()) {
    const number = numbers[architecture];
    if (number !== null) decided.set(number, [ALLOW]);
  }
  // Who has a number of cores may not take others.
  const checks = { ...CHECKS, ...(pinned ? { sched_setaffinity: [answer(EPERM)] } : {}) };
  for (const [name, numbers] of Object.entries(CHECKED_CALLS))
    decided.set(numbers[architecture], checks[name as keyof typeof CHECKED_CALLS]);
  const refused = [answer(EPERM)];
  const parts: Part[] = [];
  for (let number = 0; number < FIRST_UNKNOWN; number += 1) {
    const body = decided.get(number) ?? refused;
    const last = parts.at(-1);
    if (last === undefined || !isSame(last.body, body)) parts.push({ from: number, body });
  }
  // x32 begins far above, and its numbers are answered as unknown ones are.
  return [...parts, { from: FIRST_UNKNOWN, body: [answer(ENOSYS)] }];
}

const isSame = (one: readonly Instruction[], other: readonly Instruction[]): boolean =>
  one === other || (one.length === 1 && other.length === 1 && one[0] === other[0]);

/** A binary search for the part of a number. A jump reaches 255 instructions far, so that the near half comes first. */
function search(parts: Part[]): Instruction[] {
  const [first, ...others] = parts;
  if (first === undefined) return [];
  if (others.length === 0) return [...first.body];
  const middle = parts.length >> 1;
  const below = search(parts.slice(0, middle));
  if (below.length > 255) throw new Error("The filter of system calls has grown past the reach of a jump.");
  return [
    [JUMP_AT_LEAST, below.length, 0, (parts[middle] as Part).from],
    ...below,
    ...search(parts.slice(middle)),
  ];
}

function encode(program: Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, whenTrue, whenFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
