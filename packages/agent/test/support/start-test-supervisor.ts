import { randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Isolation } from "@keelson/contract";
import { findMarked } from "../../src/sandboxes/find-processes.ts";
import { PARKED_ID } from "../../src/supervisor/parked-launcher.ts";
import { probeIsolation, type IsolationProbe } from "../../src/sandboxes/probe-isolation.ts";
import type { OutputOffsets } from "../../src/supervisor/calls.ts";
import {
  startSupervisor,
  type ProcessExit,
  type ProcessSpec,
  type StartSupervisorOptions,
  type Supervisor,
  type Surroundings,
} from "../../src/supervisor/supervisor.ts";
import { cleanUp } from "./clean-up.ts";
import { removeTestFolder } from "../../../server/test/support/test-folder.ts";

export type Collected = ProcessExit & { stdout: Buffer; stderr: Buffer; output: Buffer };

export type TestSupervisor = {
  supervisor: Supervisor;
  materializationId: string;
  dataDir: string;
  /** Of the workspace, outside. */
  root: string;
  /** Starts a process and gives its id. */
  begin(command: string[] | null, spec?: Partial<ProcessSpec>): Promise<string>;
  /** Reads everything until the exit, and forgets the process. */
  collect(id: string): Promise<Collected>;
  /** Reads until the output has the text; gives what there was, and can be gone on from. */
  readUntil(id: string, text: string): Promise<string>;
  /** All of it: begins, sends the input when there is some, collects. */
  run(command: string[], spec?: Partial<ProcessSpec> & { input?: string | Buffer }): Promise<Collected>;
  /** The processes of the workspace that are there now. */
  left(): number[];
};

/** What this machine can do; the folder is one that another uid may pass through, as a workspace's is. */
export async function probeHere(): Promise<IsolationProbe> {
  probed ??= (async () => {
    const dataDir = await makeDataDir();
    try {
      return await probeIsolation({ dataDir });
    } finally {
      await removeTestFolder(dataDir);
    }
  })();
  return probed;
}
let probed: Promise<IsolationProbe> | undefined;

/** The tiers to test, each with why it is skipped. */
export async function tiersHere(): Promise<{ isolation: Isolation; skip: string | false }[]> {
  const { isolation, problems } = await probeHere();
  const skip = isolation === "namespace" ? false : `no namespace tier on this machine: ${problems.join(" ")}`;
  return [
    { isolation: "process", skip: false },
    { isolation: "namespace", skip },
  ];
}

async function makeDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-sup-"));
  await chmod(dataDir, 0o711);
  return dataDir;
}

export async function startTestSupervisor(
  t: TestContext,
  isolation: Isolation,
  {
    surroundings = {},
    ...options
  }: Partial<Omit<StartSupervisorOptions, "surroundings">> & { surroundings?: Partial<Surroundings> } = {},
): Promise<TestSupervisor> {
  const dataDir = options.dataDir ?? (await makeDataDir());
  const root = join(dataDir, "files");
  await mkdir(root);
  const materializationId = `mat_${randomUUID()}`;
  const supervisor = await startSupervisor({
    ...{ dataDir, materializationId, ...options },
    surroundings: {
      ...{ isolation, root, env: {}, network: isolation === "namespace" ? "off" : "on" },
      ...{ resources: { cpu: null, memory: null }, ...surroundings },
    },
  });
  cleanUp(t, async () => {
    await supervisor.stop();
    await removeTestFolder(dataDir);
  });
  const { collect, readUntil } = readersOf(supervisor);
  const begin: TestSupervisor["begin"] = async (command, spec = {}) => {
    const id = `exec_${randomUUID()}`;
    const whole = {
      id,
      kind: "exec" as const,
      command,
      cwd: "",
      env: {},
      timeoutMs: null,
      cols: null,
      rows: null,
    };
    await supervisor.start({ ...whole, ...spec });
    return spec.id ?? id;
  };
  return {
    ...{ supervisor, materializationId, dataDir, root, begin, collect, readUntil },
    async run(command, { input, ...spec } = {}) {
      const id = await begin(command, spec);
      if (input !== undefined) await supervisor.writeInput(id, 0, Buffer.from(input), true);
      return collect(id);
    },
    left: () => {
      const parked = new Set(findMarked({ owner: materializationId, processId: PARKED_ID, uid: null }));
      return findMarked({ owner: materializationId, uid: null }).filter((pid) => !parked.has(pid));
    },
  };
}

/** Reads what processes write, and checks that nothing is left out or comes twice. */
function readersOf(supervisor: Supervisor): Pick<TestSupervisor, "collect" | "readUntil"> {
  const reads = new Map<string, { after: OutputOffsets; parts: Record<keyof OutputOffsets, Buffer[]> }>();
  const readOf = (id: string) => {
    const read = reads.get(id) ?? {
      after: { stdout: 0, stderr: 0, output: 0 },
      parts: { stdout: [], stderr: [], output: [] },
    };
    reads.set(id, read);
    return read;
  };
  const readSome = async (id: string): Promise<ProcessExit | null> => {
    const { after, parts } = readOf(id);
    const { chunks, exit } = await supervisor.readOutput(id, after);
    for (const { stream, offset, data } of chunks) {
      if (offset !== after[stream]) throw new Error(`${stream} goes on at ${offset} after ${after[stream]}`);
      after[stream] += data.length;
      parts[stream].push(data);
    }
    return exit;
  };
  const textOf = (id: string): string =>
    Object.values(readOf(id).parts)
      .map((parts) => Buffer.concat(parts).toString())
      .join("");
  return {
    async collect(id) {
      let exit: ProcessExit | null = null;
      while (exit === null) exit = await readSome(id);
      await supervisor.forget(id);
      const { stdout, stderr, output } = readOf(id).parts;
      return {
        ...exit,
        stdout: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr),
        output: Buffer.concat(output),
      };
    },
    async readUntil(id, text) {
      while (!textOf(id).includes(text)) {
        if ((await readSome(id)) !== null && !textOf(id).includes(text))
          throw new Error(`it ended without ${JSON.stringify(text)}: ${JSON.stringify(textOf(id))}`);
      }
      return textOf(id);
    },
  };
}
