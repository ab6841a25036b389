import { Box, Button } from '@mui/material';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'react-admin';

import { answered, api, once } from '../../api/client';
import type { Schemas } from '../../api/types';
import { Failure } from '../../shared/Standins';
import { State } from '../../shared/State';

type Delivery = Schemas['DeliveryShown'];

const LOOK_AGAIN_MS = 1_000;

/** A worker sends a message; what came of it is looked for until it is over. */
export function SendTest({ webhook }: { webhook: Schemas['WebhookShown'] }) {
  const notify = useNotify();
  const queries = useQueryClient();
  const sent = useMutation({
    mutationFn: (): Promise<Delivery> => once((header) => api.POST('/api/v1/webhooks/{webhook_id}/test', { params: { path: { webhook_id: webhook.id }, header } })),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['deliveries'] }),
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  const found = useQuery<Delivery>({
    queryKey: ['webhooks', webhook.id, 'test', sent.data?.id],
    enabled: sent.data !== undefined,
    refetchInterval: ({ state }) => (state.data && state.data.ended_at !== null ? false : LOOK_AGAIN_MS),
    queryFn: async ({ signal }) => {
      const path = { webhook_id: webhook.id, delivery_id: sent.data!.id };
      const delivery = await answered(api.GET('/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}', { params: { path }, signal }));
      if (delivery.ended_at !== null) void queries.invalidateQueries({ queryKey: ['deliveries'] });
      return delivery;
    },
  });
  const delivery = found.data ?? sent.data;
  const waiting = sent.isPending || (delivery !== undefined && delivery.ended_at === null);
  return (
    <Box sx={{ display: 'flex', alignItems: 'center', gap: 1.5, flexWrap: 'wrap' }}>
      <Button variant="outlined" size="small" disabled={waiting} onClick={() => sent.mutate()}>{waiting ? 'Sending …' : 'Send a test'}</Button>
      <Box role="status" sx={{ display: 'flex', alignItems: 'center', gap: 1 }}>
        {delivery && <><State of="delivery" is={delivery.state} /><span>{outcome(delivery)}</span></>}
        {!delivery && <Box component="span" sx={{ color: 'text.secondary' }}>A worker sends a message now, as it would about an alert{webhook.enabled ? '' : ', though the webhook is off'}.</Box>}
      </Box>
      {found.error && <Failure error={found.error} onRetry={() => void found.refetch()} />}
    </Box>
  );
}

export function outcome({ state, status, problem }: Pick<Schemas['DeliveryShown'], 'state' | 'status' | 'problem'>): string {
  if (state === 'PENDING') return 'a worker is about to send it';
  if (state === 'DELIVERED') return `it arrived, and was answered ${status}`;
  return problem ?? 'it did not arrive';
}
