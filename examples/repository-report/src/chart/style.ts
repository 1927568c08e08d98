/** Light and dark; the colors of the languages are told apart by people who see few colors too, with the names beside them. */
const LIGHT = [
  "#2f6fab",
  "#e08a1e",
  "#3a9a6b",
  "#b8479b",
  "#7a6fd0",
  "#c9b52b",
  "#5bb5d6",
  "#c0553f",
  "#9aa3ad",
];
const DARK = [
  "#5b9bd5",
  "#f0a64a",
  "#5cc08d",
  "#d873bd",
  "#a097ee",
  "#dccb52",
  "#7fcbe6",
  "#e07a63",
  "#7b8590",
];

const colors = (palette: readonly string[]): string =>
  palette.map((color, i) => `.c${i}{fill:${color}}`).join("");

export const STYLE = [
  `text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#1d2329}`,
  ".page{fill:#fff}.head{font-size:24px;font-weight:650}.section{font-size:15px;font-weight:600}.number{font-size:22px;font-weight:600}",
  ".small{font-size:12px}.quiet{fill:#5c6670}.bad{fill:#a3301f}.bar{fill:#2f6fab}.grid{stroke:#e6e9ec}.axis{stroke:#aab2ba}",
  ".missing{fill:none;stroke:#c0553f;stroke-dasharray:4 3}.notice{fill:#fbeeea;stroke:#e3b5aa}",
  colors(LIGHT),
  "@media (prefers-color-scheme:dark){text{fill:#e8ecf0}.page{fill:#14181c}.quiet{fill:#9aa5b0}.bad{fill:#f19a86}.bar{fill:#5b9bd5}",
  ".grid{stroke:#262c32}.axis{stroke:#4a535c}.missing{stroke:#e07a63}.notice{fill:#2a1d1a;stroke:#63382f}",
  `${colors(DARK)}}`,
].join("\n");
