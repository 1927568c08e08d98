import "@xterm/xterm/css/xterm.css";
import { FitAddon } from "@xterm/addon-fit";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal, type ITheme } from "@xterm/xterm";

export type ScreenSize = { cols: number; rows: number };

/** A terminal on the page: bytes in, bytes out. */
export type Screen = {
  /** Resolves when the bytes have been taken in. */
  write(bytes: Uint8Array): Promise<void>;
  /** Whether what is typed, and what the terminal answers on its own, is passed on. */
  setInput(isOn: boolean): void;
  setDark(isDark: boolean): void;
  /** As large as its place; what it then is. */
  fit(): ScreenSize;
  focus(): void;
  dispose(): void;
};

type ScreenOptions = ScreenSize & {
  isDark: boolean;
  onInput: (bytes: Uint8Array) => void;
  /** Somebody clicked an address in the output: http or https. */
  onLink: (url: string) => void;
  /** The keys by which one leaves the terminal, since all others are its program's. */
  onLeave: () => void;
};

const SCROLLBACK_LINES = 10_000;

/** Links under other texts, and the clipboard: what runs in a terminal is not to have either. */
const REFUSED_OSC = [8, 52] as const;

const LIGHT: ITheme = {
  ...{ background: "#ffffff", foreground: "#14191a", cursor: "#0b6b63", cursorAccent: "#ffffff" },
  ...{
    selectionBackground: "#b9ded9",
    black: "#14191a",
    red: "#b3261e",
    green: "#146c2e",
    yellow: "#7a4f00",
  },
  ...{ blue: "#0b57b8", magenta: "#8a2580", cyan: "#0b6b63", white: "#6b7679", brightBlack: "#526063" },
  ...{ brightRed: "#c5372e", brightGreen: "#1b7f38", brightYellow: "#8a5b00", brightBlue: "#1b68cc" },
  ...{ brightMagenta: "#a1349a", brightCyan: "#0f7d73", brightWhite: "#14191a" },
};
const DARK: ITheme = {
  ...{ background: "#161a1d", foreground: "#e7ecec", cursor: "#4fd1c1", cursorAccent: "#06211e" },
  ...{
    selectionBackground: "#2f5450",
    black: "#2c3338",
    red: "#ff8f86",
    green: "#62cf83",
    yellow: "#f0b94a",
  },
  ...{ blue: "#82b6ff", magenta: "#e59be0", cyan: "#4fd1c1", white: "#e7ecec", brightBlack: "#9aa7aa" },
  ...{ brightRed: "#ffaaa3", brightGreen: "#86dfa2", brightYellow: "#f7cd78", brightBlue: "#a5cbff" },
  ...{ brightMagenta: "#f0bcec", brightCyan: "#7fe0d4", brightWhite: "#ffffff" },
};

const bytesOfBinary = (text: string): Uint8Array =>
  Uint8Array.from(text, (character) => character.charCodeAt(0) & 255);

/** Titles are nobody's: the page keeps its own. Windows are not moved or asked about. */
function restrict(terminal: Terminal): void {
  for (const code of REFUSED_OSC) terminal.parser.registerOscHandler(code, () => true);
}

export function openScreen(place: HTMLElement, options: ScreenOptions): Screen {
  const { isDark, onInput, onLink, onLeave, ...size } = options;
  const terminal = new Terminal({
    ...size,
    // For the widths of characters, which is what the add-on of Unicode needs.
    allowProposedApi: true,
    cursorBlink: true,
    fontFamily: 'ui-monospace, "SF Mono", "Cascadia Code", "Liberation Mono", Menlo, Consolas, monospace',
    fontSize: 13,
    scrollback: SCROLLBACK_LINES,
    minimumContrastRatio: 4.5,
    theme: isDark ? DARK : LIGHT,
    linkHandler: null,
    windowOptions: {},
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.loadAddon(new Unicode11Addon());
  terminal.unicode.activeVersion = "11";
  terminal.loadAddon(
    new WebLinksAddon((_event, url) => {
      if (/^https?:\/\//i.test(url) && URL.canParse(url)) onLink(url);
    }),
  );
  restrict(terminal);
  terminal.attachCustomKeyEventHandler((event) => {
    const isLeaving = event.key === "Escape" && event.shiftKey;
    if (isLeaving && event.type === "keydown") onLeave();
    return !isLeaving;
  });
  terminal.open(place);
  // The console's own shortcuts are keys of the program here.
  place.addEventListener("keydown", (event) => event.stopPropagation());
  const encoder = new TextEncoder();
  terminal.onData((text) => onInput(encoder.encode(text)));
  terminal.onBinary((text) => onInput(bytesOfBinary(text)));
  return {
    write: (bytes) => new Promise((resolve) => terminal.write(bytes, resolve)),
    setInput: (isOn) => {
      terminal.options.disableStdin = !isOn;
    },
    setDark: (dark) => {
      terminal.options.theme = dark ? DARK : LIGHT;
    },
    fit: () => {
      fit.fit();
      return { cols: terminal.cols, rows: terminal.rows };
    },
    focus: () => terminal.focus(),
    dispose: () => terminal.dispose(),
  };
}
