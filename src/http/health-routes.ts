import type { Health } from './health.ts';
import type { Routes } from './listener.ts';

/**
 * `/livez` answers as long as the process does. `/readyz` answers 200 when the process can do its
 * work, else 503 with the reasons.
 */
export function healthRoutes(health: Health): Routes {
  return (app) => {
    app.get('/livez', (context) => context.json({ live: true }));
    app.get('/readyz', async (context) => {
      const reasons = await health.reasons();
      const ready = reasons.length === 0;
      return context.json({ ready, reasons }, ready ? 200 : 503);
    });
  };
}
