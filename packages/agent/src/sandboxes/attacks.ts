import type { SystemCall } from "./attack-program.ts";
import type { AttackTargets } from "./attack-targets.ts";
import { ALLOWED_CALLS, CHECKED_CALLS, type Architecture, type Numbers } from "./system-calls.ts";

/** Something that a program in a sandbox tries. */
export type Attack = {
  /** What it goes for, as a noun. */
  on: string;
  call: SystemCall;
  /** Whether the sandbox held, by what the kernel answered. */
  holds: (answer: number) => boolean;
};

const AT_FDCWD = -100;
const READ = 0;
const MAY_WRITE = 2;
const SIGKILL = 9;
const [AF_UNIX, AF_INET] = [1, 2];
const SOCK_STREAM = 1;
const EBADF = 9;
/** EPERM, ENOSYS, EPROTONOSUPPORT and EAFNOSUPPORT: from the filter, or from a kernel that does not have the call. */
const REFUSALS = new Set([-1, -38, -93, -97]);
/** The highest descriptor that is looked for. */
const DESCRIPTORS = 1024;

const fails = (answer: number): boolean => answer < 0;
const isRefused = (answer: number): boolean => REFUSALS.has(answer);
const text = (value: string): Buffer => Buffer.from(`${value}\0`);

/** Calls that are not allowed, with arguments that harm nothing where they are. */
const REFUSED: Record<string, { numbers: Numbers; args: readonly (number | Buffer)[] }> = {
  mount: { numbers: { x64: 165, arm64: 40 }, args: [] },
  pivot_root: { numbers: { x64: 155, arm64: 41 }, args: [] },
  chroot: { numbers: { x64: 161, arm64: 51 }, args: [] },
  setns: { numbers: { x64: 308, arm64: 268 }, args: [-1] },
  open_tree: { numbers: { x64: 428, arm64: 428 }, args: [-1] },
  open_by_handle_at: { numbers: { x64: 304, arm64: 265 }, args: [-1] },
  bpf: { numbers: { x64: 321, arm64: 280 }, args: [-1] },
  perf_event_open: { numbers: { x64: 298, arm64: 241 }, args: [] },
  userfaultfd: { numbers: { x64: 323, arm64: 282 }, args: [-1] },
  io_uring_setup: { numbers: { x64: 425, arm64: 425 }, args: [] },
  keyctl: { numbers: { x64: 250, arm64: 219 }, args: [] },
  init_module: { numbers: { x64: 175, arm64: 105 }, args: [] },
  kexec_load: { numbers: { x64: 246, arm64: 104 }, args: [-1] },
  settimeofday: { numbers: { x64: 164, arm64: 170 }, args: [] },
  iopl: { numbers: { x64: 172, arm64: null }, args: [] },
  process_vm_readv: { numbers: { x64: 310, arm64: 270 }, args: [1] },
  clone3: { numbers: CHECKED_CALLS.clone3, args: [] },
  // A new user namespace.
  unshare: { numbers: CHECKED_CALLS.unshare, args: [0x1000_0000] },
  // The same with the parent's view of files, which the kernel itself would refuse with another error.
  clone: { numbers: CHECKED_CALLS.clone, args: [0x1000_0200] },
  // Addresses that can be foretold.
  personality: { numbers: CHECKED_CALLS.personality, args: [0x0004_0000] },
  "ioctl(TIOCSTI)": { numbers: CHECKED_CALLS.ioctl, args: [0, 0x5412, text("x")] },
  "socket(AF_PACKET)": { numbers: CHECKED_CALLS.socket, args: [17, 3] },
  "socket(AF_ALG)": { numbers: CHECKED_CALLS.socket, args: [38, 5] },
  "socket(AF_VSOCK)": { numbers: CHECKED_CALLS.socket, args: [40, SOCK_STREAM] },
  "socket(NETLINK_SOCK_DIAG)": { numbers: CHECKED_CALLS.socket, args: [16, 3, 4] },
  ptrace: { numbers: { x64: 101, arm64: 117 }, args: [] },
};

/** In their order: what tries the descriptors comes before what opens some. */
export function listAttacks(architecture: Architecture, targets: AttackTargets): Attack[] {
  const numberOf = (name: string): number => ALLOWED_CALLS.get(name)?.[architecture] as number;
  const to = (
    on: string,
    name: string,
    args: SystemCall["args"],
    holds: Attack["holds"] = fails,
  ): Attack => ({
    on,
    call: { number: numberOf(name), args },
    holds,
  });
  const socket = (family: number, descriptor: number): Attack => ({
    on: "a descriptor",
    call: { number: CHECKED_CALLS.socket[architecture], args: [family, SOCK_STREAM] },
    holds: (answer) => answer === descriptor,
  });
  const read = (path: string): Attack => to(path, "openat", [AT_FDCWD, text(path), READ]);
  const write = (path: string): Attack =>
    to(`${path}, to write it`, "faccessat", [AT_FDCWD, text(path), MAY_WRITE]);
  const connect = (on: string, descriptor: number, address: Buffer): Attack =>
    to(on, "connect", [descriptor, address, address.length]);
  const { file, pid, socketPath } = targets;
  return [
    ...Array.from({ length: DESCRIPTORS - 3 }, (_, index) =>
      to(`the inherited descriptor ${index + 3}`, "fcntl", [index + 3, 1], (answer) => answer === -EBADF),
    ),
    // The first two that are free.
    socket(AF_UNIX, 3),
    socket(AF_INET, 4),
    ...(socketPath === null ? [] : [connect("a socket of the agent", 3, unixAddress(socketPath))]),
    connect("an abstract socket of the agent", 3, unixAddress(`\0${targets.socketName}`)),
    connect("the loopback address of the machine", 4, internetAddress(targets.port)),
    ...[file, `/workspace/../..${file}`, `/proc/1/root${file}`, `/proc/${pid}/root${file}`].map(read),
    ...[`/proc/${pid}/environ`, `/proc/${pid}/fd/0`, `/proc/${pid}/mem`].map(read),
    ...["/etc/shadow", "/dev/mem", "/dev/kmsg", "/proc/kcore", "/sys/kernel"].map(read),
    ...["/", "/usr", "/etc", "/etc/passwd", "/dev", "/proc/sys/kernel/core_pattern"].map(write),
    // Among the processes of its own it has one of the first numbers.
    to("the machine's process ids", "getpid", [], (answer) => answer < 20),
    to("a process of the agent", "kill", [pid, SIGKILL]),
    to("the rights of root", "setuid", [0]),
    ...Object.entries(REFUSED).flatMap(([name, { numbers, args }]): Attack[] => {
      const number = numbers[architecture];
      return number === null
        ? []
        : [{ on: `the system call ${name}`, call: { number, args }, holds: isRefused }];
    }),
  ];
}

function unixAddress(path: string): Buffer {
  // An abstract name ends with the length that is said, a path with a zero.
  const name = path.startsWith("\0") ? Buffer.from(path) : text(path);
  return Buffer.concat([Buffer.from([AF_UNIX, 0]), name]);
}

function internetAddress(port: number): Buffer {
  return Buffer.from([AF_INET, 0, port >> 8, port & 0xff, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
}
