import { GraphPanel } from './GraphPanel';
import { Standing } from './Standing';

export default function Overview() {
  return (
    <>
      <Standing />
      <GraphPanel />
    </>
  );
}
