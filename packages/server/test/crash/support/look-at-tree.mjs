// Prints what is in a folder, as make-hard-tree.mjs does: whatever depth it has, and whatever its modes are. Names are text.

import { createHash } from "node:crypto";
import fs from "node:fs";

const [root] = process.argv.slice(2);
process.chdir(root);
const LONGEST = 4096;
const found = {};
const isRoot = process.getuid() === 0;

/** Calls with an entry that may be read, which its owner may have forbidden to himself. */
function opened(name, mode, use) {
  const isClosed = !isRoot && (mode & 0o500) !== 0o500;
  if (isClosed) fs.chmodSync(name, 0o700);
  try {
    return use();
  } finally {
    if (isClosed) fs.chmodSync(name, mode);
  }
}

function look(folder) {
  for (const name of fs.readdirSync(".")) {
    const path = folder === "" ? name : `${folder}/${name}`;
    if (Buffer.byteLength(path) > LONGEST) continue;
    const stat = fs.lstatSync(name);
    const mode = stat.mode & 0o7777;
    if (stat.isSymbolicLink()) found[path] = `link ${fs.readlinkSync(name)}`;
    else if (stat.isFile()) {
      const bytes = opened(name, mode, () => fs.readFileSync(name));
      const digest = createHash("sha256").update(bytes).digest("hex");
      found[path] = `file ${mode.toString(8)} ${bytes.length} ${digest}`;
    } else if (stat.isDirectory()) {
      found[path] = `directory ${mode.toString(8)}`;
      opened(name, mode, () => {
        process.chdir(name);
        look(path);
        process.chdir("..");
      });
    } else found[path] = "special";
  }
}
look("");
process.stdout.write(JSON.stringify(found));
