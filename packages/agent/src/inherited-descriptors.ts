import { closeSync, readdirSync, readFileSync } from "node:fs";

/** In the octal flags of `fdinfo`: ends with the program that has it. */
const CLOSE_ON_EXEC = 0o2000000n;
const FIRST_AFTER_STANDARD_STREAMS = 3;

/**
 * Closes the descriptors that this process inherited and would hand on to every process that it starts. To be called at
 * the start of a program. Node marks all of its own to be closed, and those of the inherited ones that come without a gap;
 * what is not marked is a leftover of whoever started the program.
 *
 * @returns those that were closed; where there is no /proc, none.
 */
export function closeInheritedDescriptors(): number[] {
  const inherited = listDescriptors().filter((fd) => fd >= FIRST_AFTER_STANDARD_STREAMS && isHandedOn(fd));
  for (const fd of inherited) closeSync(fd);
  return inherited;
}

function listDescriptors(): number[] {
  try {
    return readdirSync("/proc/self/fd").map(Number);
  } catch {
    return [];
  }
}

function isHandedOn(fd: number): boolean {
  try {
    const [, flags] = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1")) ?? [];
    return flags !== undefined && (BigInt(`0o${flags}`) & CLOSE_ON_EXEC) === 0n;
  } catch {
    // The one by which they were listed, which is closed again.
    return false;
  }
}
