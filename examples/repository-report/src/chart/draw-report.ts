import { nameOfPart } from "../plan-parts.ts";
import { LOCK_FILES, OTHER } from "../languages.ts";
import type { Report } from "../report.ts";
import { drawDirectories, heightOfRows, toRows } from "./draw-directories.ts";
import { drawLanguages, heightOfShares, toShares } from "./draw-languages.ts";
import { drawWeeks, fillWeeks } from "./draw-weeks.ts";
import { countText, cutText, dayText, shortText } from "./numbers.ts";
import { STYLE } from "./style.ts";
import { element, escapeXml, group, textAt } from "./xml.ts";

const WIDTH = 960;
const MARGIN = 40;
const INNER = WIDTH - 2 * MARGIN;
const WEEKS_HEIGHT = 190;
const GAP = 44;
const LEFT_WIDTH = 520;
const MAX_NOTICES = 4;
const NOTICE_CHARACTERS = 126;

/** The report as an SVG document: commits a week, lines of each directory, languages. */
export function drawReport(report: Report): string {
  const weeks = fillWeeks(report.history.weeks);
  const rows = toRows(report.directories);
  const shares = toShares(report.languages);
  const notice = drawNotice(report, 168);
  const weeksTop = 168 + notice.height + 26;
  const columnsTop = weeksTop + WEEKS_HEIGHT + GAP;
  const rightX = MARGIN + LEFT_WIDTH + GAP;
  const height = columnsTop + Math.max(heightOfRows(rows.length), heightOfShares(shares.length)) + 64;
  const isPart = weeks.length < spanInWeeks(report);
  const parts = [
    element("title", {}, escapeXml(`Report of ${report.repository.name}`)),
    element("desc", {}, escapeXml(summary(report))),
    element("style", {}, STYLE),
    element("rect", { width: WIDTH, height, class: "page" }),
    drawHead(report),
    notice.markup,
    textAt(MARGIN, weeksTop - 14, `Commits per week${isPart ? ", the last two years" : ""}`, {
      class: "section",
    }),
    drawWeeks(weeks, { x: MARGIN, y: weeksTop, width: INNER, height: WEEKS_HEIGHT }),
    textAt(MARGIN, columnsTop - 12, "Lines per directory", { class: "section" }),
    drawDirectories(rows, { x: MARGIN, y: columnsTop, width: LEFT_WIDTH }),
    textAt(rightX, columnsTop - 12, "Languages by lines", { class: "section" }),
    drawLanguages(shares, { x: rightX, y: columnsTop, width: INNER - LEFT_WIDTH - GAP }),
    textAt(MARGIN, height - 22, `Run ${report.run_id} on ${dayText(report.generated_at)}`, {
      class: "quiet small",
    }),
  ].filter((part) => part !== "");
  const frame = {
    xmlns: "http://www.w3.org/2000/svg",
    width: WIDTH,
    height,
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: "img",
  };
  return `${element("svg", frame, `\n${parts.join("\n")}\n`)}\n`;
}

function spanInWeeks({ history }: Report): number {
  const [first, last] = [history.weeks.at(0), history.weeks.at(-1)];
  return first === undefined || last === undefined
    ? 0
    : (Date.parse(last.week) - Date.parse(first.week)) / (7 * 86_400_000) + 1;
}

function summary({ totals, languages }: Report): string {
  const most = languages[0] === undefined ? "" : `, most of them ${languages[0].language}`;
  return `${countText(totals.commits, "commit")} by ${countText(totals.authors, "person", "people")}; ${countText(totals.lines, "line")} in ${countText(totals.files, "file")}${most}.`;
}

function drawHead({ repository, totals, history, languages }: Report): string {
  const place =
    repository.head === null
      ? "no commits yet"
      : `${repository.branch ?? "detached"} at ${repository.head.slice(0, 10)}`;
  const { first_commit_at: first, last_commit_at: last } = history;
  const days = [first, last].flatMap((at) => (at === null ? [] : [dayText(at)]));
  const time = [...new Set(days)].join(" to ");
  const known = languages.filter(({ language }) => language !== OTHER && language !== LOCK_FILES).length;
  const numbers = [
    [totals.commits, totals.commits === 1 ? "commit" : "commits"],
    [totals.authors, totals.authors === 1 ? "author" : "authors"],
    [totals.files, totals.files === 1 ? "file" : "files"],
    [totals.lines, totals.lines === 1 ? "line" : "lines"],
    [known, known === 1 ? "language" : "languages"],
  ] as const;
  return group({}, [
    textAt(MARGIN, 56, cutText(repository.name, 60), { class: "head" }),
    textAt(
      MARGIN,
      80,
      cutText(
        `${place}${time === "" ? "" : ` · ${time}`}${repository.shallow ? " · older history is not in this clone" : ""}`,
        125,
      ),
      { class: "quiet" },
    ),
    ...numbers.flatMap(([value, name], i) => {
      const x = MARGIN + (i * INNER) / numbers.length;
      return [
        textAt(x, 126, shortText(value), { class: "number" }),
        textAt(x, 145, name, { class: "quiet" }),
      ];
    }),
  ]);
}

/** What is missing from the sums, and why. */
function drawNotice({ directories, totals }: Report, top: number): { markup: string; height: number } {
  const failed = directories.flatMap((directory) => (directory.status === "failed" ? [directory] : []));
  if (failed.length === 0) return { markup: "", height: 0 };
  const lines = failed.slice(0, MAX_NOTICES).map((directory) => {
    const attempts = directory.attempts > 1 ? ` (after ${directory.attempts} attempts)` : "";
    return cutText(`${nameOfPart(directory)}: ${directory.reason}${attempts}`, NOTICE_CHARACTERS);
  });
  if (failed.length > MAX_NOTICES)
    lines.push(`and ${countText(failed.length - MAX_NOTICES, "more", "more")}`);
  const height = 38 + lines.length * 20;
  const missing = `${failed.length} of ${countText(totals.directories, "directory", "directories")} could not be read and ${failed.length === 1 ? "is" : "are"} left out`;
  const markup = group({}, [
    element("rect", {
      x: MARGIN + 0.5,
      y: top + 0.5,
      width: INNER - 1,
      height: height - 1,
      rx: 6,
      class: "notice",
    }),
    textAt(MARGIN + 16, top + 24, missing, { class: "bad", "font-weight": 600 }),
    ...lines.map((line, i) => textAt(MARGIN + 16, top + 45 + i * 20, line, { class: "small" })),
  ]);
  return { markup, height: height + 22 };
}
