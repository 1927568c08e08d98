// One Chromium for all test files of a run: to launch one for a page takes more than twice what a context of its own does.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserServer } from "playwright-core";

export interface SharedChromium {
  /** Answers at which address Chromium is. */
  readonly url: string;
  close(): Promise<void>;
}

/** Nothing is launched, or loaded, before a file asks; one that has ended is followed by another. */
export async function shareChromium(env: Readonly<Record<string, string>>): Promise<SharedChromium> {
  let launched: Promise<BrowserServer> | null = null;
  const launch = async (): Promise<BrowserServer> => {
    const { serveChromium } = await import("./chromium.ts");
    const chromium = await serveChromium(env);
    chromium.on("close", () => {
      launched = null;
    });
    return chromium;
  };
  const server = createServer((_request, response) => {
    launched ??= launch();
    launched.then(
      (chromium) => response.end(chromium.wsEndpoint()),
      (error: Error) => {
        launched = null;
        response.writeHead(503).end(error.message);
      },
    );
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await (await launched)?.close();
    },
  };
}
