/** A complete fake installation, with simulated jobs, their plans and versions, and the resources that administrators manage. */
import { Administration } from './administration';
import { JobSimulator } from './jobSimulator';
import { JOB_TEMPLATES } from './jobTemplates';
import type { JobTemplate } from './model';
import { addPlanHistory } from './planHistory';
import { advancePlans } from './plans';
import { advanceProfiles } from './profiles';
import { advanceCompilation } from './specs';

export class Installation extends JobSimulator {
  readonly administration: Administration;

  constructor(nowMs: number, seed = 7, templates: readonly JobTemplate[] = JOB_TEMPLATES) {
    super(nowMs, seed, templates);
    this.administration = new Administration(this.nowMs);
    if (this.jobs[0]) addPlanHistory(this, this.jobs[0]);
  }

  override advance(toMs: number): void {
    this.nowMs = Math.max(this.nowMs, toMs);
    for (const job of this.jobs) {
      advanceCompilation(this, job);
      advancePlans(this, job);
      advanceProfiles(this, job);
    }
    super.advance(toMs);
  }
}
