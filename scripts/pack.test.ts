// What `npm run pack` makes, as its users get it: installed from the tarballs in a folder outside of the repository.

import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { createContext, runInContext } from "node:vm";
import { planProject, writeProject } from "@keelson/create-keelson";
import { build } from "esbuild";
import { startApiServer } from "../packages/server/test/support/api-server.ts";
import { fewOf, isLong, newSeed } from "../packages/server/test/support/seeded-random.ts";
import { makeTestFolder } from "../packages/server/test/support/test-folder.ts";
import { startProgram, type Started } from "./deploy/built-command.ts";
import {
  COMPILERS,
  install,
  outsideEnvironment,
  run,
  writeFiles,
  type Outcome,
} from "./pack/outside-project.ts";
import { root } from "./pack/staging.ts";

const SDK = "keelson-sdk-";

let folder: string;
let tarballs: string[];
before(async () => {
  folder = await makeTestFolder();
  const script = path.join(root, "scripts/pack.ts");
  const options = isLong() ? [] : ["--no-check"];
  const packed = run(process.execPath, [...process.execArgv.filter(isCondition), script, ...options], root);
  assert.equal(packed.code, 0, packed.stderr);
  tarballs = packed.stdout.trimEnd().split("\n");
});
after(() => rm(folder, { recursive: true, force: true }));

const isCondition = (flag: string): boolean => flag.startsWith("--conditions");

function tarball(prefix: string): string {
  const found = tarballs.find((file) => path.basename(file).startsWith(prefix));
  assert.ok(found !== undefined, `${prefix}… is not among ${tarballs.join(", ")}`);
  return found;
}

