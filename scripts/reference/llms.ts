// `docs/llms.txt`: the pages with what each is about, for programs that read documentation (https://llmstxt.org).
import path from "node:path";
import { readPages, type Page } from "../docs/read-pages.ts";

const SECTIONS: readonly { title: string; holds: (file: string) => boolean }[] = [
  { title: "Start here", holds: (file) => /^docs\/(guides\/your-own-project|quick-start)\.md$/.test(file) },
  { title: "Guides", holds: (file) => file.startsWith("docs/guides/") },
  { title: "Concepts", holds: (file) => file.startsWith("docs/concepts/") },
  { title: "Examples", holds: (file) => file.startsWith("examples/") },
  { title: "Reference", holds: (file) => file.startsWith("docs/reference/") },
  { title: "Optional", holds: (file) => file.startsWith("docs/") },
];

/** Links and marks of Markdown, and line breaks, are not for a list. */
const plain = (text: string): string =>
  text
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/\*\*|^_|_$/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();

const titleOf = ({ prose }: Page): string => plain(/^# (.*)$/m.exec(prose)?.[1] ?? "");

/** The first sentence of the first paragraph, which says what the page is for. */
function summaryOf({ prose }: Page): string {
  const paragraph = prose
    .replaceAll(/<!--[^]*?-->/g, "")
    .split(/\n\s*\n/)
    .find((part) => /^[^#|\s!-]/.test(part));
  const text = plain(paragraph ?? "").replace(/^Goal\. /, "");
  return /^.*?[.:](?= [A-Z]|$)/.exec(text)?.[0].replace(/:$/, ".") ?? text;
}

export function llmsText(pages: readonly Page[] = readPages()): string {
  const left = new Set(pages.filter((page) => page.path !== "docs/README.md"));
  const parts = ["# Keelson", `> ${summaryOf(pages.find((page) => page.path === "README.md") as Page)}`];
  for (const { title, holds } of SECTIONS) {
    const rows = [...left].filter((page) => holds(page.path));
    for (const page of rows) left.delete(page);
    const lines = rows.map(
      (page) => `- [${titleOf(page)}](${path.posix.relative("docs", page.path)}): ${summaryOf(page)}`,
    );
    parts.push(`## ${title}\n\n${lines.join("\n")}`);
  }
  return `${parts.join("\n\n")}\n`;
}
