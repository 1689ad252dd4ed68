import { LONGEST_TOLD_MS } from './gate.ts';
import type { PaceState } from './pace-state.ts';

/**
 * Keeps a wait that the API stated before the state was saved: it holds for a time, whatever
 * process asks.
 */
export function keepToldWait(
  state: PaceState,
  saved: Readonly<Record<string, unknown>>,
  { nowMs, savedAgeMs }: { readonly nowMs: number; readonly savedAgeMs: number },
): void {
  const { gateUntilMs, gateIsTold, statedUntilMs, latestMs } = saved;
  if (gateIsTold !== true || !isNumber(gateUntilMs) || !isNumber(latestMs)) return;
  const leftMs = gateUntilMs - latestMs - savedAgeMs;
  if (leftMs <= 0) return;
  state.gateUntilMs = nowMs + Math.min(leftMs, LONGEST_TOLD_MS);
  state.gateIsTold = true;
  if (isNumber(statedUntilMs)) state.statedUntilMs = nowMs + statedUntilMs - latestMs - savedAgeMs;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
