/**
 * What a host needs of `node:fs`. To import a built-in module evaluates all that it would load when it is asked for, such as
 * its streams and promises, to have each as an export: a twentieth of what the start of a host takes. Code of a run that
 * puts functions of its own in the place of these does not change them here.
 */
export const { mkdirSync, readFileSync, readSync, statSync, writeSync } = process.getBuiltinModule("node:fs");
