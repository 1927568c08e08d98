/**
 * The system calls that the namespace tier refuses, as a classic BPF program for `seccomp(2)`.
 *
 * What it closes: ways to new privileges over the kernel (mounts, namespaces, modules, bpf, io_uring, userfaultfd, …),
 * into other processes (ptrace), and into the terminal of whoever looks on (TIOCSTI, which types into it). A call that is
 * refused fails with EPERM; `clone3`, whose flags a filter cannot see, with ENOSYS, and C libraries then use `clone`.
 */

/** Numbers of system calls: [x64, arm64], from the kernel's tables; -1 where there is none. */
const REFUSED: Record<string, readonly [x64: number, arm64: number]> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  setns: [308, 268],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_by_handle_at: [304, 265],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  vhangup: [153, 58],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
  iopl: [172, -1],
  ioperm: [173, -1],
  modify_ldt: [154, -1],
  uselib: [134, -1],
  ustat: [136, -1],
  sysfs: [139, -1],
};

const ARCHITECTURES = {
  x64: { audit: 0xc000003e, column: 0, clone: 56, unshare: 272, ioctl: 16, setAffinity: 203 },
  arm64: { audit: 0xc00000b7, column: 1, clone: 220, unshare: 97, ioctl: 29, setAffinity: 122 },
} as const;
const CLONE3 = 435;
/** Numbers from here on are of the x32 ABI, which would go around the others. */
const X32 = 0x40000000;

/** CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x7e020080;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;

/** Offsets in `struct seccomp_data`. The low half of an argument comes first on both architectures. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const argument = (n: number): number => 16 + 8 * n;

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

const load = (offset: number): Instruction => [LOAD, 0, 0, offset];
const answer = (value: number): Instruction => [RETURN, 0, 0, value];
/** Answers when the test holds, goes on when it does not. */
const when = (test: number, value: number, result: number): Instruction[] => [
  [test, 0, 1, value],
  answer(result),
];
/** A look at an argument of one system call; afterwards the number is loaded again. */
const inCall = (number: number, checks: Instruction[]): Instruction[] => [
  [JUMP_EQUAL, 0, checks.length + 1, number],
  ...checks,
  load(NUMBER),
];

/** @throws Error on an architecture without a table: the namespace tier does not work there. */
export function buildSeccompFilter(architecture: string, options: { pinned: boolean }): Buffer {
  if (architecture !== "x64" && architecture !== "arm64")
    throw new Error(`There is no system call filter for ${architecture}.`);
  const { audit, column, clone, unshare, ioctl, setAffinity } = ARCHITECTURES[architecture];
  const refused = Object.values(REFUSED).map((numbers) => numbers[column]);
  // Who has a number of cores may not take others.
  if (options.pinned) refused.push(setAffinity);
  const program: Instruction[] = [
    load(ARCHITECTURE),
    [JUMP_EQUAL, 1, 0, audit],
    answer(KILL_PROCESS),
    load(NUMBER),
    ...(architecture === "x64" ? when(JUMP_AT_LEAST, X32, ENOSYS) : []),
    ...when(JUMP_EQUAL, CLONE3, ENOSYS),
    ...refused.flatMap((number) => (number < 0 ? [] : when(JUMP_EQUAL, number, EPERM))),
    ...inCall(clone, [load(argument(0)), ...when(JUMP_ANY_BIT, NEW_NAMESPACES, EPERM)]),
    ...inCall(unshare, [load(argument(0)), ...when(JUMP_ANY_BIT, NEW_NAMESPACES, EPERM)]),
    ...inCall(ioctl, [
      load(argument(1)),
      ...when(JUMP_EQUAL, TIOCSTI, EPERM),
      ...when(JUMP_EQUAL, TIOCLINUX, EPERM),
    ]),
    answer(ALLOW),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, whenTrue, whenFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
