import { spawnSync } from "node:child_process";

/**
 * Passes every key on as it is typed, and every byte of the screen as it comes. Node's own raw mode still makes a new line
 * of each line feed, which would move the cursor of programs that mean the line below. Without stty that is all that is
 * amiss.
 *
 * @returns what gives the terminal back as it was.
 */
export function enterRawMode(stdin: NodeJS.ReadStream): () => void {
  stdin.setRawMode(true);
  if ("fd" in stdin && typeof stdin.fd === "number")
    spawnSync("stty", ["-opost"], { stdio: [stdin.fd, "ignore", "ignore"] });
  return () => stdin.setRawMode(false);
}
