// Makes a folder with so many entries: empty files, 1,000 to a folder.

import fs from "node:fs";

const [root, count] = process.argv.slice(2);
process.chdir(root);
const entries = Number(count);
const A_FOLDER = 1_000;
let made = 0;
for (let at = 0; made < entries; at += 1) {
  const folder = `d${String(at).padStart(5, "0")}`;
  fs.mkdirSync(folder);
  made += 1;
  for (let file = 0; file < A_FOLDER && made < entries; file += 1) {
    fs.closeSync(fs.openSync(`${folder}/${file}`, "w"));
    made += 1;
  }
}
