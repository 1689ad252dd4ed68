export { createInstrumentMaker } from './create-instruments.ts';
export { createMetrics } from './metrics.ts';
export { metricsRoutes } from './metrics-routes.ts';
