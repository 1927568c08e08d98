// The checks of the documentation find what is wrong, and leave alone what is right.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkCode } from "./docs/check-code.ts";
import { checkCommands, checkHttp } from "./docs/check-commands.ts";
import { checkData } from "./docs/check-data.ts";
import { anchorsOf, checkLinks, findUnreachable } from "./docs/check-links.ts";
import { checkMentions } from "./docs/check-mentions.ts";
import { formatFindings, type Finding } from "./docs/finding.ts";
import { parsePage, type Block, type Page } from "./docs/read-pages.ts";
import { hasRecorder } from "./docs/record-commands.ts";
import { showsAs } from "./docs/run-page.ts";

const pageOf = (text: string): Page => parsePage("docs/page.md", text);
const blockOf = (language: string, text: string): Block =>
  pageOf(`\`\`\`${language}\n${text}\n\`\`\`\n`).blocks[0] as Block;
const found = (findings: readonly Finding[]): string => formatFindings(findings);

describe("a page", () => {
  test("has its blocks with their places, languages and marks", () => {
    const text =
      "# A\n\n<!-- run until it shows -->\n\n```sh\nls\n```\n\n1. two\n\n   ```json\n   {}\n   ```\n\n" +
      "<!-- given: declare const a: number; -->\n<!-- goes on -->\n\n```ts\na;\n```\n";
    const { blocks } = pageOf(text);
    assert.deepEqual(
      blocks.map(({ line, language, text: content }) => [line, language, content]),
      [
        [6, "sh", "ls\n"],
        [12, "json", "{}\n"],
        [19, "ts", "a;\n"],
      ],
    );
    assert.equal(blocks[0]?.marks.run, "until it shows");
    assert.deepEqual([blocks[1]?.marks.run, blocks[1]?.marks.given], [null, ""]);
    assert.deepEqual([blocks[2]?.marks.goesOn, blocks[2]?.marks.given], [true, "declare const a: number;\n"]);
  });

  test("says why a block is not checked", () => {
    const block = pageOf("<!-- not checked: needs a cluster -->\n\n```sh\nx\n```\n").blocks[0];
    assert.equal(block?.marks.skip, "needs a cluster");
    assert.throws(() => pageOf("<!-- not checked -->\n\n```sh\nx\n```\n"), /docs\/page.md:4: say why/);
  });
});

describe("a block", () => {
  test("of TypeScript is held to the packages, at its own lines", () => {
    const page = pageOf(
      '```ts\nimport { task } from "@keelson/sdk";\nexport const a = task({ id: "a", run: () => 1 });\n```\n\n' +
        "<!-- goes on -->\n\n```ts\nconst run = await client.tasks.start(a);\nrun.nothing;\nnobody;\n```\n",
    );
    const lines = found(checkCode(page.blocks)).split("\n");
    assert.equal(lines.length, 2, lines.join("\n"));
    assert.match(lines[0] ?? "", /^docs\/page.md:10 TS2339: Property 'nothing'/);
    assert.match(lines[1] ?? "", /^docs\/page.md:11 TS2304: .*<!-- given:/);
  });

  test("of JSON and YAML is one that can be read", () => {
    assert.deepEqual(
      [...checkData(blockOf("json", '{"a": 1}')), ...checkData(blockOf("yaml", "a: [1]"))],
      [],
    );
    assert.match(found(checkData(blockOf("json", "{a: 1}"))), /^docs\/page.md:2 .*JSON/);
    assert.match(found(checkData(blockOf("yaml", "a: ["))), /^docs\/page.md:2 /);
  });

  test("of HTTP is a request that the server takes", () => {
    const request = "Authorization: Bearer …\nContent-Type: application/json\n\n";
    const start = (line: string, body: string) =>
      found(checkHttp(blockOf("http", `${line}\n${request}${body}`)));
    assert.equal(start("POST /v1/tasks/report/start HTTP/1.1", '{"payload": {}}'), "");
    assert.match(start("POST /v1/task/report/start", "{}"), /no route is POST \/v1\/task\/report\/start/);
    assert.match(start("POST /v1/tasks/report/start", '{"pay": 1}'), /must NOT have additional properties/);
    assert.match(start("POST /v1/tasks/report/start?x=1", "{}"), /has no query x/);
    assert.match(found(checkHttp(blockOf("http", "GET /v1/runs"))), /needs the header Authorization/);
  });
});