describe("every tarball", () => {
  /** The files of each, by the tarball's path. */
  const files = new Map<string, { at: string; names: string[] }>();
  before(async () => {
    for (const file of tarballs) {
      const at = path.join(folder, "unpacked", path.basename(file));
      await mkdir(at, { recursive: true });
      assert.equal(run("tar", ["-xzf", file, "-C", at, "--strip-components=1"], folder).code, 0);
      files.set(file, { at, names: await readdir(at, { recursive: true }) });
    }
  });

  test("is printed as one path, and has a licence, a read-me and no trace of how it was built", async () => {
    assert.equal(tarballs.length, 3);
    for (const [file, { at, names }] of files) {
      assert.ok(path.isAbsolute(file), file);
      for (const wanted of ["package.json", "LICENSE", "README.md"])
        assert.ok(names.includes(wanted), `${file} has no ${wanted}`);
      assert.deepEqual(
        names.filter((name) => /\.tsbuildinfo$|\.test\.|(^|\/)(src|test)\//.test(name)),
        [],
      );
      for (const name of names.filter((one) => path.basename(one) === "package.json"))
        assert.doesNotMatch(await readFile(path.join(at, name), "utf8"), /@keelson\/source|devDependencies/);
    }
  });

  test("has maps with the text of their sources", async (t) => {
    let count = 0;
    for (const { at, names } of files.values())
      for (const name of names.filter((one) => one.endsWith(".js.map"))) {
        const map = JSON.parse(await readFile(path.join(at, name), "utf8")) as {
          sources: string[];
          sourcesContent?: (string | null)[];
        };
        assert.equal(map.sourcesContent?.length, map.sources.length, name);
        assert.ok(!map.sourcesContent?.includes(null), name);
        const places = map.sources.map((source) => path.join(path.dirname(name), source));
        assert.deepEqual(
          places.filter((place) => place.startsWith("..")),
          [],
          `${name} names sources outside of its package`,
        );
        count += 1;
      }
    assert.ok(count > 100, String(count));
    t.diagnostic(`${count} maps`);
  });

  test("passes publint and arethetypeswrong", () => {
    const tool = (name: string): string => path.join(root, "node_modules", name);
    for (const file of tarballs) {
      const linted = run(process.execPath, [tool("publint/src/cli.js"), "run", file, "--strict"], folder);
      assert.equal(linted.code, 0, linted.stdout + linted.stderr);
    }
    const attw = [tool("@arethetypeswrong/cli/dist/index.js"), "--profile", "esm-only", tarball(SDK)];
    const typed = run(process.execPath, attw, folder);
    assert.equal(typed.code, 0, typed.stdout + typed.stderr);
  });
});

const CALLER = `import { Client, step, task, wait, KeelsonError, type Run, type Token } from "@keelson/sdk";
import { completeToken, createSessionClient } from "@keelson/sdk/browser";
import { createSessionFilesClient, type SessionFile } from "@keelson/sdk/browser/files";
import { Client as SameClient, type RunsApi } from "@keelson/sdk/client";

export const hello = task({
  id: "hello",
  async run({ name }: { name: string }) {
    const greeting = await step("greet", () => "Hello, " + name);
    await wait.for("1s");
    return { greeting };
  },
});
const client: SameClient = new Client({ url: "http://127.0.0.1:1", apiKey: "key" });
export const status = async (): Promise<Run["status"]> => (await client.runs.get("run_x")).status;
export const started = () => client.tasks.start(hello, { name: "Ada" });
// @ts-expect-error A payload of another type.
export const refused = () => client.tasks.start(hello, { name: 1 });
// @ts-expect-error No status of a run.
export const unknown: Run["status"] = "nowhere";
export const runs: RunsApi = client.runs;
export type TokenStatus = Token["status"];
export type FileName = SessionFile["name"];
export const all = [KeelsonError, completeToken, createSessionClient, createSessionFilesClient];
`;

const compilerOptions = (module: string, moduleResolution: string, skipLibCheck = true): string =>
  JSON.stringify({
    compilerOptions: {
      ...{ module, moduleResolution, target: "es2022", lib: ["es2022", "dom"], types: [] },
      ...{ strict: true, noEmit: true, skipLibCheck },
    },
    files: ["caller.ts"],
  });

/** What projects of these kinds have as their compiler's settings. */
const EXISTING: Record<string, { type?: "module"; compiler: Record<string, unknown> }> = {
  next: {
    compiler: {
      module: "esnext",
      moduleResolution: "bundler",
      isolatedModules: true,
      jsx: "preserve",
      allowJs: true,
    },
  },
  hono: { type: "module", compiler: { module: "nodenext", verbatimModuleSyntax: true, outDir: "dist" } },
  express: { compiler: { module: "node16", rootDir: "src", outDir: "dist", esModuleInterop: true } },
};

describe("the SDK's tarball", () => {
  /** Where it is installed. The projects are folders of it, and find it as packages of a workspace do. */
  let outer: string;
  /** Why it could not be installed. */
  let reason: string | null;
  before(async () => {
    outer = path.join(folder, "sdk");
    await mkdir(outer);
    await writeFiles(outer, {});
    reason = await install(outer, [tarball(SDK)]);
  });
  /** A new project; skips the test with the reason when there is no registry. */
  async function makeProject(
    t: TestContext,
    name: string,
    files: Record<string, string>,
  ): Promise<string | null> {
    if (reason !== null) {
      t.skip(`nothing is installed: ${reason}`);
      return null;
    }
    const project = path.join(outer, name);
    await mkdir(project);
    await writeFiles(project, files);
    return project;
  }

  test("has types for node16, nodenext and bundlers, by an old and a new compiler, without Node's", async (t) => {
    const project = await makeProject(t, "types", {
      "package.json": '{"private": true, "type": "module"}',
      "caller.ts": CALLER,
      "node16.json": compilerOptions("node16", "node16"),
      "nodenext.json": compilerOptions("nodenext", "nodenext"),
      "bundler.json": compilerOptions("esnext", "bundler"),
      "libraries.json": compilerOptions("nodenext", "nodenext", false),
    });
    if (project === null) return;
    const accepts = (tsc: string, name: string): void => {
      const { code, stdout } = run(process.execPath, [tsc, "-p", `${name}.json`], project);
      assert.equal(code, 0, `${tsc} ${name}: ${stdout}`);
    };
    // The declarations themselves by the new one alone: those of typebox cost the old one 20 s.
    for (const name of ["node16", "nodenext", "bundler", "libraries"]) accepts(COMPILERS.new, name);
    for (const name of fewOf(["node16", "bundler"], 2, newSeed())) accepts(COMPILERS.old, name);
  });

  test("leaves existing projects that get a first task with code that compiles", async (t) => {
    const existing = await makeProject(t, "existing", {});
    if (existing === null) return;
    for (const [name, { type, compiler }] of Object.entries(EXISTING)) {
      const project = path.join(existing, name);
      await mkdir(path.join(project, "src"), { recursive: true });
      await writeFiles(project, {
        "package.json": JSON.stringify({ name, ...(type && { type }) }),
        "tsconfig.json": JSON.stringify({
          compilerOptions: { ...compiler, target: "es2022", strict: true, skipLibCheck: true, types: [] },
          exclude: ["node_modules"],
        }),
        "src/own.ts": "export const own = 1;",
        "src/console.d.ts": "declare const console: { log(text: string): void };",
      });
      writeProject(planProject(project));
      // The old one takes two seconds for each.
      for (const tsc of isLong() ? [COMPILERS.new, COMPILERS.old] : [COMPILERS.new]) {
        const { code, stdout } = run(process.execPath, [tsc, "-p", ".", "--noEmit"], project);
        assert.equal(code, 0, `${name} by ${tsc}: ${stdout}`);
      }
    }
  });

  test("loads on the Node of the machine and on Keelson's own, and its entries are one package", async (t) => {
    const project = await makeProject(t, "loads", {
      "main.mjs": `import * as sdk from "@keelson/sdk";
        import * as client from "@keelson/sdk/client";
        import * as browser from "@keelson/sdk/browser";
        import { keelson } from "@keelson/sdk/runtime";
        sdk.task({ id: "hello", run: () => 1 });
        const [{ id }] = keelson.manifest().tasks;
        const same = sdk.Client === client.Client && sdk.KeelsonError === browser.KeelsonError;
        console.log(JSON.stringify({ id, same }));`,
    });
    if (project === null) return;
    for (const node of ["node", process.execPath]) {
      const { code, stdout, stderr } = run(node, ["main.mjs"], project);
      assert.equal(code, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), { id: "hello", same: true });
    }
    const file = await readFile(path.join(outer, "node_modules/@keelson/sdk/package.json"), "utf8");
    assert.deepEqual(Object.keys((JSON.parse(file) as { dependencies: object }).dependencies), [
      "@standard-schema/spec",
      "typebox",
    ]);
  });

  test("calls a server from where there is nothing of Node", async (t) => {
    const project = await makeProject(t, "elsewhere", { "main.js": ELSEWHERE });
    if (project === null) return;
    const { outputFiles } = await build({
      entryPoints: [path.join(project, "main.js")],
      bundle: true,
      format: "iife",
      platform: "browser",
      write: false,
    });
    const server = await startApiServer();
    try {
      const context = createContext({ ...WEB });
      runInContext(outputFiles[0]?.text ?? "", context);
      const call = context["tryClient"] as (url: string, key: string) => Promise<string>;
      assert.deepEqual(JSON.parse(await call(server.url, server.credentials.api_key)), {
        missing: "not_found",
        secret: "active",
        names: ["FROM_THE_EDGE"],
        refused: "unauthenticated",
        node: "undefined,undefined,undefined",
      });
    } finally {
      await server.stop();
    }
  });
});

