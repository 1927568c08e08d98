/** A project that a workspace begins with: a shell script, so that nothing has to be installed, and its tests. */
export type Project = {
  /** Contents by path. */
  files: Readonly<Record<string, string>>;
  /** Ends with 0 once nothing is broken. */
  testCommand: readonly string[];
};

const SLUG = `#!/bin/sh
# Writes a title as it stands in a web address: "Hello, World!" becomes hello-world.

printf '%s' "$1" | tr ' ' '-'
`;

const TEST = `#!/bin/sh
# One line a test; the exit code is the number of failures.

cd "$(dirname "$0")" || exit 1
failures=0

check() {
  got=$(sh slug.sh "$2")
  if [ "$got" = "$3" ]; then
    echo "ok - $1"
  else
    echo "not ok - $1: expected $3, got $got"
    failures=$((failures + 1))
  fi
}

check "joins words" "one two" "one-two"
check "is in lower case" "Hello World" "hello-world"
check "has letters and digits alone" "Top 10, really!" "top-10-really"

exit $failures
`;

const README = `# slug

\`sh slug.sh "Hello, World!"\` writes hello-world. \`sh test.sh\` runs the tests.
`;

export const BROKEN_PROJECT: Project = {
  files: { "README.md": README, "slug.sh": SLUG, "test.sh": TEST },
  testCommand: ["sh", "test.sh"],
};
