/** Pure functions that compute the commands of the command palette. */
import { disabledReason } from '../../pages/job/actions';
import { LABEL, type JobVerb } from '../../pages/job/JobActions';
import { tabAt, TABS } from '../../pages/job/tabs';
import type { Job } from '../../pages/job/useJob';
import type { PageEntry } from '../pages';

export interface Command {
  key: string;
  group: 'Actions' | 'This job' | 'Pages' | 'Jobs';
  label: string;
  /** What the command does: it opens a page, or the dialog of a verb. The dialog asks for confirmation. */
  target: { path: string } | { verb: JobVerb };
}

/** Return the id of the job whose page has this path. Return null if the path is another page, such as the form for a new version. */
export function jobIdOf(pathname: string): number | null {
  const [, resource, id, ...rest] = pathname.split('/');
  return resource === 'jobs' && /^[1-9]\d*$/.test(id ?? '') && tabAt(rest.join('/')) ? Number(id) : null;
}

/** Return the verbs that the API allows for the job, followed by the tabs of the job. */
export function jobCommands(job: Pick<Job, 'id' | 'name' | 'actions'>, mayOperate: boolean): Command[] {
  const verbs = (Object.keys(LABEL) as JobVerb[]).filter((verb) => mayOperate && disabledReason(job.actions, verb) === null);
  return [
    ...verbs.map((verb): Command => ({ key: `verb ${verb}`, group: 'Actions', label: LABEL[verb].replace(/…?$/, '…'), target: { verb } })),
    ...TABS.map(({ path, label }): Command => ({ key: `tab ${path}`, group: 'This job', label, target: { path: `/jobs/${job.id}${path && `/${path}`}` } })),
  ];
}

export function pageCommands(pages: readonly PageEntry[]): Command[] {
  return pages.map(({ path, label }) => ({ key: `page ${path}`, group: 'Pages', label, target: { path } }));
}

export function jobsCommands(jobs: readonly Pick<Job, 'id' | 'name'>[]): Command[] {
  return jobs.map(({ id, name }) => ({ key: `job ${id}`, group: 'Jobs', label: name, target: { path: `/jobs/${id}` } }));
}

/** Return the commands whose labels contain all words of the text. */
export function matchingCommands(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}
