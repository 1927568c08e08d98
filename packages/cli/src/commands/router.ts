import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { EXIT, ExitError, usageError } from "../exit-codes.ts";
import { parseCellOption, parseIntegerOption, parseMillisecondsOption } from "../parse-arguments.ts";
import { collectCell, toCells } from "../router/cells.ts";
import type { RouterOptions, RunningRouter } from "../router/start-router.ts";
import { untilAborted } from "../until-aborted.ts";

const HELP = `
Gives several installations one host name. Each installation is a cell: it has servers, a PostgreSQL and workers of its own, and a
tag that its servers have as KEELSON_CELL. The router reads the tag in the credential of a request. Requests without a tag, such as
those of browsers, go to the default cell. It keeps nothing, so any number of routers can run beside each other. It speaks HTTP:
put TLS in front of it. The cells name its address in KEELSON_TRUSTED_PROXIES.

Its own routes are /healthz and /readyz. They say nothing about the cells: a request to a cell that cannot be reached is answered 503.

Example:
  $ keelson router --cell eu1=https://eu1.example.com --cell us1=https://us1.example.com --default eu1
`;

type Options = {
  cell?: ReturnType<typeof collectCell>;
  default: string;
  host: string;
  port: number;
  drainDelay: number;
};

export function addRouter(parent: Command, cli: Cli): void {
  parent
    .command("router")
    .description("Run only a router, which sends requests to the cell of their credential")
    .option("--cell <tag=url>", "a cell and its address; once for each cell", collectCell)
    .requiredOption("--default <tag>", "the cell for requests without a tag", parseCellOption)
    .option("--host <host>", "address to listen on", "127.0.0.1")
    .option("--port <port>", "port to listen on; 0 takes a free one", parseIntegerOption(0, 65_535), 4400)
    .option(
      "--drain-delay <duration>",
      "after SIGTERM, how long to go on while /readyz answers 503",
      parseMillisecondsOption,
      0,
    )
    .addHelpText("after", HELP)
    .action(async ({ cell = [], default: byDefault, host, port, drainDelay }: Options) => {
      if (cell.length === 0) throw usageError("No cell is named. Add --cell <tag=url> for each cell.");
      const { signal, endInOrder } = cli.host;
      endInOrder();
      const router = await start({
        cells: toCells(cell, byDefault),
        ...{ host, port, drainDelayMs: drainDelay },
        onUnknownCell: (tag) =>
          cli.notice(
            `No cell has the tag ${tag}. Its requests go to ${byDefault}, which refuses them. If the cell exists, add --cell ${tag}=<url>.`,
          ),
      });
      if (cli.isJson())
        cli.printJson({
          url: router.url,
          default: byDefault,
          cells: cell.map(({ tag, address }) => ({ tag, url: address.origin })),
        });
      cli.notice(`Routing at ${router.url}`);
      await untilAborted(signal);
      await router.close();
    });
}

async function start(options: RouterOptions): Promise<RunningRouter> {
  // Every other command would load Node's servers and TLS with it.
  const { startRouter } = await import("../router/start-router.ts");
  return startRouter(options).catch((error: NodeJS.ErrnoException) => {
    throw new ExitError(
      EXIT.failure,
      error.code === "EADDRINUSE"
        ? `Port ${options.port} is taken: stop what uses it, or name another --port`
        : `The router cannot listen on ${options.host}:${options.port}: ${error.message}. Name another --host or --port.`,
      { cause: error },
    );
  });
}
