// What a page names in running text: commands, routes and settings in code spans are there, too.

import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { findOperation, isBaseOfRoutes } from "./api-documents.ts";
import { checkCommandName } from "./check-keelson.ts";
import type { Finding } from "./finding.ts";
import { ROOT, type Page } from "./read-pages.ts";

type Mention = { text: string; line: number };

const ROUTE =
  /^(?:(GET|POST|PUT|PATCH|DELETE|HEAD) )?(\/(?:api|v1|admin\/api\/v1|capacity\/v1|worker\/v1)\/[^\s?]*)(?:\?\S*)?$/;
// With a dollar it is a variable of the reader's shell.
const SETTING = /(?<![$\w]|\$\{)KEELSON_[A-Z0-9_]+\b/g;

/** Code spans of the prose; a span does not go over an empty line. */
const mentionsOf = ({ prose }: Page): Mention[] =>
  [...prose.matchAll(/(?<!`)`((?:[^`\n]|\n(?!\n))+)`(?!`)/g)].map((match) => ({
    text: (match[1] ?? "").replaceAll(/\s+/g, " "),
    line: prose.slice(0, match.index).split("\n").length,
  }));

/** Every name that the code of this repository knows, a `_FILE` beside it included. */
function knownSettings(): Set<string> {
  const known = new Set<string>();
  const files = globSync("{packages,examples}/*/src/**/*.ts", { cwd: ROOT });
  for (const file of files)
    for (const [name] of readFileSync(path.join(ROOT, file), "utf8").matchAll(SETTING))
      known.add(name).add(`${name}_FILE`);
  return known;
}

/** Words up to the first that is a placeholder or an option: `keelson run get <id>`. */
const commandWords = (text: string): string[] => {
  const words = text.split(" ").slice(1);
  const end = words.findIndex((word) => !/^[a-z-]+$/.test(word) || word.startsWith("-"));
  return end === -1 ? words : words.slice(0, end);
};

function checkRoute(text: string): string | null {
  const [, method, route = ""] = ROUTE.exec(text) ?? [];
  if (route === "" || /…|\.\.\.|\*|\/$/.test(route)) return null;
  const isThere =
    findOperation(method ?? null, route) !== null || (method === undefined && isBaseOfRoutes(route));
  return !isThere ? `names ${text}, which is no route` : null;
}

async function checkMention({ text }: Mention): Promise<string | null> {
  if (text.startsWith("keelson ")) {
    const refused = await checkCommandName(commandWords(text));
    return refused === null ? null : `names ${text}: ${refused}`;
  }
  return checkRoute(text);
}

export async function checkMentions(pages: readonly Page[]): Promise<{ findings: Finding[]; count: number }> {
  const known = knownSettings();
  const findings: Finding[] = [];
  let count = 0;
  for (const page of pages) {
    for (const mention of mentionsOf(page)) {
      if (!mention.text.startsWith("keelson ") && !ROUTE.test(mention.text)) continue;
      count += 1;
      const message = await checkMention(mention);
      if (message !== null) findings.push({ place: `${page.path}:${mention.line}`, message });
    }
    for (const { 0: name, index } of page.text.matchAll(SETTING)) {
      count += 1;
      const isStem = name.endsWith("_") && [...known].some((setting) => setting.startsWith(name));
      const line = page.text.slice(0, index).split("\n").length;
      if (!known.has(name) && !isStem)
        findings.push({ place: `${page.path}:${line}`, message: `names ${name}, which no code knows` });
    }
  }
  return { findings, count };
}
