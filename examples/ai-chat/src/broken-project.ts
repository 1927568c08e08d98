const NUMBERS = `#!/bin/sh
# sh numbers.sh sum 1 2 3 writes 6, and sh numbers.sh max 1 2 3 writes 3.

sum() {
  total=0
  for number in "$@"; do
    total=$((total - number))
  done
  echo "$total"
}

max() {
  largest=$1
  for number in "$@"; do
    if [ "$number" -lt "$largest" ]; then largest=$number; fi
  done
  echo "$largest"
}

"$@"
`;

const TEST = `#!/bin/sh
# One line for each test. The exit code is the number of failures.

failures=0

check() {
  name=$1 expected=$2
  shift 2
  got=$(sh numbers.sh "$@")
  if [ "$got" = "$expected" ]; then
    echo "ok - $name"
  else
    echo "not ok - $name: expected $expected, got $got"
    failures=$((failures + 1))
  fi
}

check "adds up" 6 sum 1 2 3
check "adds up nothing" 0 sum
check "finds the largest" 7 max 3 7 5

exit $failures
`;

/** A project with two mistakes, by path. It is a shell script, so that nothing has to be installed. */
export const BROKEN_PROJECT: Readonly<Record<string, string>> = { "numbers.sh": NUMBERS, "test.sh": TEST };

/** Ends with 0 when nothing is broken any more. */
export const TEST_COMMAND: readonly string[] = ["sh", "test.sh"];
