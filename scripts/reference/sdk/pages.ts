import path from "node:path";
import * as contract from "../../../packages/contract/src/index.ts";
import { code, page, table } from "../markdown.ts";
import { fieldTable, type Schema } from "../schema-fields.ts";
import { exportsOf, type Declaration, type Member } from "./declarations.ts";

const src = path.resolve(import.meta.dirname, "../../../packages/sdk/src");

/** Types that are written out in the signature alone: more than this is told by their members. */
const LONG_SIGNATURE = 200;

const fenced = (text: string): string => `\`\`\`text\n${text}\n\`\`\``;

function requireDoc(doc: string, name: string): string {
  if (doc === "") throw new Error(`${name} is exported from the SDK and has no docstring.`);
  return doc;
}

/** `{@link X}` and JSDoc tags as prose. */
const prose = (doc: string): string =>
  doc
    .replaceAll(/\{@link (\w+)\}/g, "`$1`")
    .replaceAll(/^@param (\w+) (.*)$/gm, "- `$1`: $2")
    .replaceAll(/^@throws (.*)$/gm, "Throws $1")
    .replaceAll(/^@example\n/gm, "");

/** What a client does is shown, too: the test of the pages holds each example to the packages. */
function requireExample(doc: string, name: string): void {
  if (name.startsWith("client.") && !/^@example\n```ts\n/m.test(doc))
    throw new Error(`${name} has no @example in its docstring.`);
}

function fieldsOf(owner: string, members: readonly Member[]): string {
  const fields = members.filter(({ isMethod }) => !isMethod);
  if (fields.length === 0) return "";
  const rows = fields.map(({ name, signature, doc }) => [
    code(signature.replace(/^readonly /, "")),
    prose(requireDoc(doc, `${owner}.${name}`)),
  ]);
  return table([["member", "meaning"], ...rows]);
}

const methodsOf = (owner: string, call: string, members: readonly Member[]): string[] =>
  members
    .filter(({ isMethod }) => isMethod)
    .map(({ name, signature, doc }) => {
      requireExample(doc, `${call}${name}`);
      return `#### ${call}${name}\n\n${fenced(signature)}\n\n${prose(requireDoc(doc, `${owner}.${name}`))}`;
    });

/** `RunsApi` is `client.runs`: its methods are called by that name. */
const callOf = ({ name, members }: Declaration, clients: ReadonlyMap<string, string>): string => {
  const call = clients.get(name);
  if (call !== undefined) return `${call}.`;
  return members.some(({ isMethod }) => isMethod) ? `${name}.` : "";
};

