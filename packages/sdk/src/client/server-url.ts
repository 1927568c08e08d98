import { UsageError } from "../keelson-error.ts";

/** Throws a UsageError for text that is no URL of a server. */
export function toServerUrl(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`Not an http(s) URL: ${url}`);
  return url.replace(/\/+$/, "");
}