/** What a runtime at the edge has of the web's platform, and nothing of Node: no `process`, no `Buffer`, no `require`. */
const WEB = {
  ...{ fetch, Headers, Request, Response, URL, URLSearchParams, FormData, Blob },
  ...{ AbortController, AbortSignal, DOMException, Event, EventTarget },
  ...{ TextEncoder, TextDecoder, TextDecoderStream, ReadableStream, TransformStream, WritableStream },
  ...{ atob, btoa, crypto, structuredClone, performance, queueMicrotask },
  ...{ setTimeout, clearTimeout, setInterval, clearInterval, WebSocket },
};

const ELSEWHERE = `import { Client, NotFoundError } from "@keelson/sdk/client";
import { createSessionClient, KeelsonError } from "@keelson/sdk/browser";
globalThis.tryClient = async (url, apiKey) => {
  const client = new Client({ url, apiKey });
  const missing = await client.runs.get("run_01kaaaaaaaaaaaaaaaaaaaaaaa").catch((error) => error);
  const secret = await client.secrets.set("FROM_THE_EDGE", "a value");
  const names = [];
  for await (const { name } of client.secrets.list()) names.push(name);
  const session = createSessionClient({ url, session: { externalId: "nobody" }, token: "kl_pub_none" });
  const refused = await session.send("input", 1).catch((error) => error);
  return JSON.stringify({
    missing: missing instanceof NotFoundError && missing.code,
    secret: secret.status,
    names,
    refused: refused instanceof KeelsonError && refused.code,
    node: [typeof process, typeof Buffer, typeof globalThis.require].join(),
  });
};`;

const FAILS = `import { task } from "@keelson/sdk";
export const fails = task({
  id: "fails",
  retry: { maxAttempts: 1 },
  run: () => {
    throw new Error("no paper");
  },
});
`;
const ADDED = `import { task } from "@keelson/sdk";
export const added = task({ id: "added", run: () => 1 });
`;

