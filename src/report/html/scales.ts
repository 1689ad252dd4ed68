/** Turns values into places on a chart, and knows which values are worth a line. */
export interface Scale {
  /** 0 at the beginning, 1 at the end. */
  placeOf(value: number): number;
  readonly ticks: readonly number[];
}

/** From 0 to a round number not below `most`. */
export function linearScale(most: number, ticks = 4): Scale {
  const step = roundStep((most > 0 ? most : 1) / ticks);
  const end = step * Math.max(1, Math.ceil(most / step - 1e-9));
  const count = Math.round(end / step);
  return {
    placeOf: (value) => value / end,
    ticks: Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12))),
  };
}

/** From one power of ten to another, with equal distances between powers: for values far apart. */
export function logScale(least: number, most: number): Scale {
  const from = Math.max(least, 1e-3);
  const first = 1 / roundStep(1 / from);
  const last = Math.max(roundStep(most), first * 10);
  const decades = Math.log10(last / first);
  return {
    placeOf: (value) => Math.log10(Math.max(value, first) / first) / decades,
    ticks: ROUND_NUMBERS.filter((round) => round >= first * 0.999 && round <= last * 1.001).filter(
      (round) => decades <= MOST_FINE_DECADES || isPowerOfTen(round),
    ),
  };
}

/** Over more decades, lines at 2 and 5 would be too close. */
const MOST_FINE_DECADES = 2.5;
const ROUND_NUMBERS = Array.from({ length: 13 }, (_, at) => 10 ** (at - 4)).flatMap((power) => [
  power,
  2 * power,
  5 * power,
]);

function isPowerOfTen(value: number): boolean {
  return Number.isInteger(Number(Math.log10(value).toFixed(6)));
}

/** From 0 to a duration, with lines at round durations. */
export function timeScale(endMs: number, ticks = 8): Scale {
  const most = Math.max(1, endMs);
  const step =
    TIME_STEPS_MS.find((stepMs) => most / stepMs <= ticks) ??
    DAY_MS * roundStep(most / DAY_MS / ticks);
  return {
    placeOf: (value) => value / most,
    ticks: Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step),
  };
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  const factor = [1, 2, 5, 10].find((factor) => factor * power >= atLeast * (1 - 1e-9)) ?? 10;
  return factor * power;
}

const DAY_MS = 86_400_000;
const TIME_STEPS_MS = [
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12, 24].map((hours) => hours * 3_600_000),
];
