// The pages of the documentation as the checks see them: blocks with their marks, links, headings.

import { globSync, readFileSync } from "node:fs";
import path from "node:path";

export const ROOT = path.resolve(import.meta.dirname, "../..");

/** Whose blocks are checked. Decisions are history: what they show was true when they were made. */
const PAGES = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "docs/**/*.md",
  "examples/*/README.md",
];
/** Whose links are checked besides. */
const MORE_LINKED = ["CHANGELOG.md", "bench/**/*.md", "deploy/**/*.md"];
const DECISIONS = "docs/decisions/";

/** What an HTML comment right before a block says of it. */
export type Marks = {
  /** `not checked: reason` */
  skip: string | null;
  /** `given: declarations` – what the reader has, which the block does not show. */
  given: string;
  /** `goes on` – the code begins with that of the block before. */
  goesOn: boolean;
  /** `run` – the block is really run, see run-page.ts; `run until it shows` – again, until it prints what is shown. */
  run: "once" | "until it shows" | null;
};

export type Block = {
  page: string;
  /** Of its first line of content, from 1. */
  line: number;
  language: string;
  text: string;
  marks: Marks;
};

export type Page = { path: string; text: string; prose: string; blocks: Block[] };

export const placeOf = ({ page, line }: { page: string; line: number }): string => `${page}:${line}`;

const FENCE = /^( *)(`{3,})([^\n`]*)\n(.*?)^ *\2`*[ \t]*$/gms;
const COMMENTS_BEFORE = /(?:<!--(?:(?!-->).)*-->\s*)+$/s;

function marksOf(comments: string, place: string): Marks {
  const marks: Marks = { skip: null, given: "", goesOn: false, run: null };
  for (const [, content = ""] of comments.matchAll(/<!--\s*(.*?)\s*-->/gs)) {
    const [, word, rest = ""] = /^(not checked|given|goes on|run)\b:?\s*(.*)$/s.exec(content) ?? [];
    if (word === "not checked") {
      if (rest.length < 10)
        throw new Error(`${place}: say why it is not checked: <!-- not checked: reason -->`);
      marks.skip = rest;
    } else if (word === "given") marks.given += `${rest}\n`;
    else if (word === "goes on") marks.goesOn = true;
    else if (word === "run") marks.run = rest === "until it shows" ? rest : "once";
  }
  return marks;
}

const lineOf = (text: string, index: number): number => text.slice(0, index).split("\n").length;

export function parsePage(file: string, text: string): Page {
  const blocks: Block[] = [];
  const prose = text.replace(
    FENCE,
    (all, indent: string, _fence, info: string, content: string, at: number) => {
      const line = lineOf(text, at) + 1;
      const comments = COMMENTS_BEFORE.exec(text.slice(0, at))?.[0] ?? "";
      const inner =
        indent === "" ? content : content.replaceAll(new RegExp(`^ {0,${indent.length}}`, "gm"), "");
      const marks = marksOf(comments, `${file}:${line}`);
      blocks.push({ page: file, line, language: info.trim().split(/\s/)[0] ?? "", text: inner, marks });
      // Places of what stands after it stay the same.
      return all.replaceAll(/[^\n]/g, " ");
    },
  );
  return {
    path: file,
    text,
    prose: prose.replaceAll(/<!--.*?-->/gs, (all) => all.replaceAll(/[^\n]/g, " ")),
    blocks,
  };
}

const listFiles = (patterns: readonly string[]): string[] =>
  globSync(patterns, { cwd: ROOT, exclude: (name) => path.basename(name) === "node_modules" })
    .map((file) => file.split(path.sep).join("/"))
    .toSorted();

const readPage = (file: string): Page => parsePage(file, readFileSync(path.join(ROOT, file), "utf8"));

/** The pages whose blocks are checked. */
export const readPages = (): Page[] =>
  listFiles(PAGES)
    .filter((file) => !file.startsWith(DECISIONS))
    .map(readPage);

/** The pages whose links are checked. */
export const readLinkedPages = (): Page[] => listFiles([...PAGES, ...MORE_LINKED]).map(readPage);
