import { Box, Button, Typography, useTheme, type SxProps, type Theme } from '@mui/material';
import { useId, useMemo, useRef, useState, type KeyboardEvent } from 'react';

import { count, percent } from '../../../format';
import { TONES, type Mode } from '../../../theme/states';
import { flameBoxes, isOfWeir, site, type FlameBox, type FlameNode } from './flameTree';

const ROW_PX = 21;
/** Narrower boxes have no text. */
const TEXT_WIDTH_MIN = 0.02;

/**
 * A flame graph. Each box is a function, and the boxes below it are the functions that it called. A click or the Enter key shows a function at the
 * full width. The arrow keys move between functions.
 */
export function FlameGraph({ root }: { root: FlameNode }) {
  const help = useId();
  const { palette } = useTheme();
  const sx = useMemo(() => styles(palette.mode), [palette.mode]);
  const [zoomed, setZoomed] = useState(root);
  const [focused, setFocused] = useState(root);
  const tree = useRef<HTMLDivElement>(null);
  const boxes = useMemo(() => flameBoxes(zoomed), [zoomed]);
  const current = boxes.some(({ node }) => node === focused) ? focused : zoomed;
  const depth = Math.max(...boxes.map((box) => box.depth), 0) + 1;
  const moveTo = (node: FlameNode | null | undefined): void => {
    if (!node || !boxes.some((box) => box.node === node)) return;
    setFocused(node);
    tree.current?.querySelector<HTMLElement>(`[data-node="${node.id}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const siblings = current.parent?.children ?? [];
    const at = siblings.indexOf(current);
    const targets: Record<string, FlameNode | null | undefined> = { ArrowUp: current.parent, ArrowDown: current.children[0], ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1], Home: root };
    if (event.key in targets) moveTo(targets[event.key]);
    else if (event.key === 'Enter' || event.key === ' ') setZoomed(current);
    else if (event.key === 'Escape') setZoomed(root);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <Box sx={{ display: 'flex', alignItems: 'center', gap: 2, mb: 1, minHeight: 32 }}>
        <Typography id={help} variant="body2" color="text.secondary">
          The width of a box is the share of samples. Functions of Weir are grey. Click a box or press Enter to zoom in, and use the arrow keys to move.
        </Typography>
        {zoomed !== root && <Button size="small" sx={{ ml: 'auto', whiteSpace: 'nowrap' }} onClick={() => setZoomed(root)}>Reset zoom</Button>}
      </Box>
      <Box ref={tree} role="tree" aria-label="Flame graph" aria-describedby={help} onKeyDown={onKeyDown} style={{ height: depth * ROW_PX }} sx={sx}>
        {boxes.map((box) => (
          <FlameItem
            key={box.node.id}
            box={box}
            total={root.total}
            tabIndex={box.node === current ? 0 : -1}
            onFocus={() => setFocused(box.node)}
            onClick={() => setZoomed(box.node)}
          />
        ))}
      </Box>
    </>
  );
}

/** Plain elements with classes, because a style object for each box would be slow. */
const styles = (mode: Mode): SxProps<Theme> => ({
  position: 'relative', overflow: 'hidden', fontSize: '0.75rem', lineHeight: `${ROW_PX - 2}px`,
  '& > div': {
    position: 'absolute', height: ROW_PX, px: '4px', border: '1px solid', borderColor: 'background.paper', borderRadius: '3px', boxSizing: 'border-box', cursor: 'pointer',
    overflow: 'hidden', textOverflow: 'ellipsis', whiteSpace: 'nowrap', color: TONES.attention[mode].ink, backgroundColor: TONES.attention[mode].ground,
  },
  '& > .weir': { color: TONES.waiting[mode].ink, backgroundColor: TONES.waiting[mode].ground },
  '& > .narrow': { px: 0 },
  '& > div:hover': { borderColor: 'text.primary' },
  '& > div:focus-visible': { outline: '2px solid', outlineColor: 'primary.main', outlineOffset: '-2px' },
});

interface ItemProps {
  box: FlameBox;
  total: number;
  tabIndex: 0 | -1;
  onFocus(): void;
  onClick(): void;
}

function FlameItem({ box: { node, depth, left, width }, total, tabIndex, onFocus, onClick }: ItemProps) {
  const where = site(node);
  const text = `${node.name}${where && ` (${where})`}`;
  const label = `${text}: ${percent(node.total / total)} of samples (${count(node.total)}), ${percent(node.self / total)} in the function itself`;
  const narrow = width < TEXT_WIDTH_MIN;
  return (
    // The tree handles the keys of all items.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={tabIndex === 0}
      aria-label={label}
      title={label}
      data-node={node.id}
      tabIndex={tabIndex}
      className={[isOfWeir(node) || depth === 0 ? 'weir' : '', narrow ? 'narrow' : ''].join(' ')}
      onFocus={onFocus}
      onClick={onClick}
      style={{ top: depth * ROW_PX, left: `${100 * left}%`, width: `${100 * width}%` }}
    >
      {narrow ? null : text}
    </div>
  );
}
