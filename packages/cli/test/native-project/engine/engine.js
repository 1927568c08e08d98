// A package as some database clients are: JavaScript, and a program beside it that does the work.
const { execFileSync } = require("node:child_process");
const path = require("node:path");

exports.ask = (question) => execFileSync(path.join(__dirname, "bin", "engine"), [question]).toString();
