// Every block of the documentation is checked, or says why not; every link leads somewhere.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { checkCode } from "./docs/check-code.ts";
import { checkCommands, checkHttp } from "./docs/check-commands.ts";
import { checkData } from "./docs/check-data.ts";
import { checkMentions } from "./docs/check-mentions.ts";
import { checkLinks, findUnreachable } from "./docs/check-links.ts";
import { formatFindings, type Finding } from "./docs/finding.ts";
import { placeOf, readLinkedPages, readPages, type Block } from "./docs/read-pages.ts";
import { hasRecorder } from "./docs/record-commands.ts";

const CODE = ["ts", "js"];
const DATA = ["json", "yaml"];
const COMMANDS = ["sh", "bash"];
/** What is shown to be looked at. */
const PICTURES = ["text", "mermaid"];
const KNOWN = [...CODE, ...DATA, ...COMMANDS, ...PICTURES, "http"];

const pages = readPages();
const blocks = pages.flatMap((page) => page.blocks);
const of = (languages: readonly string[]): Block[] =>
  blocks.filter(({ language, marks }) => languages.includes(language) && marks.skip === null);

function none(findings: readonly Finding[]): void {
  if (findings.length > 0) assert.fail(`\n${formatFindings(findings)}`);
}

describe("the blocks of the documentation", () => {
  test("are counted, and none is left out without a reason", (t) => {
    const unknown = blocks.filter(({ language, marks }) => !KNOWN.includes(language) && marks.skip === null);
    none(
      unknown.map((block) => ({
        place: placeOf(block),
        message: `is in ${block.language || "no language"}: use one of ${KNOWN.join(", ")}, or <!-- not checked: reason --> before it`,
      })),
    );
    const counts = KNOWN.map((language) => `${of([language]).length} ${language}`).join(", ");
    t.diagnostic(`${blocks.length} blocks in ${pages.length} pages: ${counts}`);
    t.diagnostic(`${blocks.filter(({ marks }) => marks.run !== null).length} of them are also run`);
    const skipped = blocks.filter(({ marks }) => marks.skip !== null);
    t.diagnostic(`${skipped.length} not checked`);
    for (const block of skipped) t.diagnostic(`${placeOf(block)} not checked: ${block.marks.skip}`);
    for (const language of ["ts", "json", "sh"])
      assert.ok(of([language]).length > 0, `no ${language} was found`);
  });

  test("of TypeScript fit the packages", () => none(checkCode(of(CODE))));

  test("of JSON and YAML can be read", () => none(of(DATA).flatMap(checkData)));

  test("of HTTP are requests that the server takes", () => none(of(["http"]).flatMap(checkHttp)));

  test("of shell call what there is", { skip: !hasRecorder() && "bash is older than 4" }, async (t) => {
    const checked = await Promise.all(of(COMMANDS).map(checkCommands));
    none(checked.flatMap(({ findings }) => findings));
    t.diagnostic(
      `${checked.reduce((sum, { calls }) => sum + calls, 0)} commands in ${checked.length} blocks`,
    );
  });
});

describe("the text of the documentation", () => {
  test("names commands, routes and settings that there are", async (t) => {
    const { findings, count } = await checkMentions(pages);
    none(findings);
    t.diagnostic(`${count} commands, routes and settings are named`);
  });
});

test("every page of concepts has the parts that a reader looks for", () => {
  const parts = ["Why it is so", "Limits", "When something fails", "See also"];
  none(
    pages
      .filter(({ path }) => path.startsWith("docs/concepts/"))
      .flatMap(({ path, prose, blocks: shown }) => [
        ...parts
          .filter((part) => !prose.includes(`\n## ${part}\n`))
          .map((part) => ({ place: path, message: `has no part "${part}"` })),
        ...(shown.some(({ language }) => !PICTURES.includes(language))
          ? []
          : [{ place: path, message: "has no example that is checked" }]),
      ]),
  );
});

describe("the links of the documentation", () => {
  let linked: ReturnType<typeof readLinkedPages>;
  before(() => {
    linked = readLinkedPages();
  });

  test("lead to files and headings that are there", () => none(checkLinks(linked)));

  test("lead from the index to every page", () => {
    const unreachable = findUnreachable(linked, "docs/README.md").filter((path) => path.startsWith("docs/"));
    assert.deepEqual(unreachable, []);
  });
});
