/**
 * Stacks that name the author's files, by the source maps that files link. Node's `--enable-source-maps` reads the map of
 * each file as it loads the file, and keeps it: a quarter of what the start of a host with a few packages takes, and
 * megabytes of each process, for stacks that few runs write. A map is read here when the first stack needs it.
 */
import { SourceMap, type SourceMapPayload, type SourceMapping } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { readFileSync } from "./node-fs.ts";

const LINK = "//# sourceMappingURL=";

/** Of a file, null where none can be read. */
type MapOf = (file: string) => SourceMap | null;

/** With what V8 says of the function that a frame is in, and the types leave out. */
type Frame = NodeJS.CallSite & {
  getEnclosingLineNumber(): number | null;
  getEnclosingColumnNumber(): number | null;
  toString(): string;
};

/** A place in the author's files, and the name that the author gave what stands there. */
type Origin = Partial<SourceMapping> & { name?: string };

/** From now on. Code that formats stacks by a function of its own goes on to do so. */
export function mapStacks(): void {
  const maps = new Map<string, SourceMap | null>();
  const mapOf: MapOf = (file) => {
    const known = maps.get(file);
    if (known !== undefined) return known;
    // Before it is read, so that an error of the reading does not ask for it again.
    maps.set(file, null);
    const map = readMap(file);
    maps.set(file, map);
    return map;
  };
  Error.prepareStackTrace = (error, frames) =>
    frames.reduce(
      (stack, frame, at) => `${stack}\n    at ${describeFrame(frame as Frame, frames[at + 1], mapOf)}`,
      describe(error),
    );
  // Programs that a run forks begin with the flags of its process.
  process.execArgv.push("--enable-source-maps");
}

/** The first line, of anything whose stack is asked for. Errors of Node's own have their code in it. */
function describe(error: NodeJS.ErrnoException): string {
  try {
    const { code } = error;
    const isOfNode =
      typeof code === "string" && code.startsWith("ERR_") && error.toString !== Error.prototype.toString;
    return isOfNode ? `${error.name} [${code}]: ${error.message}` : Error.prototype.toString.call(error);
  } catch {
    return "<error>";
  }
}

/** What stands in a stack is the code's own: whatever it is, it has a stack. */
function describeFrame(frame: Frame, caller: NodeJS.CallSite | undefined, mapOf: MapOf): string {
  try {
    return mapFrame(frame, caller, mapOf) ?? frame.toString();
  } catch {
    return frame.toString();
  }
}

/** As Node describes a frame of a mapped file, so that failures of before and after an upgrade are alike. */
function mapFrame(frame: Frame, caller: NodeJS.CallSite | undefined, mapOf: MapOf): string | null {
  const file = frame.getFileName();
  const map = file && /^(file:|\/)/.test(file) ? mapOf(file) : null;
  const from = originOf(map, frame.getLineNumber(), frame.getColumnNumber());
  if (from.originalSource === undefined) return null;
  const { originalSource, originalLine = 0, originalColumn = 0 } = from;
  // A bundler gives functions of the same name different ones; the map has the author's.
  const enclosing = originOf(map, frame.getEnclosingLineNumber(), frame.getEnclosingColumnNumber());
  const called =
    caller?.getFileName() === file ? originOf(map, caller.getLineNumber(), caller.getColumnNumber()) : {};
  const ofCode = frame.getFunctionName() ?? frame.getMethodName();
  const name = [enclosing.name, called.name, ofCode].find(Boolean) ?? "<anonymous>";
  const type = frame.getTypeName();
  const prefix = frame.isAsync() ? "async " : frame.isConstructor() ? "new " : "";
  const owner = type === null || type === "global" ? "" : `${type}.`;
  return `${prefix}${owner}${name} (${originalSource}:${originalLine + 1}:${originalColumn + 1})`;
}

const originOf = (map: SourceMap | null, line: number | null, column: number | null): Origin =>
  map === null || line === null || column === null ? {} : map.findEntry(line - 1, column - 1);

/** A map that is missing or wrong leaves stacks as they are: it is no reason to fail, and nobody could be told. */
function readMap(file: string): SourceMap | null {
  try {
    const from = file.startsWith("file:") ? file : pathToFileURL(file).href;
    const code = readFileSync(fileURLToPath(from), "utf8");
    const at = code.lastIndexOf(LINK);
    if (at < 0) return null;
    const link = code.slice(at + LINK.length).split(/\s/, 1)[0] as string;
    const { payload, base } = readPayload(link, from);
    const sources = payload.sources.map((source) =>
      pathOf(new URL((payload.sourceRoot ?? "") + source, base)),
    );
    return new SourceMap({ ...payload, sourceRoot: "", sources });
  } catch {
    return null;
  }
}

type Payload = Omit<SourceMapPayload, "sourceRoot"> & { sourceRoot?: string };

/** The map that a file links, and what its sources are relative to. */
function readPayload(link: string, from: string): { payload: Payload; base: string } {
  const [, inline] = /^data:application\/json[^,]*;base64,(.*)$/.exec(link) ?? [];
  const url = new URL(link, from);
  const text =
    inline === undefined
      ? readFileSync(fileURLToPath(url), "utf8")
      : Buffer.from(inline, "base64").toString("utf8");
  return { payload: JSON.parse(text) as Payload, base: inline === undefined ? url.href : from };
}

const pathOf = (url: URL): string => (url.protocol === "file:" ? fileURLToPath(url) : url.href);
