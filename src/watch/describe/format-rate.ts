import { formatCount } from './format-count.ts';

const UNITS: readonly (readonly [perSecond: number, name: string])[] = [
  [1, 's'],
  [60, 'min'],
  [3_600, 'h'],
];

/** Writes calls per second for people: `50/s`, `2.5/s`, `6/min`, `30/h`. */
export function formatRate(perSecond: number): string {
  const [seconds, name] = UNITS.find(([seconds]) => perSecond * seconds >= 0.9995) ?? [86_400, 'd'];
  const count = perSecond * seconds;
  const digits = count < 10 ? 1 : 0;
  return `${formatCount(Number(count.toFixed(digits)))}/${name}`;
}
