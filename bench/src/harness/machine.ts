import { cpus, totalmem } from "node:os";

/** What a figure cannot be read without. */
export function describeMachine(postgresSettings: Record<string, string>) {
  return {
    processor: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    postgres: postgresSettings,
  };
}
