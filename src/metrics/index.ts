export { createInstrumentMaker } from './create-instruments.ts';
export { createMetrics, metricsRoutes } from './metrics.ts';
