import { type Job, SpanKind, type Telemetry, type Tracer } from 'bullmq';
import { type OnNotice, systemErrorCode } from '../../common/errors.ts';
import { within } from '../../common/lifetime.ts';
import { readVersion } from '../../version.ts';
import { QUEUE_OPTIONS } from './names.ts';
import type { RedisClient } from './server/redis.ts';

/** OpenTelemetry traces of a process. */
export interface Traces {
  readonly telemetry: Telemetry;
  /** Sends remaining spans if a collector takes them. */
  flush(): Promise<void>;
}

/**
 * The packages that traces need. They are not dependencies, since together they are larger than
 * Brandfill.
 */
const PACKAGES = [
  'bullmq-otel@2',
  '@opentelemetry/api@1.9', // the other packages do not accept a later version
  '@opentelemetry/sdk-trace-node@2',
  '@opentelemetry/resources@2',
  '@opentelemetry/exporter-trace-otlp-proto@0.223',
];
const FLUSH_MS = 2_000;
/** The spans for BullMQ's looks into an empty queue, which would outnumber all others. */
const LOOKS = /^(getNextJob|startStalledCheckTimer|moveStalledJobsToWait)\b/;

/** One instance per process. */
let opened: Promise<Traces | undefined> | undefined;
const telemetries = new WeakMap<RedisClient, Telemetry>();

/**
 * Starts tracing when the environment says where traces go (`OTEL_EXPORTER_OTLP_ENDPOINT` and the
 * other variables of OpenTelemetry). Otherwise none of its packages are loaded.
 */
export async function openTraces(
  env: NodeJS.ProcessEnv,
  onNotice: OnNotice,
): Promise<Traces | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = env;
  if (!(all || own) || env['OTEL_SDK_DISABLED'] === 'true') return undefined;
  opened ??= load(env).catch((error: unknown) => {
    if (!/MODULE_NOT_FOUND/.test(systemErrorCode(error) ?? '')) throw error;
    onNotice(
      `OTEL_EXPORTER_OTLP_ENDPOINT is set, but nothing is traced: install what that needs with npm install ${PACKAGES.join(' ')}`,
    );
    return undefined;
  });
  return await opened;
}

async function load(env: NodeJS.ProcessEnv): Promise<Traces> {
  const { BullMQOtel } = await import('bullmq-otel');
  const { BatchSpanProcessor, NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const { detectResources, envDetector, resourceFromAttributes } = await import(
    '@opentelemetry/resources'
  );
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const ours = resourceFromAttributes({
    'service.name': env['OTEL_SERVICE_NAME'] || 'brandfill',
    'service.version': readVersion(),
  });
  const provider = new NodeTracerProvider({
    resource: ours.merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  // If a program has its own OpenTelemetry, that stays registered and gets our spans.
  provider.register();
  const { tracer, contextManager } = new BullMQOtel({
    tracerName: 'brandfill',
    version: readVersion(),
  });
  const telemetry: Telemetry = { tracer: withoutLooks(tracer), contextManager };
  return {
    telemetry,
    flush: async () => {
      await within(
        FLUSH_MS,
        provider.forceFlush().catch(() => {}), // no collector takes them
      );
    },
  };
}

/** Traces all queues that are opened on a connection from now on. */
export function traceClient(client: RedisClient, telemetry: Telemetry): void {
  telemetries.set(client, telemetry);
}

/** The options of all queues and of workers that BullMQ runs. */
export function queueOptions(
  client: RedisClient,
): typeof QUEUE_OPTIONS & { readonly telemetry?: Telemetry } {
  const telemetry = telemetries.get(client);
  return telemetry ? { ...QUEUE_OPTIONS, telemetry } : QUEUE_OPTIONS;
}

/** The span of a chunk that a worker has taken. It is part of the trace of the chunk's producer. */
export function startChunkSpan(
  client: RedisClient,
  { id, opts, data, queueName }: Pick<Job, 'id' | 'opts' | 'data' | 'queueName'>,
): { readonly end: (error?: unknown) => void } {
  const telemetry = telemetries.get(client);
  if (!telemetry) return NO_SPAN;
  const { tracer, contextManager } = telemetry;
  const parent = parentOf(contextManager, opts.telemetry?.metadata);
  const span = tracer.startSpan(`process ${queueName}`, { kind: SpanKind.CONSUMER }, parent);
  const { domains } = (data ?? {}) as { readonly domains?: unknown };
  span.setAttributes({
    'bullmq.queue.name': queueName,
    'bullmq.job.id': id ?? '',
    'brandfill.lookups': Array.isArray(domains) ? domains.length : 0,
  });
  return {
    end: (error) => {
      if (error !== undefined) span.recordException(error as Error);
      span.end();
    },
  };
}

/**
 * The parent span. A producer may send anything: if its metadata cannot be read, they are ignored.
 */
function parentOf(contextManager: Telemetry['contextManager'], metadata?: string): unknown {
  const active = contextManager.active();
  if (metadata === undefined) return active;
  try {
    return contextManager.fromMetadata(active, metadata);
  } catch {
    return active;
  }
}

const NO_SPAN = { end: () => {} };

function withoutLooks(tracer: Tracer): Tracer {
  return {
    startSpan: (name, options, context) =>
      LOOKS.test(name) ? SILENT_SPAN : tracer.startSpan(name, options, context),
  };
}

const SILENT_SPAN: ReturnType<Tracer['startSpan']> = {
  setSpanOnContext: (context: unknown) => context,
  setAttribute: () => {},
  setAttributes: () => {},
  addEvent: () => {},
  recordException: () => {},
  end: () => {},
};
