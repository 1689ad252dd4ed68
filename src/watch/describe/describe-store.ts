import { countOf, formatCount, formatSize } from '../../common/format.ts';
import type { StoreStats } from '../../store/stats.ts';

/** Describes the contents of a store for people, in lines. */
export function describeStore(stats: StoreStats): readonly string[] {
  const { folder, version, sizeBytes, statuses, apis, ages, leftOver, logos } = stats;
  const { oldestAtMs, newestAtMs } = stats;
  const total = sumOf(statuses);
  const lines = [
    `Store ${folder}, version ${version}: ${formatSize(sizeBytes)} on the disk`,
    `${countOf(total, 'domain')}${describeStatuses(statuses)}`,
  ];
  for (const { api, name, statuses: ofApi } of apis) {
    lines.push(
      `  ${name ?? 'API'} (${api})  ${countOf(sumOf(ofApi), 'domain')}${describeStatuses(ofApi)}`,
    );
  }
  if (total > 0) lines.push('Asked about');
  let fromDays = 0;
  for (const { underDays, outcomes } of ages) {
    const when =
      underDays === undefined
        ? `${fromDays} days ago and before`
        : fromDays === 0
          ? 'less than a day ago'
          : `${fromDays} to ${underDays} days ago`;
    if (outcomes > 0) lines.push(`  ${when.padEnd(24)}${formatCount(outcomes)}`);
    fromDays = underDays ?? fromDays;
  }
  if (oldestAtMs !== undefined && newestAtMs !== undefined) {
    lines.push(`  the oldest at ${time(oldestAtMs)}, the newest at ${time(newestAtMs)}`);
  }
  if (leftOver > 0) lines.push(`${countOf(leftOver, 'domain')} left over, first in line next time`);
  if (logos > 0) lines.push(`${countOf(logos, 'logo')} saved`);
  return lines;
}

function describeStatuses(statuses: StoreStats['statuses']): string {
  const parts = Object.entries(statuses)
    .filter(([, outcomes]) => outcomes > 0)
    .map(([status, outcomes]) => `${formatCount(outcomes)} ${status.replace('_', ' ')}`);
  return parts.length > 0 ? `: ${parts.join(', ')}` : '';
}

function sumOf(statuses: StoreStats['statuses']): number {
  return Object.values(statuses).reduce((sum, outcomes) => sum + outcomes, 0);
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
