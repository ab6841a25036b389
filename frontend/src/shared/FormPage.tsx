import { Box, Button } from '@mui/material';
import { useState, type ReactNode } from 'react';
import { CreateBase, EditBase, SaveButton, SimpleForm, useCanAccess, useDeleteController, useEditContext, useRecordContext, useResourceContext, type RaRecord } from 'react-admin';
import { Link } from 'react-router-dom';

import { Page } from './Page';
import { Panel } from './Panel';
import { Failure, Waiting } from './Standins';
import { Sure } from './Sure';

/** Fields of one width below each other, with room for the label of the next one. */
export const FIELDS = { maxWidth: 520, p: 0, '& .MuiFormControl-root, & .ra-input': { width: '100%' }, '& .ra-input + *': { mt: 1 }, '& .MuiFormHelperText-root': { mb: 0.5 } } as const;

interface CreateProps {
  resource: string;
  title: string;
  defaults?: Record<string, unknown>;
  /** What is sent, of what was filled in. */
  transform?: (form: Record<string, unknown>) => Record<string, unknown>;
  children: ReactNode;
}

/** Making something: a form, and back to the list. */
export function CreatePage({ resource, title, defaults, transform, children }: CreateProps) {
  return (
    <CreateBase resource={resource} redirect="list" {...(transform ? { transform } : {})}>
      <Page title={title}>
        <Panel>
          <SimpleForm sx={FIELDS} {...(defaults ? { defaultValues: defaults } : {})} toolbar={<Verbs save="Create" />}>{children}</SimpleForm>
        </Panel>
      </Page>
    </CreateBase>
  );
}

interface EditProps<Row> {
  resource: string;
  /** Of what it is, when its name is not there yet: `User`. */
  what: string;
  titleOf: (row: Row) => string;
  /** Also who may not change it sees this page. */
  readable?: boolean;
  /** Beside the title. */
  beside?: (row: Row) => ReactNode;
  transform?: (form: Record<string, unknown>) => Record<string, unknown>;
  /** The fields; null: there is nothing to be changed by whoever looks. */
  form: ReactNode;
  /** Said before something is deleted. */
  deleted?: string;
  actions?: (row: Row) => ReactNode;
  /** Below the form. */
  children?: (row: Row) => ReactNode;
}

/** React-admin would go back to the list where something is not there, and leave whoever came by a link with nothing but the list. */
const STAYING = { onError: () => {} };

/** One thing: what can be changed of it, and what belongs to it. It is saved and deleted when the API says so, and not before. */
export function EditPage<Row extends RaRecord>({ resource, transform, readable = false, ...props }: EditProps<Row>) {
  return (
    <EditBase resource={resource} redirect={false} mutationMode="pessimistic" disableAuthentication={readable} queryOptions={STAYING} {...(transform ? { transform } : {})}>
      <Edited resource={resource} {...props} />
    </EditBase>
  );
}

function Edited<Row extends RaRecord>({ resource, what, titleOf, beside, form, deleted, actions, children }: EditProps<Row>) {
  const { record, error, refetch } = useEditContext<Row>();
  const { canAccess: mayDelete } = useCanAccess({ resource, action: 'delete' });
  if (record === undefined) {
    return (
      <Page title={what}>
        {error ? <Failure error={error} onRetry={() => void refetch()} /> : <Waiting height={240} />}
        {error && <Box><Button component={Link} to={`/${resource}`}>Back to the list</Button></Box>}
      </Page>
    );
  }
  return (
    <Page title={titleOf(record)} beside={beside?.(record)} actions={<>{actions?.(record)}{mayDelete && deleted && <Remove what={what} title={titleOf(record)} said={deleted} />}</>}>
      {form && (
        <Panel>
          {/* With what was saved the form begins anew. */}
          <SimpleForm key={String(record.version)} sx={FIELDS} toolbar={<Verbs save="Save" />}>{form}</SimpleForm>
        </Panel>
      )}
      {children?.(record)}
    </Page>
  );
}

function Remove({ what, title, said }: { what: string; title: string; said: string }) {
  const record = useRecordContext();
  const [asking, setAsking] = useState(false);
  const { isPending, handleDelete } = useDeleteController({
    ...(record && { record }),
    redirect: 'list',
    mutationMode: 'pessimistic',
    mutationOptions: { onSettled: () => setAsking(false) },
  });
  return (
    <>
      <Button size="small" variant="outlined" color="error" onClick={() => setAsking(true)}>Delete</Button>
      {asking && <Sure title={`Delete ${what.toLowerCase()} ${title}?`} what={said} does="Delete" final busy={isPending} onConfirm={handleDelete} onClose={() => setAsking(false)} />}
    </>
  );
}

function Verbs({ save }: { save: string }) {
  const resource = useResourceContext();
  return (
    <Box sx={{ display: 'flex', gap: 1, pt: 1.5 }}>
      <SaveButton label={save} icon={<></>} />
      <Button component={Link} to={`/${resource}`}>Back to the list</Button>
    </Box>
  );
}