function section(declaration: Declaration, clients: ReadonlyMap<string, string>): string {
  const { name, signature, doc, members } = declaration;
  const isWritten =
    members.length === 0 || (signature.length <= LONG_SIGNATURE && declaration.kind !== "type");
  return [
    `### ${name}`,
    prose(requireDoc(doc, name)),
    ...(isWritten ? [fenced(signature)] : []),
    fieldsOf(name, members),
    ...methodsOf(name, callOf(declaration, clients), members),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** The properties of a class or a type whose types are other exported types: `client.runs` is a `RunsApi`. */
function clientCalls(declarations: readonly Declaration[]): Map<string, string> {
  const calls = new Map<string, string>();
  const client = declarations.find(({ name }) => name === "Client");
  for (const { name, signature } of client?.members ?? []) {
    const type = /: (\w+)$/.exec(signature)?.[1];
    if (type !== undefined) calls.set(type, `client.${name}`);
  }
  calls.set("WorkspaceFilesApi", "client.workspaces.files");
  calls.set("WorkspaceVersionsApi", "client.workspaces.versions");
  calls.set("ExecsApi", "client.workspaces.execs");
  calls.set("PtysApi", "client.workspaces.ptys");
  return calls;
}

const isOwn = ({ from }: Declaration): boolean => from.startsWith("/");
/** The objects of the wire in the SDK's spelling have a page of their own. */
const isResource = ({ from }: Declaration): boolean => from === path.join(src, "client/resources.ts");
const isOf = (folder: string, { from }: Declaration): boolean => from.startsWith(path.join(src, folder));

function sdkPage(all: readonly Declaration[]): string {
  const shown = all.filter((declaration) => isOwn(declaration) && !isOf("client", declaration));
  const of = (...kinds: Declaration["kind"][]): string[] =>
    shown
      .filter(({ kind, name }) => kinds.includes(kind) && !name.endsWith("Error"))
      .map((declaration) => section(declaration, new Map()));
  const errors = shown.filter(({ kind, name }) => kind === "class" && name.endsWith("Error"));
  return page(
    "The SDK: tasks",
    "What `@keelson/sdk` exports for the code of tasks and actors. What calls a server is in [the SDK: client](sdk-client.md), what a web " +
      "page uses in [the SDK: browser](sdk-browser.md). Durations are numbers of milliseconds or texts such as `30s`, `15m` and `2d`.",
    "## Declaring, and calls of a run",
    ...of("function", "value", "class"),
    "## Types",
    ...of("type"),
    "## Errors",
    "What durable calls reject with, and what code throws to say how an attempt goes on. Every error of the SDK extends `KeelsonError`. Errors of a client are in " +
      "[the SDK: client](sdk-client.md#errors).",
    ...errors.map((declaration) => section(declaration, new Map())),
  );
}

function clientPage(all: readonly Declaration[]): string {
  const shown = all.filter((declaration) => isOf("client", declaration) && !isResource(declaration));
  const calls = clientCalls(all);
  const isError = ({ name }: Declaration): boolean => name.endsWith("Error");
  const isApi = ({ name, kind }: Declaration): boolean =>
    !name.endsWith("Error") && (kind !== "type" || name.endsWith("Api") || name.endsWith("Handle"));
  const list = (chosen: (declaration: Declaration) => boolean): string[] =>
    shown.filter(chosen).map((declaration) => section(declaration, calls));
  return page(
    "The SDK: client",
    "What `@keelson/sdk` exports for calling a server. Options and answers are in camelCase. The fields of the answers are in " +
      "[Objects](objects.md). JSON of your own, such as a payload or metadata, is passed on as it is.",
    "## The client and its methods",
    ...list(isApi),
    "## Options and types",
    ...list((declaration) => !isApi(declaration) && !isError(declaration)),
    "## Errors",
    "Every error of the SDK extends `KeelsonError`. A request that fails rejects with an `ApiError` of the class of its status; `code` is one of [these](errors.md).",
    ...list(isError),
  );
}

function browserPage(
  all: readonly Declaration[],
  files: readonly Declaration[],
  known: readonly Declaration[],
): string {
  const isShown = (declaration: Declaration): boolean => isOwn(declaration) && !isResource(declaration);
  const shown = all.filter(isShown);
  const isElsewhere = ({ name, from }: Declaration): boolean =>
    known.some((other) => other.name === name && other.from === from);
  const elsewhere = shown.filter(isElsewhere).map((declaration) => {
    const { name } = declaration;
    return `[\`${name}\`](${isOf("client", declaration) ? "sdk-client" : "sdk"}.md#${name.toLowerCase()})`;
  });
  return page(
    "The SDK: browser",
    "What `@keelson/sdk/browser` exports: all that a web page needs, with public access tokens alone. What pages with files need besides is in " +
      "[an entry of its own](#keelsonsdkbrowserfiles-files-of-a-session).",
    ...shown
      .filter((declaration) => !isElsewhere(declaration))
      .map((declaration) => section(declaration, new Map())),
    "## `@keelson/sdk/browser/files`: files of a session",
    ...files
      .filter((declaration) => isShown(declaration) && !isElsewhere(declaration))
      .map((declaration) => section(declaration, new Map())),
    "## As in the client",
    `${elsewhere.join(", ")}.`,
  );
}

const AI_ENTRIES = [
  { file: "ai/chat.ts", heading: "## `@keelson/sdk/ai`: the actor" },
  { file: "ai/client.ts", heading: "## `@keelson/sdk/ai/client`: the page" },
  { file: "ai/react.ts", heading: "## `@keelson/sdk/ai/react`: the hook" },
  { file: "ai/server.ts", heading: "## `@keelson/sdk/ai/server`: the backend" },
];

function aiPage(): string {
  const shown = new Set<string>();
  const sections = AI_ENTRIES.flatMap(({ file, heading }) => {
    const own = exportsOf(path.join(src, file)).filter(({ name }) => !shown.has(name));
    for (const { name } of own) shown.add(name);
    return [heading, ...own.map((declaration) => section(declaration, new Map()))];
  });
  return page(
    "The SDK: chats with the AI SDK",
    "Four entries for [a chat with the AI SDK](../guides/chat-with-the-ai-sdk.md). They need the package `ai`, version 7, and the hook `@ai-sdk/react`, version 4.",
    ...sections,
  );
}

function reactPage(): string {
  const of = (file: string): string[] =>
    exportsOf(path.join(src, file)).map((declaration) => section(declaration, new Map()));
  return page(
    "The SDK: React",
    "Two entries for [live pages](../guides/react.md): hooks, which need `react`, version 18 or later, and what the backend of such a page does.",
    "## `@keelson/sdk/react`: the hooks",
    ...of("react.ts"),
    "## `@keelson/sdk/server`: the backend",
    ...of("server.ts"),
  );
}
const testingPage = (): string =>
  page(
    "The SDK: tests",
    "What `@keelson/sdk/testing` exports for [tests in process](../guides/testing.md).",
    ...exportsOf(path.join(src, "testing.ts"))
      .filter(isOwn)
      .map((declaration) => section(declaration, new Map())),
  );

/** What the SDK passes on of the wire, with each field of it. */
function objectsPage(all: readonly Declaration[]): string {
  const schemas = contract as unknown as Record<string, Schema | undefined>;
  const names = new Set<string>();
  for (const declaration of all)
    if (declaration.from === "@keelson/contract" || isResource(declaration))
      names.add(declaration.name.replace(/Resource$/, ""));
  const sections = [...names].toSorted().map((name) => {
    const schema = schemas[name];
    if (schema?.properties === undefined) throw new Error(`${name} is no object of the contract.`);
    return `## ${name}\n\n${fieldTable(schema)}`;
  });
  return page(
    "Objects",
    "The objects of the API, with its names of their fields. The SDK gives the same objects with camelCase names: `created_at` is " +
      "`createdAt`. Only the payload of a scheduled run, `ScheduledPayload`, has the API's names everywhere, as it is JSON of a run. Examples of each are in the [OpenAPI documents](../../openapi/) and on " +
      "`/docs` of a server. Later versions may add fields.",
    ...sections,
  );
}

/** The reference of the SDK, by its file. Fails where something exported has no docstring. */
export function sdkPages(): [file: string, text: string][] {
  const main = exportsOf(path.join(src, "index.ts"));
  const browser = exportsOf(path.join(src, "browser.ts"));
  return [
    ["docs/reference/sdk.md", sdkPage(main)],
    ["docs/reference/sdk-client.md", clientPage(main)],
    [
      "docs/reference/sdk-browser.md",
      browserPage(browser, exportsOf(path.join(src, "browser-files.ts")), main),
    ],
    ["docs/reference/sdk-ai.md", aiPage()],
    ["docs/reference/sdk-react.md", reactPage()],
    ["docs/reference/objects.md", objectsPage([...main, ...browser])],
    ["docs/reference/sdk-testing.md", testingPage()],
  ];
}
