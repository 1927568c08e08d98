// Links and pictures of a page that are in this repository: the file is there, and so is the heading.

import { existsSync, statSync } from "node:fs";
import path from "node:path";
import type { Finding } from "./finding.ts";
import { ROOT, type Page } from "./read-pages.ts";

type Link = { target: string; line: number };

const LINK = /\]\(\s*<?([^()\s>]+(?:\([^()\s]*\))?)>?(?:\s+"[^"]*")?\s*\)/g;
const DEFINITION = /^\[[^\]]+\]:\s+(\S+)/gm;
const HTML = /<(?:img|a)\b[^>]*?\b(?:src|href)="([^"]+)"/g;

/** Without code in the line: what stands in it is no link. */
const withoutCode = (prose: string): string =>
  prose.replaceAll(/(`+)(?!`).*?[^`]\1(?!`)/g, (all) => " ".repeat(all.length));

export function linksOf(page: Page): Link[] {
  const prose = withoutCode(page.prose);
  return [LINK, DEFINITION, HTML].flatMap((pattern) =>
    [...prose.matchAll(pattern)].map((match) => ({
      target: match[1] ?? "",
      line: prose.slice(0, match.index).split("\n").length,
    })),
  );
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: Page): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of page.prose.matchAll(/^#{1,6}\s+(.*?)\s*#*$/gm)) {
    const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = text.replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, "").replaceAll(" ", "-");
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n += 1) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  for (const [, id = ""] of page.prose.matchAll(/<a\s+(?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

const isElsewhere = (target: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(target);

/** The page's links into the repository, relative to its root; a folder's page is its README. */
export function localTargets(page: Page): { file: string; anchor: string; link: Link }[] {
  return linksOf(page)
    .filter(({ target }) => !isElsewhere(target))
    .map((link) => {
      const [name = "", anchor = ""] = link.target.split("#");
      const file = name === "" ? page.path : path.posix.join(path.posix.dirname(page.path), decodeURI(name));
      return { file: file.replace(/\/$/, ""), anchor, link };
    });
}

export function checkLinks(pages: readonly Page[]): Finding[] {
  const byPath = new Map(pages.map((page) => [page.path, page]));
  const findings: Finding[] = [];
  for (const page of pages) {
    for (const { file, anchor, link } of localTargets(page)) {
      const full = path.join(ROOT, file);
      const place = `${page.path}:${link.line}`;
      const isPage = byPath.has(file);
      if (!isPage && (file.startsWith("..") || !existsSync(full))) {
        findings.push({ place, message: `links to ${link.target}, which is not there` });
        continue;
      }
      if (anchor === "") continue;
      const target = byPath.get(!isPage && statSync(full).isDirectory() ? `${file}/README.md` : file);
      if (target === undefined || !anchorsOf(target).has(anchor))
        findings.push({ place, message: `links to ${link.target}, which has no such heading` });
    }
  }
  return findings;
}

/** The pages to which no path of links leads from `start`. A folder without a page of its own shows what is in it. */
export function findUnreachable(pages: readonly Page[], start: string): string[] {
  const byPath = new Map(pages.map((page) => [page.path, page]));
  const reached = new Set([start]);
  for (const from of reached) {
    const page = byPath.get(from);
    if (page === undefined) continue;
    for (const { file } of localTargets(page)) {
      reached.add(file);
      for (const other of byPath.keys()) if (path.posix.dirname(other) === file) reached.add(other);
    }
  }
  return [...byPath.keys()].filter((file) => !reached.has(file));
}
