import { Box, Paper, Typography } from '@mui/material';
import type { ReactNode } from 'react';

/** A card with a number and its details. */
export function StatCard({ label, value, children }: { label: string; value: ReactNode; children: ReactNode }) {
  return (
    <Paper component="section" aria-label={label} sx={{ px: 2, py: 1.5 }}>
      <Typography color="text.secondary" component="h2">{label}</Typography>
      <Typography component="p" sx={{ fontSize: '1.9rem', fontWeight: 650, lineHeight: 1.3, letterSpacing: '-0.02em' }}>{value}</Typography>
      <Box sx={{ mt: 0.5 }}>{children}</Box>
    </Paper>
  );
}
