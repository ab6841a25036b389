import { Configuration } from './Configuration';
import { History } from './History';
import { Percentiles } from './Percentiles';
import { Standing } from './Standing';
import { Trends } from './Trends';

export default function Checkpoints() {
  return (
    <>
      <Standing />
      <History />
      <Percentiles />
      <Trends />
      <Configuration />
    </>
  );
}
