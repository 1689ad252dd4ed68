import type { Routes } from '../http/listener.ts';
import type { Metrics } from './metrics.ts';

/** `/metrics`, in the text format of Prometheus. */
export function metricsRoutes(metrics: Metrics): Routes {
  return (app) => {
    app.get('/metrics', async (context) => {
      const type = metrics.registry.contentType;
      return context.body(await metrics.text(), 200, { 'content-type': type });
    });
  };
}
