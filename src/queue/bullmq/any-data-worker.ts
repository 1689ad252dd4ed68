import { type Job, type JobJson, Worker } from 'bullmq';

/**
 * Turns a job that is not JSON into one whose data are a text, which no chunk and no reply is. If
 * taking it failed instead, it would come again and again, and its id would stay unknown.
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
