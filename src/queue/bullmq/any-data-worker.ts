import { type Job, type JobJson, Worker } from 'bullmq';

/**
 * Takes a job that is no JSON as a text, which no chunk and no reply is. If taking it failed, it would come
 * again and again, and nobody would know which one it was.
 */
export class AnyDataWorker extends Worker<unknown> {
  protected override createJob(json: JobJson, id: string): Job<unknown> {
    try {
      return super.createJob(json, id);
    } catch {
      return super.createJob({ ...json, data: JSON.stringify(json.data) }, id);
    }
  }
}
