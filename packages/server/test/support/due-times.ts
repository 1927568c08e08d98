// The due times of schedules, worked out in another way than the product does: by looking at a clock every half hour.

/** A time as a clock on a wall shows it. `text` is `YYYY-MM-DD HH:MM`, so that texts sort as times do. */
export interface WallTime {
  readonly text: string;
  readonly month: number;
  readonly day: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
}

export interface Expectation {
  readonly cron: string;
  /** `fixed`: each time that fits happens once. `clock`: whenever the clock shows it. */
  readonly kind: "fixed" | "clock";
  readonly fits: (wall: WallTime) => boolean;
}

interface Look {
  readonly instant: number;
  readonly wall: WallTime;
}

const STEP_MS = 1_800_000;

/** What a clock of the zone shows at every half hour of UTC from one instant to another. */
export function lookAtClock(timeZone: string, from: number, to: number): Look[] {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });
  const looks: Look[] = [];
  for (let instant = from; instant <= to; instant += STEP_MS) {
    const shown = /^(\d\d)\/(\d\d)\/(\d{4}), (\d\d):(\d\d)$/.exec(format.format(instant));
    if (shown === null) throw new Error(`A clock showed ${format.format(instant)}.`);
    const [, month, day, year, hour, minute] = shown as unknown as string[];
    looks.push({
      instant,
      wall: toWall(Number(year), Number(month), Number(day), Number(hour), Number(minute)),
    });
  }
  return looks;
}

const two = (value: number): string => String(value).padStart(2, "0");

const toWall = (year: number, month: number, day: number, hour: number, minute: number): WallTime => ({
  text: `${year}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)}`,
  ...{ month, day, hour, minute },
  weekday: new Date(Date.UTC(year, month - 1, day)).getUTCDay(),
});

/** The instants at which a schedule is due, in order. */
export function dueTimes(looks: readonly Look[], { kind, fits }: Expectation): number[] {
  const due = new Set<number>();
  let latest = "";
  for (const { instant, wall } of looks) {
    if (kind === "clock") {
      if (fits(wall)) due.add(instant);
      continue;
    }
    // The clock has gone back: these times have been.
    if (wall.text <= latest) continue;
    if (fits(wall) || (latest !== "" && skippedTimes(latest, wall.text).some(fits))) due.add(instant);
    latest = wall.text;
  }
  return [...due];
}

/** The half hours between two times that no clock showed. */
function skippedTimes(after: string, before: string): WallTime[] {
  const skipped: WallTime[] = [];
  const end = Date.parse(`${before.replace(" ", "T")}Z`);
  for (let at = Date.parse(`${after.replace(" ", "T")}Z`) + STEP_MS; at < end; at += STEP_MS) {
    const time = new Date(at);
    skipped.push(
      toWall(
        time.getUTCFullYear(),
        time.getUTCMonth() + 1,
        time.getUTCDate(),
        time.getUTCHours(),
        time.getUTCMinutes(),
      ),
    );
  }
  return skipped;
}
