import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usageError } from "../exit-codes.ts";
import { findEnvironment } from "../find-place.ts";
import { openPage } from "../open-page.ts";

/** Pages of the console by the prefix of what they show. */
const PAGES: Readonly<Record<string, string>> = {
  run: "runs",
  dep: "deployments",
  sess: "sessions",
  sched: "schedules",
  ws: "workspaces",
  tok: "tokens",
};

const LISTS = [
  "runs",
  "tasks",
  "actors",
  "sessions",
  "tokens",
  "workspaces",
  "schedules",
  "deployments",
  "secrets",
];

function pageOf(target: string | undefined): string {
  if (target === undefined) return "";
  if (LISTS.includes(target)) return `/${target}`;
  const page = PAGES[target.slice(0, target.indexOf("_"))];
  if (page === undefined)
    throw usageError(`${target} has no page: give an id such as run_01k…, or one of ${LISTS.join(", ")}`);
  return `/${page}/${encodeURIComponent(target)}`;
}

export function addOpen(parent: Command, cli: Cli): void {
  parent
    .command("open")
    .description("Open the console, at a run or another page")
    .argument("[target]", "an id, or a list such as `runs`")
    .option("--no-browser", "write the address, open nothing")
    .addHelpText("after", "\nExamples:\n  $ keelson open\n  $ keelson open run_01k…\n")
    .action(async (target: string | undefined, { browser }: { browser: boolean }) => {
      const page = pageOf(target);
      const user = cli.user();
      const { id } = await findEnvironment(cli, user, {});
      const url = `${user.credentials.url.replace(/\/+$/, "")}/e/${id}${page}`;
      if (cli.isJson()) cli.printJson({ url });
      else cli.print(url);
      const { env, stderr } = cli.host;
      if (browser && stderr.isTTY && !env["CI"] && !cli.isJson()) openPage(url);
    });
}
