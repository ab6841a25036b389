import { Box, Button } from '@mui/material';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNotify } from 'react-admin';

import { unwrap, api, idempotent } from '../../api/client';
import type { Schemas } from '../../api/types';
import { ErrorState } from '../../shared/DataStates';
import { StateChip } from '../../shared/StateChip';

type Delivery = Schemas['DeliveryRead'];

const POLL_MS = 1_000;

/** Sends a test message and polls its delivery until the delivery ends. */
export function SendTest({ webhook }: { webhook: Schemas['WebhookRead'] }) {
  const notify = useNotify();
  const queries = useQueryClient();
  const sent = useMutation({
    mutationFn: (): Promise<Delivery> => idempotent((header) => api.POST('/api/v1/webhooks/{webhook_id}/test', { params: { path: { webhook_id: webhook.id }, header } })),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['deliveries'] }),
    onError: (error) => notify(error.message, { type: 'error' }),
  });
  const found = useQuery<Delivery>({
    queryKey: ['webhooks', webhook.id, 'test', sent.data?.id],
    enabled: sent.data !== undefined,
    refetchInterval: ({ state }) => (state.data && state.data.ended_at !== null ? false : POLL_MS),
    queryFn: async ({ signal }) => {
      const path = { webhook_id: webhook.id, delivery_id: sent.data!.id };
      const delivery = await unwrap(api.GET('/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}', { params: { path }, signal }));
      if (delivery.ended_at !== null) void queries.invalidateQueries({ queryKey: ['deliveries'] });
      return delivery;
    },
  });
  const delivery = found.data ?? sent.data;
  const waiting = sent.isPending || (delivery !== undefined && delivery.ended_at === null);
  return (
    <Box sx={{ display: 'flex', alignItems: 'center', gap: 1.5, flexWrap: 'wrap' }}>
      <Button variant="outlined" size="small" disabled={waiting} onClick={() => sent.mutate()}>{waiting ? 'Sending…' : 'Send test message'}</Button>
      <Box role="status" sx={{ display: 'flex', alignItems: 'center', gap: 1 }}>
        {delivery && <><StateChip kind="delivery" state={delivery.state} /><span>{describeDelivery(delivery)}</span></>}
        {!delivery && <Box component="span" sx={{ color: 'text.secondary' }}>{webhook.format === 'pagerduty' ? 'Opens an incident with the severity info, which you resolve in PagerDuty' : 'Sends a message in the format of the webhook'}{webhook.enabled ? '' : ', even though the webhook is disabled'}.</Box>}
      </Box>
      {found.error && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
    </Box>
  );
}

function describeDelivery({ state, http_status, problem }: Pick<Schemas['DeliveryRead'], 'state' | 'http_status' | 'problem'>): string {
  if (state === 'PENDING') return 'waiting for a worker';
  if (state === 'DELIVERED') return `response ${http_status}`;
  return problem ?? 'no response';
}
