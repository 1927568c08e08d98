import assert from "node:assert/strict";
import type { Collected, TestSupervisor } from "./start-test-supervisor.ts";

/** Forks as often as it may, says how often that was, and waits. */
export const BOMB = String.raw`$| = 1; my $n = 0;
  while ($n < 1000) { my $pid = fork; last unless defined $pid; if (!$pid) { sleep 1000; exit } $n++ }
  print "forked $n\n"; sleep 1000;`;

export const BOMB_WITHOUT_END = String.raw`$| = 1;
  for (;;) { my $pid = fork; last unless defined $pid; if (!$pid) { sleep 1000; exit } }
  print "full\n"; sleep 1000;`;

export const FILL_MEMFD = String.raw`$| = 1;
  my $fd = syscall(${process.arch === "arm64" ? 279 : 319}, my $name = "x", 0); die "no memfd: $!" if $fd < 0;
  open my $file, ">&=", $fd or die; my $piece = "x" x 1048576;
  for (1 .. $ARGV[0]) { syswrite $file, $piece or die "refused: $!" } print "filled\n"; sleep 1000;`;

export const FILL_FILE = String.raw`$| = 1; open my $file, ">", $ARGV[0] or die; my $piece = "x" x 1048576;
  for (1 .. $ARGV[1]) { syswrite $file, $piece or die "refused: $!" } print "filled\n"; sleep 1000;`;

export const FILL_OWN = String.raw`$| = 1; my $bytes = "x" x ($ARGV[0] * 1048576); print "filled\n"; sleep 1000;`;

export const FILL_DISK = String.raw`$| = 1; my $piece = "x" x 1048576;
  for my $n (1 .. $ARGV[0]) { open my $file, ">", "part-$n" or die "refused: $!"; for (1 .. 4) { syswrite $file, $piece or die "refused: $!" } }
  print "filled\n"; sleep 1000;`;

export const FILL_UNNAMED = String.raw`$| = 1; open my $file, ">", "unnamed" or die; unlink "unnamed"; my $piece = "x" x 1048576;
  for (1 .. $ARGV[0]) { syswrite $file, $piece or die "refused: $!"; select undef, undef, undef, 0.01 } print "filled\n"; sleep 1000;`;

export type Filled = { id: string; ended: Collected | null };

/** Runs until it has filled what it fills and waits, or was ended. */
export async function fill(
  { begin, readUntil, collect }: TestSupervisor,
  script: string,
  ...args: (string | number)[]
): Promise<Filled> {
  const id = await begin(["perl", "-e", script, ...args.map(String)], { timeoutMs: 40_000 });
  try {
    await readUntil(id, "filled");
    return { id, ended: null };
  } catch {
    return { id, ended: await collect(id) };
  }
}

export const hasPerl = async ({ run }: TestSupervisor): Promise<boolean> =>
  (await run(["perl", "-e", "print 1"])).stdout.toString() === "1";

export const firstEnd = ({ collect }: TestSupervisor, all: readonly Filled[]): Promise<Collected> =>
  Promise.race(all.map(({ id }) => collect(id)));

export function assertEnded({ outcome, signal, error }: Collected, reason: RegExp): void {
  assert.deepEqual({ outcome, signal }, { outcome: "exited", signal: "SIGKILL" });
  assert.match(error ?? "", reason);
}
