import type { Archive, Platform } from "./archive.ts";

/** What a Node.js process says of itself. */
export type ProcessFacts = {
  platform: string;
  arch: string;
  report?: { getReport(): object } | undefined;
};

/** Where a process runs, as native code sees it. */
export function platformOf({ platform: os, arch, report }: ProcessFacts): Platform {
  if (os !== "linux" || report === undefined) return { os, arch, libc: null };
  // Otherwise it resolves the names of all peers that the process is connected to.
  Object.assign(report, { excludeNetwork: true });
  const { header } = report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return { os, arch, libc: header?.glibcVersionRuntime === undefined ? "musl" : "glibc" };
}

/** As text for people: `linux x64 (glibc)`. */
export const describePlatform = ({ os, arch, libc }: Platform): string =>
  `${os} ${arch}${libc === null ? "" : ` (${libc})`}`;

const majorOf = (nodeVersion: string): number => Number.parseInt(nodeVersion, 10);

const wordOf = ({ os, arch, libc }: Platform): string =>
  [os, arch, ...(libc === null ? [] : [libc])].join("-");

/** Bundles are made for this version of Node.js or a later one. */
const FIRST_NODE = 24;

/**
 * What a worker must be to run an archive, as one word. JavaScript runs on the Node.js that it was made with and on later ones.
 * Native code runs on its platform, and may be compiled for one major version.
 */
export const requirementOf = ({
  platform,
  node_version: node,
}: Pick<Archive, "node_version" | "platform">): string =>
  platform === null ? `node${majorOf(node)}` : `${wordOf(platform)}-node${majorOf(node)}`;

/** The requirements that a worker meets. */
export function metRequirements(platform: Platform, nodeVersion: string): string[] {
  const major = majorOf(nodeVersion);
  const versions = Array.from(
    { length: Math.max(0, major - FIRST_NODE + 1) },
    (_, at) => `node${FIRST_NODE + at}`,
  );
  return [...versions, `${wordOf(platform)}-node${major}`];
}

/** A requirement as text for people: `linux-x64-glibc with Node.js 24`. */
export const describeRequirement = (requirement: string): string =>
  requirement.startsWith("node")
    ? `Node.js ${requirement.slice("node".length)} or later`
    : requirement.replace("-node", " with Node.js ");
