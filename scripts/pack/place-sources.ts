import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root } from "./staging.ts";

/** Sources are named as if they were in the tarball, so that a stack says whose they are. Maps contain their text. */
export function placeSources(dist: string): void {
  for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".js.map")) continue;
    const file = path.join(dist, name);
    const map = JSON.parse(readFileSync(file, "utf8")) as { sources: string[] };
    const place = (source: string): string => {
      const below = path.relative(root, path.resolve(path.dirname(file), source)).split(path.sep);
      const [kind, part = "", ...rest] = below;
      const to = kind === "packages" ? [part, ...rest.slice(1)] : below;
      return path.posix.relative(path.posix.dirname(`dist/${name}`), ["src", ...to].join("/"));
    };
    writeFileSync(file, JSON.stringify({ ...map, sources: map.sources.map(place) }));
  }
}
