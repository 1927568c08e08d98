import { ANY_ORIGIN } from "./cors.ts";
import type { Route } from "./route.ts";

/** A path that has routes, for whoever asked it by a method that it does not take. */
export type KnownPath = {
  /** The value of `Allow` (RFC 9110, section 10.2.1). */
  allow: string;
};

type Pattern = KnownPath & { segments: readonly string[] };

/** The methods of each path of the registry; `HEAD` comes with `GET`. */
export function methodsByPath(
  routes: readonly Route[],
): Map<string, { allow: string; isAnyOrigin: boolean }> {
  const byPath = new Map<string, { methods: Set<string>; isAnyOrigin: boolean }>();
  for (const { path, method, cors } of routes) {
    const known = byPath.get(path) ?? { methods: new Set(), isAnyOrigin: false };
    byPath.set(path, known);
    known.methods.add(method);
    if (method === "GET") known.methods.add("HEAD");
    if (cors === ANY_ORIGIN) known.isAnyOrigin = true;
  }
  const entries = [...byPath].map(
    ([path, { methods, isAnyOrigin }]) =>
      [path, { allow: [...methods].sort().join(", "), isAnyOrigin }] as const,
  );
  return new Map(entries);
}

/** Finds the known path of a URL that no route took; fixed segments win over parameters, from the left. */
export function createPathFinder(routes: readonly Route[]): (url: string) => KnownPath | null {
  // Made for the first request that no route takes: most servers never see one while they start.
  let patterns: Pattern[] | undefined;
  const load = (): Pattern[] =>
    [...methodsByPath(routes)]
      .map(([path, { allow }]) => ({ allow, segments: path.split("/") }))
      .sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  return (url) => {
    const segments = (url.split("?", 1)[0] as string).split("/");
    patterns ??= load();
    return patterns.find((pattern) => fits(pattern, segments)) ?? null;
  };
}

const isParameter = (segment: string): boolean => segment.startsWith(":");

const rank = ({ segments }: Pattern): string =>
  segments.map((segment) => (isParameter(segment) ? "1" : "0")).join("");

const fits = ({ segments }: Pattern, sent: readonly string[]): boolean =>
  segments.length === sent.length &&
  segments.every((segment, at) => isParameter(segment) || segment === sent[at]);
