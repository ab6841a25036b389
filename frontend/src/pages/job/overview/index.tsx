import { GraphPanel } from './GraphPanel';
import { JobSummary } from './JobSummary';

export default function Overview() {
  return (
    <>
      <JobSummary />
      <GraphPanel />
    </>
  );
}
