import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { METRICS } from '../../src/watch/metrics.ts';
import { withParts } from './generated.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'docs/operations.md');

interface KnownMetric {
  readonly name: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

/** All metrics that any command has. */
function allMetrics(): readonly KnownMetric[] {
  const ours = METRICS.flatMap(([table, ...labels]) =>
    Object.entries(table).map(([name, [, , label]]) => {
      const type = name.endsWith('_total') ? 'counter' : 'gauge';
      const labelNames = [...labels, label].filter((each) => each !== undefined);
      return { name: `brandfill_${name}`, type, labelNames };
    }),
  );
  return ours.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

const ofPrometheus: KnownMetric = { name: 'up', type: 'gauge', labelNames: [] };
/** Labels that Prometheus adds. */
const LABELS_OF_ALL = ['instance', 'job'];

async function readDashboard() {
  const text = await readFile(join(ROOT, 'docs/grafana.json'), 'utf8');
  return JSON.parse(text) as { panels: readonly { targets?: readonly { expr: string }[] }[] };
}

async function readAlerts() {
  const text = await readFile(join(ROOT, 'docs/alerts.yaml'), 'utf8');
  const { groups } = parse(text) as {
    groups: { rules: { expr: string; annotations: { description?: string } }[] }[];
  };
  return groups.flatMap((group) => group.rules);
}

/** What an expression of PromQL names that there is not. */
function findUnknown(expr: string, known: readonly KnownMetric[]): readonly string[] {
  const metrics = new Map([...known, ofPrometheus].map((metric) => [metric.name, metric]));
  const named = expr.replaceAll(/"[^"]*"/g, '""').matchAll(/\b(up|brandfill_\w+)(?:\{([^}]*)\})?/g);
  const unknown: string[] = [];
  const labels = new Set(LABELS_OF_ALL);
  for (const [, name = '', matchers = ''] of named) {
    const metric = metrics.get(name);
    if (!metric) unknown.push(name);
    for (const label of metric?.labelNames ?? []) labels.add(label);
    for (const [, label = ''] of matchers.matchAll(/(\w+)\s*[=!]/g)) {
      const isThere = metric?.labelNames.includes(label) || LABELS_OF_ALL.includes(label);
      if (!isThere) unknown.push(`${name}{${label}}`);
    }
  }
  for (const [, by = ''] of expr.matchAll(/\bby \(([^)]*)\)/g)) {
    unknown.push(...by.split(/,\s*/).filter((label) => !labels.has(label)));
  }
  if (labels.size === LABELS_OF_ALL.length && !/\bup\b|nodejs_|process_|brandfill_/.test(expr)) {
    unknown.push(`no metric in ${expr}`);
  }
  return unknown;
}

test('docs/operations.md lists every metric', async () => {
  const page = await readFile(PAGE, 'utf8');
  const rows = allMetrics().map(({ name, labelNames }) => {
    const labels = labelNames.length > 0 ? `{${labelNames.join(',')}}` : '';
    return `- \`${name}${labels}\``;
  });
  const expected = withParts(page, { metrics: rows.join('\n') });
  await expect(expected).toMatchFileSnapshot(PAGE);
});

it('docs/grafana.json names only metrics and labels that there are', async () => {
  const known = allMetrics();
  const exprs = (await readDashboard()).panels.flatMap(({ targets = [] }) => targets);
  expect(exprs.length).toBeGreaterThanOrEqual(20);
  expect(exprs.flatMap(({ expr }) => findUnknown(expr, known))).toEqual([]);
});

describe('docs/alerts.yaml', () => {
  it('names only metrics and labels that there are', async () => {
    const known = allMetrics();
    const alerts = await readAlerts();
    expect(alerts.length).toBeGreaterThan(10);
    expect(alerts.flatMap(({ expr }) => findUnknown(expr, known))).toEqual([]);
  });

  it('has no alert without what to look at', async () => {
    const silent = (await readAlerts()).filter(({ annotations }) => !annotations.description);
    expect(silent).toEqual([]);
  });
});