describe("a block of shell", { skip: !hasRecorder() && "bash is older than 4" }, () => {
  const check = async (text: string): Promise<string> =>
    found((await checkCommands(blockOf("sh", text))).findings);

  test("is read as bash reads it", async () => {
    assert.equal(
      await check(`
ask() { curl -sS "$KEELSON_URL/v1/$1" -H "Authorization: Bearer $KEELSON_API_KEY"; }
ask runs | jq . > runs.json   # a comment
RUN=$(keelson task start report -p '{"a": "it'"'"'s"}') && keelson run get $RUN
KEELSON_DATA_DIR=data npm run keelson -- serve &
0 3 * * * keelson --quiet backup /backups/`),
      "",
    );
    assert.match(await check("echo 'x"), /unexpected EOF/);
    assert.match(await check("ls > /etc/x"), /writes to \/etc\/x/);
  });

  test("names commands, options and values that there are", async () => {
    assert.match(await check("keelson task begin x"), /unknown command 'begin'/);
    assert.match(await check("true | keelson run list --sort"), /unknown option '--sort'/);
    assert.match(await check("keelson task start a --delay soon"), /soon/);
    assert.equal(
      await check("keelson audit verify --head 4711:9f86…\nsource <(keelson completion bash)"),
      "",
    );
    assert.match(await check("keelson audit verify --head 4711"), /A head is/);
    assert.match(await check("npm run begin"), /npm has no script begin/);
    assert.match(await check("kelson up"), /kelson is no program/);
  });

  test("sends requests that the server takes", async () => {
    const post = (rest: string) =>
      check(`curl $KEELSON_URL/v1/tokens -H "Authorization: Bearer $KEY" ${rest}`);
    const json = "-H 'Content-Type: application/json' -d";
    assert.equal(await post(`${json} '{"timeout": "3d"}'`), "");
    assert.match(await post(`${json} '{"timeout": 3}'`), /body\/timeout must be string/);
    assert.match(await post(`-d '{}'`), /needs the header Content-Type/);
    assert.match(await post("-X DELETE"), /no route is DELETE \/v1\/tokens/);
    assert.equal(await check("curl https://example.com/whatever -d x"), "");
  });
});

describe("text", () => {
  test("names what there is", async () => {
    const right = "`keelson run get`, `POST /v1/tasks/{declaredID}/start`, `/api/worker`, `KEELSON_DATA_DIR`";
    assert.equal(found((await checkMentions([pageOf(right)])).findings), "");
    const wrong = "`keelson run nothing`\n`GET /v1/nothing`\nKEELSON_NOTHING\n";
    const { findings } = await checkMentions([pageOf(wrong)]);
    assert.deepEqual(
      findings.map(({ place }) => place),
      ["docs/page.md:1", "docs/page.md:2", "docs/page.md:3"],
    );
  });

  test("links to files and headings that there are", () => {
    const page = pageOf(
      "# A `b` (c)\n\n## X\n## X\n\n[1](../README.md) [2](#a-b-c) [3](#x-1) `[4](nowhere)`\n",
    );
    assert.deepEqual([...anchorsOf(page)], ["a-b-c", "x", "x-1"]);
    assert.equal(found(checkLinks([page])), "");
    const wrong = pageOf("[1](nowhere.md)\n[2](#nowhere)\n![3](images/nowhere.png)\n");
    assert.equal(checkLinks([wrong]).length, 3);
  });

  test("can be reached from the index", () => {
    const page = (path: string, text: string) => parsePage(path, text);
    const pages = [
      page("docs/README.md", "[a](a.md)"),
      page("docs/a.md", "[b](b/)"),
      page("docs/b/c.md", ""),
    ];
    assert.deepEqual(findUnreachable([...pages, page("docs/d.md", "")], "docs/README.md"), ["docs/d.md"]);
  });
});

test("output is what a page shows, but for what it leaves out", () => {
  assert.ok(showsAs("…\nrun_… (a+b)\n", "one\ntwo\nrun_01k (a+b)\n"));
  assert.ok(!showsAs("run_… done\n", "run_01k failed\n"));
  assert.ok(!showsAs("one\n", "one\ntwo\n"));
});
