// `npm run --silent pack`: builds the tarballs to publish and prints their paths, one per line.
// With `--no-check`, as in the tests, it leaves types to `npm run typecheck`.

import { buildAll } from "./pack/build-all.ts";
import { packCreateKeelson } from "./pack/pack-create-keelson.ts";
import { packKeelson } from "./pack/pack-keelson.ts";
import { packSdk } from "./pack/pack-sdk.ts";

buildAll(!process.argv.includes("--no-check"));
console.log(await packSdk());
console.log(await packKeelson());
console.log(await packCreateKeelson());
