import { spawn } from "node:child_process";

/** The program with which each platform opens a page. */
const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", linux: "xdg-open" };

/** Opens the page where a person sees it; without a browser the address is in the terminal anyway. */
export function openPage(url: string): void {
  const opener = OPENERS[process.platform];
  if (opener === undefined) return;
  const child = spawn(opener, [url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
