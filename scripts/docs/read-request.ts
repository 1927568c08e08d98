// Reads a request from the arguments of curl, or from a block of HTTP.

import { SERVER } from "./record-commands.ts";
import type { Request } from "./check-request.ts";

/** Options of curl that take a value and change nothing here. */
const WITH_VALUE = new Set([
  "-o",
  "--output",
  "--max-time",
  "-m",
  "--retry",
  "-w",
  "--write-out",
  "--cacert",
  "-c",
  "-b",
]);
const WITHOUT_VALUE =
  /^(-[sSfNiLvkG]+|--(silent|show-error|fail|fail-with-body|no-buffer|include|location|get|verbose|compressed))$/;
const BODY = new Set(["-d", "--data", "--data-raw", "--data-binary", "--json"]);
/** Where a server of the documentation is. */
const SERVERS = /^(keelson([.-][\w.-]*)?|localhost|127\.0\.0\.1)$/;

/** A request to Keelson, one to somewhere else (null), or what is wrong with the arguments. */
export function readCurl(args: readonly string[]): Request | null | { refused: string } {
  let method: string | null = null;
  let url: string | null = null;
  let body: string | null = null;
  let sends = false;
  const headers: string[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const argument = args[i] as string;
    const value = (): string => args[(i += 1)] ?? "";
    if (argument === "-X" || argument === "--request") method = value();
    else if (argument === "-H" || argument === "--header") headers.push(value());
    else if (argument === "-T" || argument === "--upload-file")
      [method, sends] = [method ?? "PUT", value() !== ""];
    else if (BODY.has(argument)) {
      const data = value();
      sends = true;
      // A file is not shown; what comes from standard input neither.
      body = data.startsWith("@") && argument !== "--data-raw" ? null : data;
      if (argument === "--json") headers.push("Content-Type: application/json");
    } else if (WITH_VALUE.has(argument)) value();
    else if (argument.startsWith("-")) {
      if (!WITHOUT_VALUE.test(argument))
        return { refused: `curl ${argument} is not known here; teach read-request.ts` };
    } else if (url === null) url = argument;
    else return { refused: `curl has two addresses: ${url} and ${argument}` };
  }
  if (url === null) return { refused: "curl has no address" };
  return requestOf(url, { method: method ?? (sends ? "POST" : "GET"), headers, body });
}

function requestOf(written: string, rest: Omit<Request, "target">): Request | null | { refused: string } {
  // A variable that takes an address from a program's output has what every program here says.
  const url = written.replace(/^value(?=\/)/, SERVER);
  const address = URL.parse(url);
  if (address === null) return { refused: `${url} is no address` };
  if (!SERVERS.test(address.hostname) && address.origin !== SERVER) return null;
  // As it was written: URL.parse escapes what a page shows.
  const target = url.slice(url.indexOf("/", url.indexOf("//") + 2));
  return { ...rest, target };
}

/** The request of a block of HTTP; what follows a line of the answer is not looked at. */
export function readHttp(text: string): Request | { refused: string } {
  const [head = "", ...rest] = (text.split(/^HTTP\//m)[0] ?? "").split(/\n\n/);
  const [first = "", ...headers] = head.trim().split("\n");
  const [, method, target] = /^([A-Z]+) (\/\S*)( HTTP\/[\d.]+)?$/.exec(first) ?? [];
  if (method === undefined || target === undefined)
    return {
      refused: `begins with ${JSON.stringify(first)}; write METHOD /path, headers, an empty line, the body`,
    };
  const body = rest.join("\n\n").trim();
  return { method, target, headers, body: body === "" ? null : body };
}
