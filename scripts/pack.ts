// `npm run --silent pack`: builds the tarballs to publish and prints their paths, one per line.

import { buildAll } from "./pack/build-all.ts";
import { packCreateKeelson } from "./pack/pack-create-keelson.ts";
import { packKeelson } from "./pack/pack-keelson.ts";
import { packSdk } from "./pack/pack-sdk.ts";

buildAll();
console.log(await packSdk());
console.log(packKeelson());
console.log(await packCreateKeelson());
