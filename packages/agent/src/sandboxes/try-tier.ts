import { randomUUID } from "node:crypto";
import { chmod, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { Isolation } from "@keelson/contract";
import type { Surroundings } from "../supervisor/calls.ts";
import { launchExec } from "../supervisor/launch.ts";
import { buildAttackProgram, readAnswers } from "./attack-program.ts";
import { openTargets, type AttackTargets } from "./attack-targets.ts";
import { listAttacks, type Attack } from "./attacks.ts";
import { giveToSandbox } from "./give-to-sandbox.ts";
import { prepareSandbox } from "./prepare-sandbox.ts";
import { buildCommand } from "./sandbox-command.ts";
import { DEFAULT_LIMITS, type SandboxMeans } from "./sandbox.ts";
import type { Architecture } from "./system-calls.ts";

const WRITE = ': > "$HOME/written"';
/** Five lines say that a program has no rights, gets none, and is under a filter. */
const CONFINED =
  "[ \"$(grep -cE '^(Cap(Prm|Eff|Amb):.0+|NoNewPrivs:.1|Seccomp:.2)$' /proc/self/status)\" = 5 ]";
/** From /tmp: the data folder may be on a file system from which nothing is run. */
const ATTACK = 'cp "$HOME/attack" /tmp/attack && exec /tmp/attack';

/**
 * Starts a program in a tier, as every process of a workspace is. It must be able to write in its workspace; in the namespace
 * tier it also attacks what the tier keeps from it.
 *
 * @returns why the tier is not to be had; null when it is.
 */
export async function tryTier(
  dataDir: string,
  isolation: Isolation,
  means: SandboxMeans,
): Promise<string | null> {
  const folder = join(dataDir, "probes", randomUUID());
  const root = join(folder, "root");
  await mkdir(root, { recursive: true });
  // As a workspace's own folders are: what is above the data folder decides.
  for (const path of [join(dataDir, "probes"), folder, root]) await chmod(path, 0o711);
  let targets: AttackTargets | null = null;
  try {
    if (isolation === "process") return await runIn(folder, isolation, means, WRITE, () => null);
    targets = await openTargets(folder);
    // Where there is no filter for the architecture, there is none of these either: preparing the sandbox says so.
    const architecture = process.arch as Architecture;
    const attacks = listAttacks(architecture, targets);
    const calls = attacks.map(({ call }) => call);
    const program = join(root, "attack");
    await writeFile(program, buildAttackProgram(architecture, calls));
    await chmod(program, 0o755);
    return await runIn(folder, isolation, means, `${WRITE} && ${CONFINED} && ${ATTACK}`, (output) =>
      judge(attacks, readAnswers(output, calls.length)),
    );
  } catch (error) {
    return (error as Error).message;
  } finally {
    targets?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function judge(attacks: Attack[], answers: number[] | null): string | null {
  if (answers === null) return "the program that attacks the sandbox did not run to its end";
  const reached = attacks.filter(({ holds }, index) => !holds(answers[index] as number));
  if (reached.length === 0) return null;
  const shown = reached.slice(0, SHOWN).map(({ on }) => on);
  const more = reached.length > SHOWN ? `, and ${reached.length - SHOWN} more` : "";
  return `the sandbox does not hold: a program in it reached ${shown.join(", ")}${more}`;
}

const SHOWN = 5;

/** Runs a shell script; gives why it failed, or what the output of one that went well says. */
async function runIn(
  folder: string,
  isolation: Isolation,
  means: SandboxMeans,
  script: string,
  judgeOutput: (output: Buffer) => string | null,
): Promise<string | null> {
  const root = join(folder, "root");
  const materializationId = `probe-${randomUUID()}`;
  const surroundings: Surroundings = {
    ...{ isolation, root, env: {}, resources: { cpu: null, memory: 1024 } },
    network: isolation === "namespace" ? "off" : "on",
  };
  const sandbox = prepareSandbox({ materializationId, folder, surroundings, means, limits: DEFAULT_LIMITS });
  await giveToSandbox({ materializationId, surroundings, means });
  const spec = {
    ...{ id: "probe", kind: "exec" as const, command: ["/bin/sh", "-c", script], cwd: "", env: {} },
    ...{ timeoutMs: null, cols: null, rows: null },
  };
  const launched = await launchExec(buildCommand(sandbox, spec, { held: root, absolute: root, inside: "" }));
  launched.gate?.open();
  const [output, words] = await Promise.all(launched.outputs.map(({ readable }) => buffer(readable)));
  const { exitCode } = await launched.exited;
  const written = await stat(join(root, "written")).catch(() => null);
  if (exitCode === 0 && written !== null) return judgeOutput(output as Buffer);
  return (words as Buffer).toString().trim().slice(-500) || `the probe ended with ${exitCode}`;
}
