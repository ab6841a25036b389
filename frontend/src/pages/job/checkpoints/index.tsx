import { Configuration } from './Configuration';
import { History } from './History';
import { Percentiles } from './Percentiles';
import { CheckpointSummary } from './CheckpointSummary';
import { TrendCharts } from './TrendCharts';

export default function Checkpoints() {
  return (
    <>
      <CheckpointSummary />
      <History />
      <Percentiles />
      <TrendCharts />
      <Configuration />
    </>
  );
}
