// What the commands of a page call: `keelson` and `npm` are read as they would be, `curl` is a request, and other programs
// are those that a page may name.

import { readFileSync } from "node:fs";
import path from "node:path";
import { planProject } from "@keelson/create-keelson";
import { checkKeelson } from "./check-keelson.ts";
import { checkRequest } from "./check-request.ts";
import type { Finding } from "./finding.ts";
import { placeOf, ROOT, type Block } from "./read-pages.ts";
import { readCurl, readHttp } from "./read-request.ts";
import { recordCommands, type Call } from "./record-commands.ts";

const SCRIPTS = Object.keys(
  (JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as { scripts: object }).scripts,
);
const NPM_COMMANDS = new Set(["ci", "create", "install", "init"]);
/** Those of a project that `npm create keelson` makes: many pages are read in one. */
const PROJECT_SCRIPTS: ReadonlySet<string> = new Set(
  planProject(path.join(ROOT, "no-such-folder")).files.flatMap(({ name, text }) =>
    name === "package.json" ? Object.keys((JSON.parse(text) as { scripts: object }).scripts) : [],
  ),
);
/** Programs that are not ours; a name that is not here is taken for a mistake. */
const OTHERS: ReadonlySet<string> = new Set(
  (
    "apt-get aws base64 cat chmod chown cosign cp cut date docker find git grep head helm jq kill kubectl ls mkdir mv " +
    "new-password node openssl pass psql rm sed sha256sum sleep sudo systemctl tail tar tee umask wc xargs"
  ).split(" "),
);

async function checkNpm(args: readonly string[]): Promise<string[]> {
  const [command = "", ...rest] = args.filter((argument) => argument !== "--silent" && argument !== "-s");
  if (NPM_COMMANDS.has(command)) return [];
  const [script = "", ...options] = command === "run" ? rest : [command, ...rest];
  if (!SCRIPTS.includes(script) && !PROJECT_SCRIPTS.has(script)) return [`npm has no script ${script}`];
  if (script !== "keelson") return [];
  if (options[0] !== "--") return ["npm run keelson needs -- before the command"];
  return checkCall(["keelson", ...options.slice(1)]);
}

async function checkCall([program = "", ...args]: Call): Promise<string[]> {
  if (program === "keelson") {
    const refused = await checkKeelson(args);
    return refused === null ? [] : [`keelson ${args.join(" ")}: ${refused}`];
  }
  if (program === "npx") return checkCall(args);
  if (program === "npm") return checkNpm(args);
  if (program === "curl") {
    const request = readCurl(args);
    if (request === null) return [];
    return "refused" in request ? [request.refused] : checkRequest(request);
  }
  // A line of a crontab: five fields, then the command.
  if (/^[\d*]/.test(program) && args.length > 4) return checkCall(args.slice(4));
  return OTHERS.has(program)
    ? []
    : [`${program} is no program that pages name; see OTHERS in check-commands.ts`];
}

export async function checkCommands(block: Block): Promise<{ findings: Finding[]; calls: number }> {
  const place = placeOf(block);
  const recorded = recordCommands(block);
  if ("refused" in recorded) return { findings: [{ place, message: recorded.refused }], calls: 0 };
  const wrong = await Promise.all(recorded.calls.map(checkCall));
  return { findings: wrong.flat().map((message) => ({ place, message })), calls: recorded.calls.length };
}

export function checkHttp(block: Block): Finding[] {
  const request = readHttp(block.text);
  const wrong = "refused" in request ? [request.refused] : checkRequest(request);
  return wrong.map((message) => ({ place: placeOf(block), message }));
}
