/** One metric of an exposition in the text format of Prometheus. */
export interface ExposedMetric {
  readonly name: string;
  readonly help: string | undefined;
  readonly type: string | undefined;
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** With `_bucket`, `_sum` or `_count` for a histogram. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const COMMENT = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/;
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

/**
 * Reads what Prometheus would read, by its own description of the format.
 *
 * @see {@link https://prometheus.io/docs/instrumenting/exposition_formats/}
 * @throws Error with the line that is none
 */
export function parseExposition(text: string): ReadonlyMap<string, ExposedMetric> {
  if (!text.endsWith('\n')) throw new Error('The last line has no end.');
  const metrics = new Map<string, { help?: string; type?: string; samples: Sample[] }>();
  const metricOf = (name: string) => {
    const metric = metrics.get(name) ?? { samples: [] };
    metrics.set(name, metric);
    return metric;
  };
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, kind, of = '', content] = COMMENT.exec(line) ?? [];
    if (kind !== undefined) {
      const metric = metricOf(of);
      const key = kind === 'HELP' ? 'help' : 'type';
      if (metric[key] !== undefined) throw new Error(`Told twice: ${line}`);
      if (metric.samples.length > 0) throw new Error(`Told too late: ${line}`);
      if (content !== undefined) metric[key] = content;
      continue;
    }
    const sample = parseSample(line);
    const base = sample.name.replace(/_(bucket|sum|count)$/, '');
    const owner = metrics.has(sample.name) || !metrics.has(base) ? sample.name : base;
    metricOf(owner).samples.push(sample);
  }
  return new Map(
    [...metrics].map(([name, { help, type, samples }]) => [name, { name, help, type, samples }]),
  );
}

function parseSample(line: string): Sample {
  const [, name, inner = '', number = ''] = SAMPLE.exec(line) ?? [];
  if (name === undefined) throw new Error(`No sample: ${line}`);
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < inner.length) {
    const [, key, value] = LABEL.exec(inner) ?? [];
    if (key === undefined || value === undefined) throw new Error(`No labels: ${line}`);
    labels[key] = value;
  }
  const value = number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number);
  // Prometheus reads it in capitals or not.
  if (!/^nan$/i.test(number) && Number.isNaN(value)) throw new Error(`No number: ${line}`);
  return { name, labels, value };
}

/** The value of the sample with these labels and no others; undefined when there is none. */
export function valueOf(
  metrics: ReadonlyMap<string, ExposedMetric>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const base = name.replace(/_(bucket|sum|count)$/, '');
  const metric = metrics.get(name) ?? metrics.get(base);
  const wanted = inOrder(labels);
  return metric?.samples.find((sample) => sample.name === name && inOrder(sample.labels) === wanted)
    ?.value;
}

function inOrder(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(labels, Object.keys(labels).toSorted());
}

/**
 * What is wrong with a metric by the conventions, in words; nothing when all is well.
 *
 * @see {@link https://prometheus.io/docs/practices/naming/} and what `promtool check metrics` says
 */
export function findFaults({ name, help, type, samples }: ExposedMetric): readonly string[] {
  const isCounter = type === 'counter';
  const faults = [
    help === undefined && 'has no HELP',
    type === undefined && 'has no TYPE',
    isCounter !== name.endsWith('_total') && 'a counter ends in _total, and nothing else does',
    type !== 'histogram' && /_(bucket|count|sum)$/.test(name) && 'has the ending of a histogram',
    /[A-Z:]/.test(name) && 'has capitals or colons',
    /_(gauge|counter|histogram|summary)(_|$)/.test(name) && 'has its type in its name',
    /_(ms|milliseconds|minutes|hours|days|kb|mb|kilobytes|megabytes|percent)(_|$)/.test(name) &&
      'is not in seconds, bytes or ratios',
    samples.some(({ labels }) => Object.keys(labels).some((key) => /[A-Z]|^__/.test(key))) &&
      'has a label that is not in snake case',
  ];
  return faults.filter((fault) => fault !== false).map((fault) => `${name} ${fault}`);
}
