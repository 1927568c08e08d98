import { isCellTag } from "@keelson/contract/plain";
import { InvalidArgumentError } from "commander";
import { usageError } from "../exit-codes.ts";

/** The cells that a router knows: their addresses by tag, and the one for requests without a tag. */
export type Cells = { addresses: ReadonlyMap<string, URL>; byDefault: string };

type Given = { tag: string; address: URL };

/** A repeatable option: `eu1=https://eu1.keelson.example.com`. */
export function collectCell(text: string, before: Given[] | undefined): Given[] {
  const [tag = "", url = ""] = text.split(/=(.*)/s, 2);
  if (!isCellTag(tag) || !URL.canParse(url) || !isPlainAddress(new URL(url)))
    throw new InvalidArgumentError("It must be a tag and a URL such as eu1=https://eu1.keelson.example.com.");
  if (before?.some((cell) => cell.tag === tag) === true)
    throw new InvalidArgumentError(`The cell ${tag} has two addresses. Name each cell once.`);
  return [...(before ?? []), { tag, address: new URL(url) }];
}

/** Paths of requests go to a cell as they are, so its address has none. */
const isPlainAddress = ({ protocol, pathname, search, hash, username, password }: URL): boolean =>
  /^https?:$/.test(protocol) && pathname === "/" && search + hash + username + password === "";

/** @throws ExitError when no cell is the default one */
export function toCells(given: readonly Given[], byDefault: string): Cells {
  const addresses = new Map(given.map(({ tag, address }) => [tag, address]));
  if (!addresses.has(byDefault))
    throw usageError(
      `The default cell ${byDefault} has no address. Name one of ${[...addresses.keys()].join(", ")} as --default, or add --cell ${byDefault}=<url>.`,
    );
  return { addresses, byDefault };
}