/** By the credentials that are kept in the project's folder. */
async function listProjects(url: string, folder: string): Promise<string[]> {
  const text = await readFile(path.join(folder, ".keelson/credentials.json"), "utf8");
  const { user_token } = JSON.parse(text) as { user_token: string };
  const answer = await fetch(`${url}/api/projects`, { headers: { authorization: `Bearer ${user_token}` } });
  const { projects } = (await answer.json()) as { projects: { slug: string }[] };
  return projects.map(({ slug }) => slug);
}

describe("a project of one's own, from the three tarballs", () => {
  const running: Started[] = [];
  after(() => Promise.all(running.map((one) => one.stop())));

  test("is made, started, deployed from a subfolder, and has runs that succeed and fail", async (t) => {
    const app = path.join(folder, "app");
    const env = { ...outsideEnvironment(), HOME: path.join(folder, "home"), PORT: "0" };
    const timed = <T>(what: string, work: () => T): T => {
      const begun = performance.now();
      const done = work();
      t.diagnostic(`${what}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
      return done;
    };
    const succeeds = (what: string, command: string, args: string[], cwd = app): Outcome => {
      const outcome = timed(what, () => run(command, args, cwd, env));
      assert.equal(outcome.code, 0, `${what}: ${outcome.stdout}${outcome.stderr}`);
      return outcome;
    };
    await mkdir(env.HOME);
    const create = [
      "--package",
      tarball("create-keelson-"),
      "--",
      "create-keelson",
      "app",
      "--yes",
      "--no-install",
    ];
    // npm exec asks the registry for nothing here, but it looks whether there is one.
    const created = timed("npm create keelson", () => run("npm", ["exec", "--yes", ...create], folder, env));
    assert.equal(created.code, 0, created.stderr);
    const begunAt = performance.now();
    const reason = await install(app, [tarball(SDK), tarball("keelson-0")]);
    t.diagnostic(`npm install: ${((performance.now() - begunAt) / 1000).toFixed(1)} s`);
    if (reason !== null) return t.skip(`nothing is installed: ${reason}`);
    succeeds("tsc --noEmit", "npm", ["run", "typecheck"]);
    succeeds("npm test", "npm", ["test"]);
    await writeFile(path.join(app, "src/tasks/fails.ts"), FAILS);

    // On the machine's own Node, whichever that is: it starts the one that was installed, if it is too old itself.
    const launcher = path.join(app, "node_modules/keelson/packages/cli/bin/keelson.mjs");
    t.diagnostic(`the machine's Node: ${run("node", ["--version"], app, env).stdout.trim()}`);
    const begun = performance.now();
    const up = startProgram("node", [launcher, "up"], { cwd: path.join(app, "src"), env });
    running.push(up);
    const [, url = ""] = await up.says(/Keelson is running at (http:\S+)\n/);
    t.diagnostic(`keelson up: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    await up.says(/No tasks are deployed yet\. In a second terminal:\n {2}npx keelson dev /);
    for (const page of ["/", "/readyz", "/docs"]) assert.equal((await fetch(url + page)).status, 200, page);
    assert.deepEqual(await listProjects(url, app), ["app"], "the first project is not the configuration's");

    // On Keelson's own Node the launcher goes on in its process.
    const dev = startProgram(process.execPath, [launcher, "dev"], { cwd: app, env });
    running.push(dev);
    await dev.says(/\.1 is current \(.*\) in /);
    await writeFile(path.join(app, "src/tasks/added.ts"), ADDED);
    await dev.says(/\.2 is current \(.*added.*\) in /);
    assert.equal(await dev.stop(), 0);

    await rm(path.join(app, "src/tasks/added.ts"));
    const deployed = succeeds("keelson deploy", "npx", ["keelson", "deploy"], path.join(app, "src/tasks"));
    assert.match(deployed.stdout, /\.3 is current/);
    const hello = ["keelson", "task", "start", "hello", "--payload", '{"name": "Ada"}', "--follow"];
    const ended = succeeds("the first run", "npx", hello);
    assert.match(ended.stdout, /Hello, Ada!/);
    const failed = run("npx", ["keelson", "task", "start", "fails", "--payload", "{}", "--follow"], app, env);
    assert.equal(failed.code, 7, failed.stderr);
    assert.match(failed.stderr, /failed \(fails, attempt 1 of 1\): no paper/);
    assert.equal(await up.stop(), 0);
  });
});
