// Makes a folder with everything that is hard to keep, and prints what a version is to have of it. Run by the folder's owner.
// Names are Latin-1 text for their bytes.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { isUtf8 } from "node:buffer";
import fs from "node:fs";
import { createServer } from "node:net";

const [root] = process.argv.slice(2);
process.chdir(root);
process.umask(0o022);

const LONGEST = 4096;
const LEVELS = 10_000;
const kept = {};
const renamed = [];
const leftOut = {};

const bytesOf = (text) => Buffer.from(text, "latin1");
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const isText = (name) => isUtf8(bytesOf(name));
/** As the documentation says it. */
const escaped = (text) =>
  isText(text)
    ? bytesOf(text).toString("utf8")
    : text.replaceAll(/[^\x20-\x7e]/g, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, "0")}`);
const calledIn = (folder, name) => (folder === "" ? "" : `${folder}/`) + escaped(name);
const keep = (path, what, name = "") => {
  kept[path] = what;
  if (!isText(name)) renamed.push(path);
};
/** In the working directory, whose path is `folder`. */
const file = (folder, name, content, mode = 0o644) => {
  fs.writeFileSync(bytesOf(name), content);
  fs.chmodSync(bytesOf(name), mode);
  keep(calledIn(folder, name), `file ${mode.toString(8)} ${content.length} ${sha256(content)}`, name);
};
const folder = (parent, name, fill, mode = 0o755) => {
  fs.mkdirSync(bytesOf(name));
  const path = calledIn(parent, name);
  process.chdir(name);
  fill(path);
  process.chdir("..");
  fs.chmodSync(bytesOf(name), mode);
  keep(path, `directory ${mode.toString(8)}`, name);
};
const link = (parent, name, target) => {
  fs.symlinkSync(bytesOf(target), bytesOf(name));
  const path = calledIn(parent, name);
  keep(path, `link ${escaped(target)}`, name);
  if (!isText(target) && isText(name)) renamed.push(path);
};

folder("", "bytes", (path) => {
  let all = "";
  for (let byte = 1; byte < 256; byte += 1) {
    const one = String.fromCharCode(byte);
    if (one === "/") continue;
    file(path, `a${one}`, Buffer.from([byte]));
    if (byte < 128) all += one;
  }
  file(path, all, Buffer.from("all of them"));
  // Two bytes more than a name may have once they are escaped.
  file(path, String.fromCharCode(...Array.from({ length: 63 }, (_, at) => 0x80 + at)), Buffer.from("63"));
  fs.writeFileSync(bytesOf("\xff".repeat(64)), "64");
  leftOut[`${path}/${escaped("\xff".repeat(64))}`] = "name";
});

// Only names of text can be changed into: what is in such a folder is named from outside.
fs.mkdirSync(bytesOf("caf\xe9"));
fs.writeFileSync(bytesOf("caf\xe9/inner"), "in it");
keep("caf\\xe9", "directory 755", "caf\xe9");
keep("caf\\xe9/inner", `file 644 5 ${sha256("in it")}`);

/** One in the other, each with a file, until paths are longer than a version may have, and on. */
function nest(top, name, levels) {
  fs.mkdirSync(top);
  process.chdir(top);
  keep(top, "directory 755");
  let path = top;
  let isOver = false;
  const note = (longer, what) => {
    if (isOver) return;
    if (longer.length <= LONGEST) kept[longer] = what;
    else leftOut[longer] = "path_too_long";
  };
  for (let level = 0; level < levels; level += 1) {
    const content = String(level);
    fs.writeFileSync("f", content);
    note(`${path}/f`, `file 644 ${content.length} ${sha256(content)}`);
    fs.mkdirSync(name);
    note(`${path}/${name}`, "directory 755");
    process.chdir(name);
    path += `/${name}`;
    if (path.length > LONGEST) isOver = true;
  }
  process.chdir(root);
}
nest("deep", "d", LEVELS);
nest("long", "n".repeat(250), 40);

const image = fs.openSync("image", "w");
const SIZE = 64 * 1024 * 1024 + 1;
fs.ftruncateSync(image, SIZE);
const at = [5_000, 20_000_000, SIZE - 9];
for (const place of at) fs.writeSync(image, "kept", place);
fs.closeSync(image);
keep("image", `file 644 ${SIZE} ${sha256(fs.readFileSync("image"))}`);

// As "go mod download" leaves its cache.
folder(
  "",
  "mod",
  (mod) => folder(mod, "a@v1", (path) => file(path, "file.go", Buffer.from("package a"), 0o444), 0o555),
  0o555,
);

// The innermost first: nothing can be made in a folder that is shut.
folder(
  "",
  "shut",
  (shut) => {
    folder(shut, "inner", (path) => file(path, "f", Buffer.from("in the dark"), 0), 0);
    file(shut, "g", Buffer.from("too"), 0o200);
  },
  0,
);

file("", "one", Buffer.from("two names"));
fs.linkSync("one", "other");
keep("other", kept["one"]);

link("", "to-nothing", "nowhere");
link("", "to-itself", "to-itself");
link("", "out", "../../../../../../etc/passwd");
link("", "root", "/");
link("", "lines", "a\nb\x01\x7f");
link("", "text", "caf\xc3\xa9");
link("", "bytes-of", "caf\xe9");
link("", "longest", "x".repeat(4095));
link("", "escaped", "\xff".repeat(1023));
// Once it is escaped it is longer than a link may be.
fs.symlinkSync(bytesOf("\xff".repeat(1024)), "too-long");
leftOut["too-long"] = "path_too_long";

// Promised to nobody.
spawnSync("mkfifo", ["pipe"]);
await new Promise((resolve) => createServer().listen("socket", resolve));

process.stdout.write(JSON.stringify({ kept, renamed, leftOut }), () => process.exit(0));
