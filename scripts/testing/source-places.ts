// Where the code that a stack names was written. Node can say so itself, but reads the map of the whole bundle at the first
// stack that anybody looks at, as the log of each server does when it is made: a tenth of a second in each test file. So only
// the stacks of failures are translated, and by the runner.

import { existsSync, readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import path from "node:path";

/** A place in what `npm test` has bundled. */
const PLACE = /(?:file:\/\/)?(\/[^\s():]*\/test-programs\/[^\s():]+\.js):(\d+):(\d+)/g;

const maps = new Map<string, SourceMap | null>();

function mapOf(file: string): SourceMap | null {
  let map = maps.get(file);
  if (map === undefined) {
    const name = `${file}.map`;
    map = existsSync(name) ? new SourceMap(JSON.parse(readFileSync(name, "utf8")) as SourceMapPayload) : null;
    maps.set(file, map);
  }
  return map;
}

/** A text in which each place of a bundle is the place in its source. */
export function nameSources(text: string): string {
  return text.replaceAll(PLACE, (place: string, file: string, line: string, column: string) => {
    const found = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (found === undefined || !("originalSource" in found)) return place;
    const source = path.resolve(path.dirname(file), found.originalSource);
    return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  });
}
